//! A fault that was applied: what happened, and to which request. Does not know rules beyond their number.

use super::rule::{Effect, RuleId};
use crate::request::Verb;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A fault that was applied to a request, to a watch or to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFault {
    /// The rule.
    pub rule: RuleId,
    /// Whose request or watch it was; `None` where the server itself is concerned.
    pub client: Option<Arc<str>>,
    /// What happened.
    pub effect: Effect,
    /// The verb of the request; `None` where the server itself is concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<Verb>,
    /// Plural resource name, `pods/binding` for a subresource; `None` for a path that is no resource, and for all resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The name in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether a real API server may do the same.
    pub legal: bool,
}

impl AppliedFault {
    /// By how much the request or watch is delayed, where the rule limits that.
    pub fn delay(&self) -> Option<Duration> {
        match self.effect {
            Effect::Delay { milliseconds }
            | Effect::HoldWatch {
                milliseconds: Some(milliseconds),
            } => Some(Duration::from_millis(milliseconds)),
            _ => None,
        }
    }

    /// Whether the request or watch is delayed and does not fail.
    pub fn is_delay(&self) -> bool {
        matches!(self.effect, Effect::Delay { .. } | Effect::HoldWatch { .. })
    }
}

/// What happened, and to what: `status 503: update pods/status p`, `compacted to revision 7: everything`.
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
