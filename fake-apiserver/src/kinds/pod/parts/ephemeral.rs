//! `pods/ephemeralcontainers`: debug containers can be added to a running pod, but not changed or removed.

use super::super::super::{PartHooks, Subresource};
use super::super::spec;
use super::common::{is_static, restore_old_pod};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, list, string};
use serde_json::Value;

pub(super) const PART: PartHooks = PartHooks {
    of: Subresource::EphemeralContainers,
    separate: restrict_to_ephemeral_containers,
    validate: |new, old, errors| {
        spec::validate(new, errors);
        validate_update(new, old, errors);
    },
    // Empty, although upstream's strategy defines reset fields: upstream never calls `GetResetFields`.
    resets: &[],
};

/// Replaces `new` by the old pod, except for the ephemeral containers in `new`.
fn restrict_to_ephemeral_containers(new: &mut Value, old: &Value) {
    let sent = restore_old_pod(new, old)["spec"]["ephemeralContainers"].take();
    json::assign(&mut new["spec"], "ephemeralContainers", sent);
}

/// Validates an update: ephemeral containers may be added, but not changed or removed.
fn validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    if is_static(old) {
        *errors = ErrorList::default();
        return errors.forbidden("", "static pods do not support ephemeral containers");
    }
    let present = list(&new["spec"]["ephemeralContainers"]);
    for before in list(&old["spec"]["ephemeralContainers"]) {
        let name = string(before, "name");
        let text = match present.iter().find(|container| string(container, "name") == name) {
            None => format!("existing ephemeral containers {name:?} may not be removed\n"),
            Some(after) if after != before => {
                format!("existing ephemeral containers {name:?} may not be changed\n")
            }
            Some(_) => continue,
        };
        errors.forbidden("spec.ephemeralContainers", &text);
    }
}
