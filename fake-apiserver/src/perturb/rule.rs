//! Perturbations as data: which requests, which of them, and what happens to them.
//!
//! Says of each whether a real API server may do the same. Does not carry anything out: the table beside it matches,
//! the store and the shell act.

use crate::request::Verb;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names an installed rule of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleId(pub u64);

/// One perturbation: what happens to which requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The requests, or watches, that are meant.
    #[serde(default)]
    pub on: Match,
    /// Leave the first matches alone: 2 means from the third on.
    #[serde(default)]
    pub skip: u32,
    /// Apply to so many matches; none: to all, until the rule is removed.
    #[serde(default)]
    pub times: Option<u32>,
    /// Apply to some of them only, at random.
    #[serde(default)]
    pub chance: Option<Chance>,
    /// What happens.
    pub effect: Effect,
}

/// Which requests a rule is about. What is not set matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// Name of the client; with `*` at its end, how the name begins.
    #[serde(default)]
    pub client: Option<String>,
    /// The verbs; empty: all.
    #[serde(default)]
    pub verbs: Vec<Verb>,
    /// Plural resource name; `pods/binding` for a subresource.
    #[serde(default)]
    pub resource: Option<String>,
    /// The name in the path. A create has none there and is never matched by name.
    #[serde(default)]
    pub name: Option<String>,
}

/// A random choice that comes out the same for the same seed and the same order of matches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Chance {
    /// From 0 (never) to 1 (always).
    pub probability: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// What happens to a request, a watch or the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Effect {
    /// The request is refused with this HTTP status before it is looked at. A watch refused with 410 begins, and then
    /// consists of the ERROR event, as in the real server.
    Status {
        /// From 400 to 599.
        code: u16,
        /// `Retry-After` in seconds; 0 for none.
        #[serde(default)]
        retry_after_seconds: u32,
    },
    /// The request waits so long before it is looked at.
    Delay {
        /// Milliseconds.
        milliseconds: u64,
    },
    /// The connection is cut before the request is looked at (over HTTP/2, its stream).
    Disconnect,
    /// The request is carried out, writes included, and the connection is cut instead of an answer.
    LoseAnswer,
    /// Matching watches end: open ones at once, new ones after so many events.
    EndWatch {
        /// Events that a new watch still delivers.
        #[serde(default)]
        after_events: u32,
    },
    /// Matching watches, open ones included, deliver nothing until the rule is removed, or for so long.
    HoldWatch {
        /// Milliseconds from the beginning of the hold; none: until the rule is removed.
        #[serde(default)]
        milliseconds: Option<u64>,
    },
    /// Get and list see an old state, where they allow any: with `resourceVersion=0`.
    Stale {
        /// The revision of that state; none: the one at which the rule is installed.
        #[serde(default)]
        revision: Option<u64>,
        /// Reads without a resourceVersion, which must see the newest state, see the old one as well.
        #[serde(default)]
        consistent: bool,
    },
    /// Once, when it is installed: the history of the matching resources up to a revision is forgotten. Watches and
    /// lists that want to go on from before get 410.
    Compact {
        /// The revision; none: the newest.
        #[serde(default)]
        revision: Option<u64>,
    },
}

/// Why a rule cannot be installed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// The code is no failure.
    #[error("status {0} is no failure of HTTP; choose one from 400 to 599")]
    Code(u16),
    /// The probability is none.
    #[error("probability {0} is not between 0 and 1; choose one that is")]
    Probability(f64),
    /// Too many rules are installed.
    #[error("{0} perturbations are installed already; remove some first")]
    TooMany(usize),
}

impl Rule {
    /// A rule that applies to every match.
    pub fn new(on: Match, effect: Effect) -> Self {
        Self {
            on,
            skip: 0,
            times: None,
            chance: None,
            effect,
        }
    }

    /// The same rule for so many matches only.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// Whether a real API server may do this to a client that does nothing wrong. A client must then live with it.
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

/// Refusals that any verb may meet: a lost token or permission, too much load, trouble behind the server.
const LEGAL_CODES: [u16; 6] = [401, 403, 429, 500, 503, 504];
/// Refusals that only some verbs may meet: another writer was faster, or the history is gone.
const LEGAL_CODES_BY_VERB: [(u16, &[Verb]); 2] = [
    (409, &[Verb::Create, Verb::Update, Verb::Patch, Verb::Delete]),
    (410, &[Verb::List, Verb::Watch]),
];

fn is_legal_refusal(code: u16, asked: &[Verb]) -> bool {
    let fits = |(legal, verbs): &(u16, &[Verb])| {
        *legal == code && !asked.is_empty() && asked.iter().all(|verb| verbs.contains(verb))
    };
    LEGAL_CODES.contains(&code) || LEGAL_CODES_BY_VERB.iter().any(fits)
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { code, .. } => write!(f, "status {code}"),
            Self::Delay { milliseconds } => write!(f, "delayed by {milliseconds}ms"),
            Self::Disconnect => f.write_str("disconnected before it was looked at"),
            Self::LoseAnswer => f.write_str("carried out, answer lost"),
            Self::EndWatch { after_events: 0 } => f.write_str("watch ended"),
            Self::EndWatch { after_events } => write!(f, "watch ends after {after_events} events"),
            Self::HoldWatch { milliseconds: None } => f.write_str("watch held"),
            Self::HoldWatch {
                milliseconds: Some(time),
            } => write!(f, "watch held for {time}ms"),
            Self::Stale { revision, .. } => {
                write!(f, "answered as of revision {}", revision.unwrap_or_default())
            }
            Self::Compact { revision } => write!(f, "compacted to revision {}", revision.unwrap_or_default()),
        }
    }
}
