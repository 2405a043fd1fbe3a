//! What changes leave to the controllers.
//!
//! Owns which change calls for what. Does not do it.

use super::history::Logged;
use crate::kinds::{Kind, SERVICE};
use crate::machinery::metadata;
use crate::object::Object;
use crate::observe::Change;
use serde_json::Value;
use std::sync::Arc;

/// What a change leaves to the controllers.
#[derive(Debug)]
pub(crate) enum FollowUp {
    /// A namespace is there: it gets what every namespace has.
    NamespaceCreated(String),
    /// The deletion of a namespace has begun: its content goes.
    NamespaceEnding(String),
    /// An object has gone from a namespace, which may only have waited for that.
    Gone { namespace: String },
    /// A service was written, or has gone: its addresses may be others.
    Service {
        old: Option<Arc<Object>>,
        new: Option<Arc<Object>>,
    },
    /// A definition was written, or has gone.
    Definition(String),
    /// A policy was written that the server judges.
    Policy(String),
    /// An object has gone whose definition may only have waited for that.
    InstanceGone {
        group: &'static str,
        plural: &'static str,
    },
}

impl FollowUp {
    /// What an object leaves to be done that has gone.
    pub(crate) fn gone(object: &Value) -> Self {
        Self::Gone {
            namespace: metadata::text(object, "namespace").to_owned(),
        }
    }

    /// What the change of an object calls for.
    pub(super) fn of(kind: &Kind, logged: &Logged) -> Vec<Self> {
        let is_gone = logged.change == Change::Deleted;
        let key = || (*logged.key).to_owned();
        let now = || Some(logged.object()).filter(|_| !is_gone);
        let mut owed = Vec::new();
        if *kind == SERVICE {
            let (old, new) = (logged.old(), now());
            owed.push(Self::Service { old, new });
        }
        if kind.defines {
            owed.push(Self::Definition(key()));
        }
        if kind.registers && kind.status {
            owed.push(Self::Policy(key()));
        }
        if kind.defined().is_some() && is_gone {
            let (group, plural) = (kind.group, kind.plural);
            owed.push(Self::InstanceGone { group, plural });
        }
        owed
    }
}
