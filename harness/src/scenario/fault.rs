//! Failures of the API server, as a case file says them. What a real server may do needs no further word; the rest
//! must be marked.

use serde::Deserialize;

use super::Role;

/// A failure of the API server. The harness itself and its controllers never meet it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultSpec {
    /// Name for `unfault`.
    pub id: Option<String>,
    /// `<verb> <resource>`, such as `update|patch pods`; `*` stands for any verb, or any resource.
    pub api: String,
    /// Only for that role. Unset: for every system under test.
    pub by: Option<Role>,
    /// Only for the object of that name; creates have none.
    pub name: Option<String>,
    /// Leave the first matching requests alone.
    #[serde(default)]
    pub skip: u32,
    /// Apply to so many requests; unset: until `unfault`.
    pub times: Option<u32>,
    /// Apply to some of them only, at random.
    pub chance: Option<ChanceSpec>,
    /// Refuse with that HTTP status.
    pub status: Option<u16>,
    /// With `status`: seconds of Retry-After.
    pub retry_after: Option<u32>,
    /// Look at the request after so long, such as `50ms`.
    pub delay: Option<String>,
    /// Cut the connection: `before` the request is looked at, or `after` it was carried out.
    pub cut: Option<CutSpec>,
    /// End watches: open ones at once, new ones after so many events.
    pub end_after: Option<u32>,
    /// Let watches lag: until `unfault`, or for so long, such as `200ms`.
    pub lag: Option<LagSpec>,
    /// Forget the history so far: a watch from an earlier revision gets 410.
    #[serde(default)]
    pub compact: bool,
    /// Get and list see the state of now, later on as well: where they allow it, or always.
    pub stale: Option<StaleSpec>,
    /// The client that meets it is killed at that very moment: what it does next never happens.
    #[serde(default)]
    pub kill: bool,
    /// No real server does this; the case means it all the same.
    #[serde(default)]
    pub illegal: bool,
}

/// A random choice with a seed, so that it can be repeated.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChanceSpec {
    /// From 0 to 1.
    pub probability: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Where the connection is cut.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutSpec {
    /// Nothing was done.
    Before,
    /// Everything was done, and the answer is lost.
    After,
}

/// How long a watch lags.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum LagSpec {
    /// `true`: until `unfault`.
    Open(bool),
    /// For that long.
    For(String),
}

/// Which reads see an old state.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleSpec {
    /// Those with resourceVersion 0.
    Allowed,
    /// Those that request the newest state as well.
    Always,
}
