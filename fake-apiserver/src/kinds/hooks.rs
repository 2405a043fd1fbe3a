//! What a kind does to its objects, as functions in its row.

use super::part::Subresource;
use crate::config::options::ServerOptions;
use crate::config::release::Profile;
use crate::machinery::faults::Faults;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a kind does to its objects. All run with the whole object.
pub(crate) struct Hooks {
    /// Fills in defaults of a decoded object.
    pub(crate) default: fn(&mut Value),
    /// Prepares a new object: what the strategy and admission set.
    pub(crate) create: fn(&mut Value, &Setting<'_>),
    /// Prepares a changed object; the second is the old one.
    pub(crate) update: fn(&mut Value, &Value, &Setting<'_>),
    /// What the name of a new object has to be by the rest of the object.
    pub(crate) validate_name: fn(&Value, &mut Faults),
    /// The rules for an object as such.
    pub(crate) validate: fn(&Value, &mut Faults),
    /// The rules for a new object only.
    pub(crate) validate_create: fn(&Value, &mut Faults),
    /// The rules for a change; the second is the old one.
    pub(crate) validate_update: fn(&Value, &Value, &mut Faults),
    /// The rules for a change of the status; the second is the old one.
    pub(crate) validate_status: fn(&Value, &Value, &mut Faults),
    /// The rules for subresources that have the form of the object itself.
    pub(crate) parts: &'static [PartHooks],
    /// What a write to `/status` leaves of the new status; the second is the old object.
    pub(crate) separate_status: fn(&mut Value, &Value),
    /// Warnings about a written object; the second value is the old object, or null.
    pub(crate) warn: fn(&Value, &Value) -> Vec<String>,
    /// The rules for a change that not all releases have.
    pub(crate) validate_update_then: fn(&Value, &Value, Profile, &mut Faults),
}

/// The rules for a subresource that has the form of the object itself, of which a part changes.
pub(crate) struct PartHooks {
    pub(crate) of: Subresource,
    /// What a write leaves of the new object; the second is the old.
    pub(crate) separate: fn(&mut Value, &Value),
    /// The rules for such a change; the second is the old one.
    pub(crate) validate: fn(&Value, &Value, &mut Faults),
    /// Paths of the fields that a write leaves alone, as `GetResetFields` of the real strategy has them.
    pub(crate) resets: Paths,
}

/// Paths of fields.
pub(crate) type Paths = &'static [&'static [&'static str]];

impl Hooks {
    /// The rules for a subresource, where it has the form of the object itself.
    pub(crate) fn part(&self, of: Subresource) -> Option<&'static PartHooks> {
        self.parts.iter().find(|part| part.of == of)
    }
}

/// What hooks may look at.
pub(crate) struct Setting<'a> {
    /// The time, as `metadata` writes it.
    pub(crate) now: &'a str,
    pub(crate) options: &'a ServerOptions,
    pub(crate) profile: Profile,
    /// Who writes; none where the server itself does.
    pub(crate) requester: Option<Requester<'a>>,
}

/// Who writes an object, as far as objects tell.
#[derive(Clone, Copy)]
pub(crate) struct Requester<'a> {
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) groups: &'a [String],
    pub(crate) extra: &'a BTreeMap<String, Vec<String>>,
}

/// Hooks that do nothing.
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
