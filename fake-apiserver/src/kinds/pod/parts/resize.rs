//! `pods/resize`: what the containers of a running pod may use changes.

use super::super::super::{PartHooks, Subresource};
use super::super::{quality, spec};
use super::common::{is_static, put_back};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use serde_json::{Map, Value};

pub(super) const PART: PartHooks = PartHooks {
    of: Subresource::Resize,
    separate,
    validate,
    // The real strategy names fields, and nobody asks it.
    resets: &[],
};

const LISTS: [&str; 2] = ["containers", "initContainers"];
/// What changes while a container runs.
const MUTABLE: [&str; 2] = ["cpu", "memory"];
const ONLY_THOSE: &str = "only cpu and memory resources are mutable";

/// A pod as it was, with other resources. One with other containers is left for the rules to refuse.
fn separate(new: &mut Value, old: &Value) {
    let is_as_long = |name: &str| list(&new["spec"][name]).len() == list(&old["spec"][name]).len();
    if !LISTS.into_iter().all(is_as_long) {
        return;
    }
    let mut sent = put_back(new, old);
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

fn validate(new: &Value, old: &Value, faults: &mut Faults) {
    spec::validate(new, faults);
    let never = match () {
        () if is_static(old) => Some("static pods cannot be resized"),
        () if old["spec"]["os"]["name"] == "windows" => Some("windows pods cannot be resized"),
        () => None,
    };
    if let Some(why) = never {
        *faults = Faults::default();
        return faults.forbidden("", why);
    }
    let class = &new["status"]["qosClass"];
    if *class != quality::of(&new["spec"]) {
        let why = "Pod QOS Class may not change as a result of resizing";
        faults.invalid("spec", class.clone(), why);
    }
    if !is_supported(old) {
        faults.forbidden("spec", "Pod running on node without support for resize");
    }
    let (new, old) = (&new["spec"], &old["spec"]);
    pod_level(&new["resources"], &old["resources"], faults);
    if !has_same_containers(new, old, faults) {
        return;
    }
    let before = faults.len();
    for name in ["initContainers", "containers"] {
        for (at, (new, old)) in pairs(new, old, name).enumerate() {
            let at = format!("spec.{name}[{at}].resources");
            for (side, words) in [("requests", "resource requests"), ("limits", "resource limits")] {
                if is_less(&new["resources"][side], &old["resources"][side]) {
                    faults.forbidden(format!("{at}.{side}"), &format!("{words} cannot be removed"));
                }
            }
        }
    }
    for (new, old) in pairs(new, old, "containers") {
        if changes_more(new, old) {
            faults.forbidden("spec", ONLY_THOSE);
        }
    }
    for (at, (new, old)) in pairs(new, old, "initContainers").enumerate() {
        init_container(new, old, &format!("spec.initContainers[{at}]"), faults);
    }
    if faults.len() == before && without_resources(new) != without_resources(old) {
        faults.forbidden("spec", ONLY_THOSE);
    }
}

/// Whether the node can change what runs, as far as the status tells.
fn is_supported(pod: &Value) -> bool {
    let mut statuses = list(&pod["status"]["containerStatuses"]).iter();
    let running = statuses.find(|status| !status["state"]["running"].is_null());
    running.is_none_or(|status| !status["resources"].is_null())
}

fn pairs<'a>(new: &'a Value, old: &'a Value, name: &str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    list(&new[name]).iter().zip(list(&old[name]))
}

fn has_same_containers(new: &Value, old: &Value, faults: &mut Faults) -> bool {
    let before = faults.len();
    for name in LISTS {
        if list(&new[name]).len() != list(&old[name]).len() {
            let why = format!("{name} may not be added or removed on resize");
            faults.forbidden(format!("spec.{name}"), &why);
            continue;
        }
        for (at, (new, old)) in pairs(new, old, name).enumerate() {
            if string(new, "name") != string(old, "name") {
                let why = format!("{name} may not be renamed or reordered on resize");
                faults.forbidden(format!("spec.{name}[{at}].name"), &why);
            }
        }
    }
    faults.len() == before
}

/// The rules for the resources of the pod itself.
fn pod_level(new: &Value, old: &Value, faults: &mut Faults) {
    let is_set = |resources: &Value| {
        let mut sides = ["requests", "limits"].into_iter();
        sides.any(|side| {
            resources[side]
                .as_object()
                .is_some_and(|amounts| !amounts.is_empty())
        })
    };
    if !is_set(new) && !is_set(old) {
        return;
    }
    if !old.is_null() && new.is_null() {
        return faults.forbidden("spec.resources", "pod-level resources cannot be removed");
    }
    if !old.is_null() {
        for side in ["requests", "limits"] {
            if is_less(&new[side], &old[side]) {
                let why = format!("pod-level resource {side} cannot be removed");
                faults.forbidden(format!("spec.resources.{side}"), &why);
            }
        }
    }
    if immutable(new) != immutable(old) {
        faults.forbidden("spec", "only cpu and memory resources are mutable at pod-level");
    }
}

/// Whether amounts are missing that were there.
fn is_less(new: &Value, old: &Value) -> bool {
    let mut names = old.as_object().into_iter().flat_map(Map::keys);
    names.any(|name| new[name.as_str()].is_null())
}

/// Resources without those that may change.
fn immutable(resources: &Value) -> Value {
    let mut resources = match resources {
        Value::Object(_) => resources.clone(),
        _ => Value::Object(Map::new()),
    };
    for side in ["requests", "limits"] {
        if let Some(amounts) = resources[side].as_object_mut() {
            amounts.retain(|name, _| !MUTABLE.contains(&name.as_str()));
        }
        let is_empty = resources[side].as_object().is_none_or(Map::is_empty);
        if is_empty {
            json::assign(&mut resources, side, Value::Null);
        }
    }
    resources
}

/// Whether more of a container changes than may. One with claims cannot be resized, whatever changes.
fn changes_more(new: &Value, old: &Value) -> bool {
    let masked = |container: &Value| {
        let mut container = container.clone();
        let mut resources = immutable(&container["resources"]);
        json::assign(&mut resources, "claims", Value::Null);
        json::assign(&mut container, "resources", resources);
        container
    };
    masked(new) != masked(old) || !list(&old["resources"]["claims"]).is_empty()
}

fn init_container(new: &Value, old: &Value, at: &str, faults: &mut Faults) {
    if changes_more(new, old) {
        let why = "only cpu and memory resources for init or sidecar containers are mutable";
        faults.forbidden(at, why);
    }
    let is_sidecar = new["restartPolicy"] == "Always";
    for policy in list(&new["resizePolicy"]) {
        if new != old && !is_sidecar && policy["restartPolicy"] == "RestartContainer" {
            let why =
                "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
            faults.forbidden(at, why);
        }
    }
}

/// What is compared at last: all that is no resource.
fn without_resources(spec: &Value) -> Value {
    let mut spec = spec.clone();
    json::assign(&mut spec, "resources", Value::Null);
    for name in LISTS {
        json::assign(&mut spec, name, Value::Null);
    }
    spec
}
