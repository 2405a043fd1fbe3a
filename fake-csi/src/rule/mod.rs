//! Faults on demand: a rule says which calls it takes, and what happens to them. Does not know how calls are answered otherwise.

use std::{collections::BTreeMap, fmt, time::Duration};

use tonic::Code;

use crate::{
    Segment, contains,
    event::Event,
    method::{Method, code_name},
};

#[cfg(feature = "control")]
mod text;

#[cfg(feature = "control")]
pub use text::{CutText, RuleText, VolumeLie};

/// More rules than that are refused; spent ones make room.
pub(crate) const RULES_MAX: usize = 1000;

/// Takes some calls away from the ordinary answer.
///
/// Rules are tried in the order in which they were scripted; the first one that takes a call decides it. A [`Effect::Delay`] only adds
/// waiting time, so rules after it still get their turn. A call that an earlier rule took does not count for the later ones.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "control", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "control", serde(try_from = "RuleText", into = "RuleText"))]
pub struct Rule {
    /// The call that the rule is about.
    pub method: Method,
    /// Only calls whose segment has all these pairs; `None` takes all, also those without a segment. The segment of a call is that of
    /// [`Event::segment`].
    pub segment: Option<Segment>,
    /// Only calls that carry all these parameters; empty takes all.
    pub parameters: BTreeMap<String, String>,
    /// So many matching calls are left alone first: the n-th call is the one after `n - 1`.
    pub skip: u32,
    /// The rule is spent after so many calls; `None` never.
    pub times: Option<u32>,
    /// What happens to the calls taken.
    pub effect: Effect,
}

/// What happens to a call that a [`Rule`] takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The call fails with this code and message, and changes nothing.
    Code(Code, String),
    /// The call is answered that much later.
    Delay(Duration),
    /// The call is not answered while the rule stands; it ends when the caller gives up or the endpoint stops. Once the rule is taken
    /// away, the call goes on as usual.
    Hang,
    /// The connection is cut before the call does anything; all other calls on it are lost as well.
    Disconnect,
    /// The call is carried out, and then the connection is cut instead of an answer.
    LoseAnswer,
    /// `GetCapacity` answers these numbers of bytes, whatever the pools hold. They may be nonsense, such as negative ones.
    Capacity {
        /// `available_capacity`.
        available: i64,
        /// `maximum_volume_size`, if the driver reports one.
        maximum: Option<i64>,
        /// `minimum_volume_size`, if the driver reports one.
        minimum: Option<i64>,
    },
    /// `CreateVolume` makes the volume, and then reports this instead of the truth.
    Volume {
        /// `capacity_bytes`; `None` reports the truth.
        bytes: Option<i64>,
        /// `accessible_topology`; `None` reports the truth.
        topology: Option<Vec<Segment>>,
    },
    /// `Probe` answers this as `ready`.
    Ready(bool),
}

/// No driver can be set so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// An effect for another call than the one that it belongs to.
    #[error("{effect} cannot answer {method}; use that effect with {belongs_to} only")]
    Elsewhere {
        /// What the effect is about.
        effect: &'static str,
        /// The call of the rule.
        method: Method,
        /// The call that has such an answer.
        belongs_to: Method,
    },
    /// [`Effect::Code`] with the code for success.
    #[error("OK is no failure of {0}; leave the rule out, or name an error code")]
    FailureOk(Method),
    /// A rule that can take no call.
    #[error("a rule for {0} with 0 times takes no call; leave it out, or give at least 1")]
    NoTimes(Method),
    /// There is no place for another rule.
    #[error("there are {RULES_MAX} rules already; take some away")]
    TooMany,
    /// A cost factor of nothing, or divided by nothing.
    #[error("the cost of {parameter}={value} has a zero; give two positive integers")]
    ZeroCost {
        /// Name of the class parameter.
        parameter: String,
        /// Value of the class parameter.
        value: String,
    },
}

impl Rule {
    pub(crate) fn check(&self) -> Result<(), ScriptError> {
        if self.times == Some(0) {
            return Err(ScriptError::NoTimes(self.method));
        }
        let answers = match &self.effect {
            Effect::Code(Code::Ok, _) => return Err(ScriptError::FailureOk(self.method)),
            Effect::Capacity { .. } => Some(("a capacity", Method::GetCapacity)),
            Effect::Volume { .. } => Some(("a volume", Method::CreateVolume)),
            Effect::Ready(_) => Some(("readiness", Method::Probe)),
            Effect::Code(..) | Effect::Delay(_) | Effect::Hang | Effect::Disconnect | Effect::LoseAnswer => {
                None
            }
        };
        match answers {
            Some((effect, belongs_to)) if belongs_to != self.method => Err(ScriptError::Elsewhere {
                effect,
                method: self.method,
                belongs_to,
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn matches(&self, call: &Event) -> bool {
        let segment_matches = match (&self.segment, &call.segment) {
            (None, _) => true,
            // No topology at all is the empty segment: everywhere.
            (Some(wanted), None) => wanted.is_empty(),
            (Some(wanted), Some(asked)) => contains(asked, wanted),
        };
        self.method == call.method && segment_matches && contains(&call.parameters, &self.parameters)
    }
}

impl Effect {
    /// Whether calls have to wait for their answer.
    pub fn is_late(&self) -> bool {
        matches!(self, Effect::Hang | Effect::Delay(_))
    }

    /// Whether the connection is cut.
    pub fn cuts_connection(&self) -> bool {
        matches!(self, Effect::Disconnect | Effect::LoseAnswer)
    }
}

/// What happens to which method: `GetCapacity fails with UNAVAILABLE`.
impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.method)?;
        match &self.effect {
            Effect::Code(code, _) => write!(out, "fails with {}", code_name(*code)),
            Effect::Delay(time) => write!(out, "is answered {time:?} later"),
            Effect::Hang => out.write_str("is not answered"),
            Effect::Disconnect => out.write_str("cuts the connection and does nothing"),
            Effect::LoseAnswer => out.write_str("is carried out, and cuts the connection"),
            Effect::Capacity {
                available,
                maximum,
                minimum,
            } => {
                write!(out, "answers {available}")?;
                let mut limits = [("maximum", maximum), ("minimum", minimum)].into_iter();
                limits.try_for_each(|(name, bytes)| match bytes {
                    Some(bytes) => write!(out, " ({name} {bytes})"),
                    None => Ok(()),
                })
            }
            Effect::Volume { bytes, topology } => write!(out, "reports {bytes:?} bytes at {topology:?}"),
            Effect::Ready(ready) => write!(out, "answers ready={ready}"),
        }
    }
}
