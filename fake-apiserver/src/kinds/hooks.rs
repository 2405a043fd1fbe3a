//! The strategy of a kind: functions for defaulting, preparation and validation, which are part of its resource definition.

use super::part::Subresource;
use crate::config::options::ServerOptions;
use crate::config::release::Profile;
use crate::machinery::error_list::ErrorList;
use serde_json::Value;
use std::collections::BTreeMap;

/// The functions of a kind. All of them receive the whole object.
pub struct Hooks {
    /// Sets the defaults of a decoded object.
    pub default: fn(&mut Value),
    /// Prepares a new object: `PrepareForCreate` of the strategy, and the changes of built-in admission plugins.
    pub create: fn(&mut Value, &Setting<'_>),
    /// Prepares an updated object (`PrepareForUpdate`); the second argument is the old object.
    pub update: fn(&mut Value, &Value, &Setting<'_>),
    /// Validates the name of a new object against its other fields.
    pub validate_name: fn(&Value, &mut ErrorList),
    /// Validation for both create and update.
    pub validate: fn(&Value, &mut ErrorList),
    /// Validation for create only.
    pub validate_create: fn(&Value, &mut ErrorList),
    /// Validation of an update; the second argument is the old object.
    pub validate_update: fn(&Value, &Value, &mut ErrorList),
    /// Validation of an update of the status; the second argument is the old object.
    pub validate_status: fn(&Value, &Value, &mut ErrorList),
    /// Functions of subresources whose body has the type of the object itself.
    pub parts: &'static [PartHooks],
    /// Resets the fields that a write to `/status` must not change; the second argument is the old object.
    pub separate_status: fn(&mut Value, &Value),
    /// Warnings for the client about a written object; the second argument is the old object, or null.
    pub warn: fn(&Value, &Value) -> Vec<String>,
    /// Validation of an update whose rules depend on the release.
    pub validate_update_then: fn(&Value, &Value, Profile, &mut ErrorList),
}

/// Functions of a subresource whose body has the type of the object itself, and which updates a part of the object.
pub struct PartHooks {
    /// The subresource.
    pub of: Subresource,
    /// Resets the fields that the subresource must not change; the second argument is the old object.
    pub separate: fn(&mut Value, &Value),
    /// Validation of an update through the subresource; the second argument is the old object.
    pub validate: fn(&Value, &Value, &mut ErrorList),
    /// Paths of the fields that a write through the subresource does not change (`GetResetFields` of upstream's strategy).
    pub resets: Paths,
}

/// Field paths, each a list of member names.
pub type Paths = &'static [&'static [&'static str]];

impl Hooks {
    /// The functions of a subresource; `None` if its body does not have the type of the object itself.
    pub(crate) fn part(&self, of: Subresource) -> Option<&'static PartHooks> {
        self.parts.iter().find(|part| part.of == of)
    }
}

/// The context of a request for the functions of a kind.
pub struct Setting<'a> {
    /// The current time, formatted as in `metadata`.
    pub now: &'a str,
    /// The options of the server.
    pub options: &'a ServerOptions,
    /// The served release.
    pub profile: Profile,
    /// The user of the request; `None` for writes of the server itself.
    pub requester: Option<Requester<'a>>,
}

/// The user of a request, with the attributes that objects can record.
#[derive(Clone, Copy)]
pub struct Requester<'a> {
    /// The user name.
    pub name: &'a str,
    /// The uid. Empty if unknown.
    pub uid: &'a str,
    /// The groups of the user.
    pub groups: &'a [String],
    /// Further attributes of the user.
    pub extra: &'a BTreeMap<String, Vec<String>>,
}

/// Functions that do nothing.
pub const NO_HOOKS: Hooks = Hooks {
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
