//! Fault rules as data: which requests and watches match, and the effect.
//!
//! Classifies each rule by whether a real API server may behave like its effect. Does not match or apply rules: the table in `mod` matches
//! requests, `store` and `http` apply the effects.

use crate::request::Verb;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Identifies an installed fault rule. Unique within a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleId(pub u64);

/// One fault rule: an effect and the requests to which it applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which requests or watches the fault rule applies to.
    #[serde(default)]
    pub on: Match,
    /// Number of matching requests to skip: 2 applies the fault rule from the third match on.
    #[serde(default)]
    pub skip: u32,
    /// Maximum number of matching requests to which the rule applies. Unset: all, until the rule is removed.
    #[serde(default)]
    pub times: Option<u32>,
    /// Apply the fault rule only to randomly chosen matching requests.
    #[serde(default)]
    pub chance: Option<Chance>,
    /// What happens to the matching requests or watches when the rule is applied.
    pub effect: Effect,
}

/// Selects requests. Unset fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// Name of the client; a trailing `*` matches by prefix.
    #[serde(default)]
    pub client: Option<String>,
    /// Verbs of matching requests. Empty: all verbs.
    #[serde(default)]
    pub verbs: Vec<Verb>,
    /// Plural resource name, such as `pods`; `pods/binding` for a subresource.
    #[serde(default)]
    pub resource: Option<String>,
    /// The object name in the path. The path of a create contains a name only for a subresource, such as `pods/binding`.
    #[serde(default)]
    pub name: Option<String>,
}

/// A random choice, reproducible for the same seed and the same order of matches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Chance {
    /// Probability from 0 (never) to 1 (always).
    pub probability: f64,
    /// Seed of the random number generator.
    pub seed: u64,
}

/// The effect of a rule on a request, a watch or the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Effect {
    /// Refuse the request with this HTTP status before it is processed. A watch refused with 410 is accepted, and its only event is the
    /// ERROR event, as in kube-apiserver.
    Status {
        /// HTTP status code, 400 to 599.
        code: u16,
        /// Seconds in the `Retry-After` header; 0 sends no header.
        #[serde(default)]
        retry_after_seconds: u32,
    },
    /// Delay the request before it is processed.
    Delay {
        /// Length of the delay in milliseconds.
        milliseconds: u64,
    },
    /// Close the connection before the request is processed (over HTTP/2, its stream).
    Disconnect,
    /// Execute the request, including writes, and close the connection instead of responding.
    LoseAnswer,
    /// End matching watches: open watches at once, new watches after `after_events` events.
    EndWatch {
        /// Number of events that a new watch delivers first.
        #[serde(default)]
        after_events: u32,
    },
    /// Let matching watches, including open ones, deliver nothing until the rule is removed or the time has passed.
    HoldWatch {
        /// Duration of the hold in milliseconds. Unset: until the rule is removed.
        #[serde(default)]
        milliseconds: Option<u64>,
    },
    /// Let get and list return an old state, if the request accepts any state (`resourceVersion=0`).
    Stale {
        /// The revision of the old state. Unset: the revision at which the rule is installed.
        #[serde(default)]
        revision: Option<u64>,
        /// Whether reads without a resourceVersion, which must return the newest state, return the old state instead.
        #[serde(default)]
        consistent: bool,
    },
    /// Compact the history of the matching resources, once, at installation. Watches and lists that continue from an earlier revision fail
    /// with 410.
    Compact {
        /// The revision up to which history is compacted. Unset: the newest revision.
        #[serde(default)]
        revision: Option<u64>,
    },
}

/// Why a fault rule is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// `Effect::Status::code` is not between 400 and 599. Contains the code.
    #[error("status code {0} is not an HTTP error; choose a code from 400 to 599")]
    Code(u16),
    /// `Chance::probability` is not between 0 and 1. Contains the value.
    #[error("probability {0} is not between 0 and 1")]
    Probability(f64),
    /// The maximum number of fault rules is installed already. Contains the maximum.
    #[error("the maximum of {0} fault rules is installed; remove rules first")]
    TooMany(usize),
}

impl Rule {
    /// A fault rule that applies to every request or watch that `on` selects.
    pub fn new(on: Match, effect: Effect) -> Self {
        Self {
            on,
            skip: 0,
            times: None,
            chance: None,
            effect,
        }
    }

    /// Limits the number of requests or watches to which the fault rule is applied.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// Whether a real API server may behave like the effect of the fault rule, so that a correct client must tolerate the effect.
    pub fn is_legal(&self) -> bool {
        match &self.effect {
            Effect::Status { code, .. } => is_legal_refusal(*code, &self.on.verbs),
            Effect::Stale { consistent, .. } => !consistent,
            Effect::Delay { .. }
            | Effect::Disconnect
            | Effect::LoseAnswer
            | Effect::EndWatch { .. }
            | Effect::HoldWatch { .. }
            | Effect::Compact { .. } => true,
        }
    }

    pub(super) fn check(&self) -> Result<(), RuleError> {
        if let Effect::Status { code, .. } = self.effect
            && !(400..=599).contains(&code)
        {
            return Err(RuleError::Code(code));
        }
        match self.chance {
            Some(chance) if !(0.0..=1.0).contains(&chance.probability) => {
                Err(RuleError::Probability(chance.probability))
            }
            _ => Ok(()),
        }
    }
}

/// Status codes that a real API server may return for any verb: missing token or permission, overload, backend errors.
const LEGAL_CODES: [u16; 6] = [401, 403, 429, 500, 503, 504];
/// Status codes that a real API server returns for some verbs only: write conflicts and compacted history.
const LEGAL_CODES_BY_VERB: [(u16, &[Verb]); 2] = [
    (409, &[Verb::Create, Verb::Update, Verb::Patch, Verb::Delete]),
    (410, &[Verb::List, Verb::Watch]),
];

fn is_legal_refusal(code: u16, matched: &[Verb]) -> bool {
    let fits = |(legal, verbs): &(u16, &[Verb])| {
        *legal == code && !matched.is_empty() && matched.iter().all(|verb| verbs.contains(verb))
    };
    LEGAL_CODES.contains(&code) || LEGAL_CODES_BY_VERB.iter().any(fits)
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { code, .. } => write!(f, "status {code}"),
            Self::Delay { milliseconds } => write!(f, "delayed by {milliseconds}ms"),
            Self::Disconnect => f.write_str("disconnected before processing"),
            Self::LoseAnswer => f.write_str("executed, answer lost"),
            Self::EndWatch { after_events: 0 } => f.write_str("watch ended"),
            Self::EndWatch { after_events } => write!(f, "watch ends after {after_events} events"),
            Self::HoldWatch { milliseconds: None } => f.write_str("watch held"),
            Self::HoldWatch {
                milliseconds: Some(time),
            } => write!(f, "watch held for {time}ms"),
            Self::Stale { revision, .. } => {
                write!(f, "state of revision {} returned", revision.unwrap_or_default())
            }
            Self::Compact { revision } => write!(f, "compacted to revision {}", revision.unwrap_or_default()),
        }
    }
}
