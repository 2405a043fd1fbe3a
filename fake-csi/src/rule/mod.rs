//! Fault rules: which CSI calls a rule matches, and the effect on these calls.

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
pub use text::{CutText, RuleText, VolumeOverride};

/// Maximum number of fault rules. Exhausted rules are dropped to make space for new ones.
pub(crate) const RULES_MAX: usize = 1000;

/// A fault rule: replaces the normal response of some CSI calls.
///
/// Rules are tried in the order in which they were added, and the first match decides the result of a call. An [`Effect::Delay`] only adds
/// a delay, so rules after it also apply. Rules after the deciding rule do not count the call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "control", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "control", serde(try_from = "RuleText", into = "RuleText"))]
pub struct Rule {
    /// CSI method of the matching calls.
    pub method: Method,
    /// Matches calls whose segment ([`Event::segment`]) contains all these keys and values. `None` matches all calls, including those
    /// without a segment.
    pub segment: Option<Segment>,
    /// Matches calls with all these parameters. An empty map matches all calls.
    pub parameters: BTreeMap<String, String>,
    /// Number of matching calls to which the rule is not applied at first.
    pub skip: u32,
    /// Number of calls to which the rule is applied before it is exhausted; `None`: unlimited.
    pub times: Option<u32>,
    /// What happens to the calls to which the rule is applied.
    pub effect: Effect,
}

/// What happens to a call that matches a [`Rule`].
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The call fails with this code and message, and changes nothing.
    Code(Code, String),
    /// The response is delayed by this duration.
    Delay(Duration),
    /// The call hangs until the client cancels it or the endpoint stops. If the rule is removed, the call continues normally.
    Hang,
    /// The connection is cut before the call is executed; all calls in flight on the connection fail.
    Disconnect,
    /// The call is executed, and then the connection is cut instead of sending the response.
    LoseAnswer,
    /// `GetCapacity` returns these numbers of bytes, regardless of the pools. Invalid values, such as negative ones, are allowed.
    Capacity {
        /// `available_capacity` of the response.
        available: i64,
        /// `maximum_volume_size` of the response; `None` leaves the field unset.
        maximum: Option<i64>,
        /// `minimum_volume_size` of the response; `None` leaves the field unset.
        minimum: Option<i64>,
    },
    /// `CreateVolume` creates the volume, and then returns these values instead of the real ones.
    Volume {
        /// `capacity_bytes` of the response; `None` returns the real value.
        bytes: Option<i64>,
        /// `accessible_topology` of the response; `None` returns the real value.
        topology: Option<Vec<Segment>>,
    },
    /// `Probe` returns this value as `ready`.
    Ready(bool),
}

/// Why a fault rule or cost factor is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The effect does not apply to the CSI method of the rule.
    #[error("`{effect}` does not apply to {method}; use it with {applies_to}")]
    WrongMethod {
        /// Name of the effect.
        effect: &'static str,
        /// The CSI method of the rule.
        method: Method,
        /// The CSI method to which the effect applies.
        applies_to: Method,
    },
    /// The rule has [`Effect::Code`] with the code `OK`, which is not an error.
    #[error("a fault rule for {0} has the code OK, which is no error; remove the rule, or use an error code")]
    FailureOk(Method),
    /// The rule has `times` 0, so it never matches a call.
    #[error("a fault rule for {0} with `times: 0` matches no call; remove the rule, or use at least 1")]
    NoTimes(Method),
    /// The maximum number of fault rules is reached.
    #[error("the maximum of {RULES_MAX} fault rules is reached; remove some")]
    TooMany,
    /// Numerator or denominator of a cost factor is 0.
    #[error("the cost factor of {parameter}={value} contains 0; use two positive integers")]
    ZeroCost {
        /// Name of the class parameter.
        parameter: String,
        /// Value of the class parameter.
        value: String,
    },
}

impl Rule {
    pub(crate) fn check(&self) -> Result<(), RuleError> {
        if self.times == Some(0) {
            return Err(RuleError::NoTimes(self.method));
        }
        let restricted = match &self.effect {
            Effect::Code(Code::Ok, _) => return Err(RuleError::FailureOk(self.method)),
            Effect::Capacity { .. } => Some(("available", Method::GetCapacity)),
            Effect::Volume { .. } => Some(("volume", Method::CreateVolume)),
            Effect::Ready(_) => Some(("ready", Method::Probe)),
            Effect::Code(..) | Effect::Delay(_) | Effect::Hang | Effect::Disconnect | Effect::LoseAnswer => {
                None
            }
        };
        match restricted {
            Some((effect, applies_to)) if applies_to != self.method => Err(RuleError::WrongMethod {
                effect,
                method: self.method,
                applies_to,
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn matches(&self, call: &Event) -> bool {
        let segment_matches = match (&self.segment, &call.segment) {
            (None, _) => true,
            // A call without topology counts as a call with an empty segment.
            (Some(wanted), None) => wanted.is_empty(),
            (Some(wanted), Some(requested)) => contains(requested, wanted),
        };
        self.method == call.method && segment_matches && contains(&call.parameters, &self.parameters)
    }
}

impl Effect {
    /// True for [`Effect::Delay`] and [`Effect::Hang`].
    pub fn delays_response(&self) -> bool {
        matches!(self, Effect::Hang | Effect::Delay(_))
    }

    /// True for [`Effect::Disconnect`] and [`Effect::LoseAnswer`].
    pub fn cuts_connection(&self) -> bool {
        matches!(self, Effect::Disconnect | Effect::LoseAnswer)
    }
}

/// Formats CSI method and effect, such as `GetCapacity fails with UNAVAILABLE`.
impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.method)?;
        match &self.effect {
            Effect::Code(code, _) => write!(out, "fails with {}", code_name(*code)),
            Effect::Delay(time) => write!(out, "is delayed by {time:?}"),
            Effect::Hang => out.write_str("hangs"),
            Effect::Disconnect => out.write_str("is not executed, and its connection is cut"),
            Effect::LoseAnswer => out.write_str("is executed, but its connection is cut before the response"),
            Effect::Capacity {
                available,
                maximum,
                minimum,
            } => {
                write!(out, "returns {available}")?;
                let mut limits = [("maximum", maximum), ("minimum", minimum)].into_iter();
                limits.try_for_each(|(name, bytes)| match bytes {
                    Some(bytes) => write!(out, " ({name} {bytes})"),
                    None => Ok(()),
                })
            }
            Effect::Volume { bytes, topology } => write!(out, "returns {bytes:?} bytes at {topology:?}"),
            Effect::Ready(ready) => write!(out, "returns ready={ready}"),
        }
    }
}
