//! An applied fault: its effect, and the request that it hit. Does not know fault rules beyond their id.

use super::rule::{Effect, RuleId};
use crate::request::Verb;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A fault that was applied to a request, a watch or the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFault {
    /// The fault rule.
    pub rule: RuleId,
    /// The client whose request or watch it was; `None` for a fault of the server itself.
    pub client: Option<Arc<str>>,
    /// The effect.
    pub effect: Effect,
    /// The verb of the request; `None` for a fault of the server itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<Verb>,
    /// Plural resource name, `pods/binding` for a subresource; `None` for a non-resource path, and for all resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The object name in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether a real API server may do the same.
    pub legal: bool,
}

impl AppliedFault {
    /// The delay of the request or watch, if the rule bounds it.
    pub fn delay(&self) -> Option<Duration> {
        match self.effect {
            Effect::Delay { milliseconds }
            | Effect::HoldWatch {
                milliseconds: Some(milliseconds),
            } => Some(Duration::from_millis(milliseconds)),
            _ => None,
        }
    }

    /// Whether the fault only delays the request or watch, so that it does not fail.
    pub fn is_delay(&self) -> bool {
        matches!(self.effect, Effect::Delay { .. } | Effect::HoldWatch { .. })
    }
}

/// The effect, the request and its object: `status 503: update pods/status p`, `compacted to revision 7: everything`.
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
