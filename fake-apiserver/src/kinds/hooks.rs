//! The strategy of a kind: functions for defaulting, preparation and validation, as part of its resource definition.

use super::part::Subresource;
use crate::config::options::ServerOptions;
use crate::config::release::Profile;
use crate::machinery::error_list::ErrorList;
use serde_json::Value;
use std::collections::BTreeMap;

/// The functions of a kind. Each gets the whole object.
pub(crate) struct Hooks {
    /// Sets the defaults of a decoded object.
    pub(crate) default: fn(&mut Value),
    /// Prepares a new object: `PrepareForCreate` of the strategy, and the changes of built-in admission plugins.
    pub(crate) create: fn(&mut Value, &Setting<'_>),
    /// Prepares an updated object (`PrepareForUpdate`); the second argument is the old one.
    pub(crate) update: fn(&mut Value, &Value, &Setting<'_>),
    /// Validates the name of a new object against its other fields.
    pub(crate) validate_name: fn(&Value, &mut ErrorList),
    /// Validation for both create and update.
    pub(crate) validate: fn(&Value, &mut ErrorList),
    /// Validation for create only.
    pub(crate) validate_create: fn(&Value, &mut ErrorList),
    /// Validation of an update; the second argument is the old object.
    pub(crate) validate_update: fn(&Value, &Value, &mut ErrorList),
    /// Validation of an update of the status; the second argument is the old object.
    pub(crate) validate_status: fn(&Value, &Value, &mut ErrorList),
    /// Functions for subresources that have the type of the object itself.
    pub(crate) parts: &'static [PartHooks],
    /// Resets the fields that a write to `/status` must not change; the second argument is the old object.
    pub(crate) separate_status: fn(&mut Value, &Value),
    /// Warnings for the client about a written object; the second argument is the old object, or null.
    pub(crate) warn: fn(&Value, &Value) -> Vec<String>,
    /// Validation of an update that depends on the release.
    pub(crate) validate_update_then: fn(&Value, &Value, Profile, &mut ErrorList),
}

/// Functions for a subresource that has the type of the object itself and updates a part of it.
pub(crate) struct PartHooks {
    pub(crate) of: Subresource,
    /// Resets the fields that the subresource must not change; the second argument is the old object.
    pub(crate) separate: fn(&mut Value, &Value),
    /// Validation of an update through the subresource; the second argument is the old object.
    pub(crate) validate: fn(&Value, &Value, &mut ErrorList),
    /// Paths of the fields that a write does not change: upstream's `GetResetFields` of the strategy.
    pub(crate) resets: Paths,
}

/// Field paths, each a list of member names.
pub(crate) type Paths = &'static [&'static [&'static str]];

impl Hooks {
    /// The functions of a subresource; None if it does not have the type of the object itself.
    pub(crate) fn part(&self, of: Subresource) -> Option<&'static PartHooks> {
        self.parts.iter().find(|part| part.of == of)
    }
}

/// The context of a request that functions may read.
pub(crate) struct Setting<'a> {
    /// The current time, formatted as in `metadata`.
    pub(crate) now: &'a str,
    pub(crate) options: &'a ServerOptions,
    pub(crate) profile: Profile,
    /// The user of the request; None if the server itself writes.
    pub(crate) requester: Option<Requester<'a>>,
}

/// The user of a request, as far as objects record it.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) groups: &'a [String],
    pub(crate) extra: &'a BTreeMap<String, Vec<String>>,
}

/// Functions that do nothing.
pub(crate) const NO_HOOKS: Hooks = Hooks {
    default: |_| {},
    create: |_, _| {},
    update: |_, _, _| {},
    validate_name: |_, _| {},
    validate: |_, _| {},
    validate_create: |_, _| {},
    validate_update: |_, _, _| {},
    validate_status: |_, _, _| {},
    parts: &[],
    separate_status: |_, _| {},
    warn: |_, _| Vec::new(),
    validate_update_then: |_, _, _, _| {},
};
