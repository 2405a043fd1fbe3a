//! The strategy of a kind: functions for defaulting, preparation and validation, which are part of its resource definition.

use super::part::Subresource;
use crate::config::options::ServerOptions;
use crate::config::release::Profile;
use crate::machinery::error_list::ErrorList;
use serde_json::Value;
use std::collections::BTreeMap;

/// The strategy of a kind: functions for defaulting, preparation and validation. Each receives the whole object.
pub struct Hooks {
    /// Sets the default values of an object after decoding.
    pub default: fn(&mut Value),
    /// Prepares a new object: `PrepareForCreate` of the strategy, and the changes of built-in admission plugins.
    pub create: fn(&mut Value, &StrategyContext<'_>),
    /// Prepares an updated object (`PrepareForUpdate`); the second argument is the old object.
    pub update: fn(&mut Value, &Value, &StrategyContext<'_>),
    /// Validates the name of a new object against its other fields.
    pub validate_name: fn(&Value, &mut ErrorList),
    /// Validation of an object, for both create and update.
    pub validate: fn(&Value, &mut ErrorList),
    /// Validation of a new object, in addition to `validate`.
    pub validate_create: fn(&Value, &mut ErrorList),
    /// Validation of an update, in addition to `validate`; the second argument is the old object.
    pub validate_update: fn(&Value, &Value, &mut ErrorList),
    /// Validation of an update of the status; the second argument is the old object.
    pub validate_status: fn(&Value, &Value, &mut ErrorList),
    /// Strategies of subresources whose body has the type of the object itself.
    pub parts: &'static [PartHooks],
    /// Resets the fields that a write to `/status` must not change; the second argument is the old object.
    pub separate_status: fn(&mut Value, &Value),
    /// Warnings for the client about a written object; the second argument is the old object, or null.
    pub warn: fn(&Value, &Value) -> Vec<String>,
    /// Validation of an update by rules that differ between Kubernetes releases.
    pub validate_update_then: fn(&Value, &Value, Profile, &mut ErrorList),
}

/// The strategy of a subresource whose body has the type of the object itself, and which updates a part of the object.
pub struct PartHooks {
    /// The subresource to which this strategy applies.
    pub of: Subresource,
    /// Resets the fields that the subresource must not change; the second argument is the old object.
    pub separate: fn(&mut Value, &Value),
    /// Validation of an update through the subresource; the second argument is the old object.
    pub validate: fn(&Value, &Value, &mut ErrorList),
    /// Paths of the fields that a write through the subresource does not change (`GetResetFields` of upstream's strategy).
    pub resets: Paths,
}

/// Field paths, each a list of nested field names.
pub type Paths = &'static [&'static [&'static str]];

impl Hooks {
    /// The strategy of a subresource; `None` if its body does not have the type of the object itself.
    pub(crate) fn part(&self, of: Subresource) -> Option<&'static PartHooks> {
        self.parts.iter().find(|part| part.of == of)
    }
}

/// The context of strategy functions: properties of the server and of the request.
pub struct StrategyContext<'a> {
    /// The current time, formatted as in `metadata`.
    pub now: &'a str,
    /// Server options, such as `kubelet_less`.
    pub options: &'a ServerOptions,
    /// The Kubernetes release that the server serves, with the release's feature gates.
    pub profile: Profile,
    /// The user of the request; `None` for writes of the server itself.
    pub requester: Option<Requester<'a>>,
}

/// The user of a request, with the attributes that objects can record.
#[derive(Clone, Copy)]
pub struct Requester<'a> {
    /// User name, as in role bindings.
    pub name: &'a str,
    /// The uid of the user. Empty if unknown.
    pub uid: &'a str,
    /// Names of the user's groups.
    pub groups: &'a [String],
    /// The user's `extra` attributes, such as the pod to which a token is bound.
    pub extra: &'a BTreeMap<String, Vec<String>>,
}

/// Strategy functions that change nothing and find no errors: the base of the strategies of all kinds.
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
