//! `pods/resize`: changes the container resources of a running pod.

use super::super::super::{PartHooks, Subresource};
use super::super::{quality, spec};
use super::common::{is_static, restore_old_pod};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, list, string};
use serde_json::Value;

pub(super) const PART: PartHooks = PartHooks {
    of: Subresource::Resize,
    separate: restrict_to_container_resources,
    validate,
    // Empty, although upstream's strategy defines reset fields: upstream never calls `GetResetFields`.
    resets: &[],
};

const LISTS: [&str; 2] = ["containers", "initContainers"];

/// Replaces `new` by the old pod, except for the container resources in `new`. If the number of containers differs, leaves `new`
/// unchanged, and validation rejects `new`.
fn restrict_to_container_resources(new: &mut Value, old: &Value) {
    let is_as_long = |name: &str| list(&new["spec"][name]).len() == list(&old["spec"][name]).len();
    if !LISTS.into_iter().all(is_as_long) {
        return;
    }
    let mut sent = restore_old_pod(new, old);
    let sent = &mut sent["spec"];
    let spec = &mut new["spec"];
    json::assign(spec, "resources", sent["resources"].take());
    for name in LISTS {
        if has_same_names(&sent[name], &spec[name]) {
            let place = format!("/{name}");
            let containers = json::entries(spec, &place);
            for (container, sent) in containers.zip(json::entries(sent, &place)) {
                for field in ["resources", "resizePolicy"] {
                    json::assign(container, field, sent[field].take());
                }
            }
        } else {
            json::assign(spec, name, sent[name].take());
        }
    }
}

fn has_same_names(one: &Value, other: &Value) -> bool {
    let mut pairs = list(one).iter().zip(list(other));
    pairs.all(|(one, other)| string(one, "name") == string(other, "name"))
}

fn validate(new: &Value, old: &Value, errors: &mut ErrorList) {
    spec::validate(new, errors);
    if is_static(old) {
        *errors = ErrorList::default();
        return errors.forbidden("", "static pods cannot be resized");
    }
    let class = &new["status"]["qosClass"];
    if *class != quality::qos_class(&new["spec"]) {
        let why = "Pod QOS Class may not change as a result of resizing";
        errors.invalid("spec", class.clone(), why);
    }
    for name in LISTS {
        if !has_same_names(&new["spec"][name], &old["spec"][name]) {
            let why = format!("{name} may not be added, removed or renamed on resize");
            errors.forbidden(format!("spec.{name}"), &why);
        }
    }
}
