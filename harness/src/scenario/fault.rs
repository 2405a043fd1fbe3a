//! Failures of the API server, as a case file says them. What a real server may do needs no further word; the rest
//! must be marked.

use fake_csi::CutText;
use serde::{Deserialize, Serialize};

use super::Role;

/// A failure of the API server. The harness itself and its controllers never meet it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultSpec {
    /// Name for `unfault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `<verb> <resource>`, such as `update|patch pods`; `*` stands for any verb, or any resource.
    pub api: String,
    /// Only for that role. Unset: for every system under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Role>,
    /// Only for the object of that name; creates have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Leave the first matching requests alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip: u32,
    /// Apply to so many requests; unset: until `unfault`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Apply to some of them only, at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<ChanceSpec>,
    /// Refuse with that HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// With `status`: seconds of Retry-After.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// Look at the request after so long, such as `50ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// Cut the connection: `before` the request is looked at, or `after` it was carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutText>,
    /// End watches: open ones at once, new ones after so many events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_after: Option<u32>,
    /// Let watches lag: until `unfault`, or for so long, such as `200ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<LagSpec>,
    /// Forget the history so far: a watch from an earlier revision gets 410.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compact: bool,
    /// Get and list see the state of now, later on as well: where they allow it, or always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<StaleSpec>,
    /// The client that meets it is killed at that very moment: what it does next never happens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kill: bool,
    /// No real server does this; the case means it all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub illegal: bool,
}

/// A random choice with a seed, so that it can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChanceSpec {
    /// From 0 to 1.
    pub probability: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// How long a watch lags.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum LagSpec {
    /// `true`: until `unfault`.
    Open(bool),
    /// For that long.
    For(String),
}

/// Which reads see an old state.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleSpec {
    /// Those with resourceVersion 0.
    Allowed,
    /// Those that request the newest state as well.
    Always,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
