//! An applied fault and the request, watch or history that it affected. Does not know fault rules beyond their id.

use super::rule::{Effect, RuleId};
use crate::request::Verb;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A fault that was applied to a request, a watch or the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFault {
    /// Id of the rule that injected the fault.
    pub rule: RuleId,
    /// The client that sent the affected request or opened the affected watch; `None` if history was compacted.
    pub client: Option<Arc<str>>,
    /// What happened to the request, watch or history.
    pub effect: Effect,
    /// The verb of the affected request; `None` if the event history was compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<Verb>,
    /// Plural resource name, `pods/binding` for a subresource; `None` for a non-resource path and if the history of all resources was
    /// compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The object name in the request path; `None` if the path contains none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether a real API server may behave like the effect, so that a correct client must tolerate the fault.
    pub legal: bool,
}

impl AppliedFault {
    /// The delay of the request or watch; `None` for other faults, and for a watch that is held until the rule is removed.
    pub fn delay(&self) -> Option<Duration> {
        match self.effect {
            Effect::Delay { milliseconds }
            | Effect::HoldWatch {
                milliseconds: Some(milliseconds),
            } => Some(Duration::from_millis(milliseconds)),
            _ => None,
        }
    }

    /// Whether the fault only delays the request or watch and does not make it fail.
    pub fn is_delay(&self) -> bool {
        matches!(self.effect, Effect::Delay { .. } | Effect::HoldWatch { .. })
    }
}

/// Formats the effect, the request and its object: `status 503: update pods/status p`, `compacted to revision 7: everything`.
impl fmt::Display for AppliedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.effect)?;
        if let Some(verb) = self.verb {
            write!(f, " {verb}")?;
        }
        match &self.resource {
            Some(resource) => write!(f, " {resource}")?,
            None if self.verb.is_none() => f.write_str(" everything")?,
            None => {}
        }
        self.name.iter().try_for_each(|name| write!(f, " {name}"))
    }
}
