//! Annotations by which pods said what fields say now, and those that mean something still.
//!
//! Owns their rules, and what becomes of a profile of AppArmor that is in an annotation alone. That others are out of date is in `warn`.

use super::containers::{LISTS, all};
use super::files::descending_path;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The profile of seccomp of a whole pod.
pub(crate) const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The same of a container, whose name follows.
pub(crate) const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The profile of AppArmor of a container, whose name follows.
pub(crate) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// Before the path of a profile that a node has.
const LOCALHOST: &str = "localhost/";

/// The rules for the annotations of a pod, or of a template for pods.
pub(in crate::kinds) fn validate(pod: &Value, at: &str, faults: &mut Faults) {
    let (annotations, spec) = (&pod["metadata"]["annotations"], &pod["spec"]);
    if let Some(mirrored) = annotations[MIRROR].as_str()
        && string(spec, "nodeName").is_empty()
    {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        faults.invalid(format!("{at}[{MIRROR}]"), mirrored, why);
    }
    if let Some(cost) = annotations[DELETION_COST].as_str().filter(|cost| !is_cost(cost)) {
        faults.invalid(format!("{at}[{DELETION_COST}]"), cost, "must be a 32bit integer");
    }
    let of_containers = json::pairs(annotations).filter(|(key, _)| key.starts_with(SECCOMP));
    let of_pod = annotations[SECCOMP_POD]
        .as_str()
        .map(|profile| (SECCOMP_POD, profile));
    for (key, profile) in of_pod.into_iter().chain(of_containers) {
        seccomp(profile, &format!("{at}.{key}"), faults);
    }
    let confined = json::pairs(annotations).filter_map(|(key, profile)| {
        let name = key.strip_prefix(APP_ARMOR)?;
        Some((key, name, profile))
    });
    let mut confined = confined.peekable();
    if confined.peek().is_none() {
        return;
    }
    let containers = LISTS.iter().flat_map(|name| list(&spec[*name]));
    let names: HashSet<&str> = containers.map(|container| string(container, "name")).collect();
    for (key, name, profile) in confined {
        if !names.contains(name) {
            faults.invalid(format!("{at}[{key}]"), name, "container not found");
        }
        let is_known = ["", "runtime/default", "unconfined"].contains(&profile);
        if !is_known && !profile.starts_with(LOCALHOST) {
            let why = format!("invalid AppArmor profile name: {profile:?}");
            faults.invalid(format!("{at}[{key}]"), profile, &why);
        }
    }
}

/// Whether a text is a whole number of 32 bits, without a plus and without zeros before it.
fn is_cost(text: &str) -> bool {
    let is_plain = text == "0" || !text.starts_with(['+', '0']);
    is_plain && text.parse::<i32>().is_ok()
}

fn seccomp(profile: &str, field: &str, faults: &mut Faults) {
    if ["runtime/default", "docker/default", "unconfined"].contains(&profile) {
        return;
    }
    match profile.strip_prefix(LOCALHOST) {
        Some(path) => descending_path(path, field, faults),
        None => faults.invalid(field, profile, "must be a valid seccomp profile"),
    }
}

/// The rules for annotations of a new pod, or of a template, beside the fields that say the same. `at` is where its spec is.
pub(in crate::kinds) fn validate_fields(pod: &Value, at: &str, faults: &mut Faults) {
    let (annotations, spec) = (&pod["metadata"]["annotations"], &pod["spec"]);
    // Most pods have none.
    if annotations.is_null() {
        return;
    }
    let context = &spec["securityContext"];
    let same_seccomp = |key: &str, context: &Value, at: &str, faults: &mut Faults| {
        let at = format!("{at}.securityContext.seccompProfile");
        same(
            annotations[key].as_str(),
            &context["seccompProfile"],
            "seccomp",
            &at,
            faults,
        );
    };
    same_seccomp(SECCOMP_POD, context, at, faults);
    for (container, at) in all(spec, at) {
        let key = format!("{SECCOMP}{}", string(container, "name"));
        same_seccomp(&key, &container["securityContext"], &at, faults);
    }
    if spec["os"]["name"] == "windows" {
        return;
    }
    for (container, at) in all(spec, at) {
        let own = &container["securityContext"]["appArmorProfile"];
        let profile = if own.is_null() {
            &context["appArmorProfile"]
        } else {
            own
        };
        let annotation = annotations[format!("{APP_ARMOR}{}", string(container, "name"))].as_str();
        let at = format!("{at}.securityContext.appArmorProfile");
        same(annotation, profile, "apparmor", &at, faults);
    }
}

/// Refuses an annotation and a field that name different profiles.
fn same(annotation: Option<&str>, profile: &Value, what: &str, at: &str, faults: &mut Faults) {
    let Some(annotation) = annotation else {
        return;
    };
    let names: &[&str] = match profile["type"].as_str() {
        Some("Unconfined") => &["unconfined"],
        Some("RuntimeDefault") if what == "seccomp" => &["runtime/default", "docker/default"],
        Some("RuntimeDefault") => &["runtime/default"],
        Some("Localhost") => match annotation.strip_prefix(LOCALHOST) {
            Some(path) if profile["localhostProfile"] == path => return,
            Some(_) => {
                let why = format!("{what} profile in annotation and field must match");
                return faults.forbidden(format!("{at}.localhostProfile"), &why);
            }
            None => &[],
        },
        _ => return,
    };
    if !names.contains(&annotation) {
        let why = format!("{what} type in annotation and field must match");
        faults.forbidden(format!("{at}.type"), &why);
    }
}

/// Gives containers the profile of AppArmor that an annotation names, where it is not that of the pod.
pub(super) fn take_profiles(pod: &mut Value) {
    if pod["metadata"]["annotations"].is_null() {
        return;
    }
    for name in LISTS {
        for i in 0..list(&pod["spec"][name]).len() {
            if let Some(Some(profile)) = new_profile(pod, &pod["spec"][name][i]) {
                let context = json::member(&mut pod["spec"][name][i], "securityContext");
                context.insert("appArmorProfile".to_owned(), profile);
            }
        }
    }
}

/// The warnings about annotations with profiles of AppArmor that no field says.
pub(super) fn warn_of_profiles(pod: &Value) -> Vec<String> {
    if pod["metadata"]["annotations"].is_null() {
        return Vec::new();
    }
    let containers = LISTS.iter().flat_map(|name| list(&pod["spec"][*name]));
    containers
        .filter_map(|container| warn_of_profile(pod, container, ""))
        .collect()
}

/// The same for one container of a pod, or of a template at that place.
pub(super) fn warn_of_profile(pod: &Value, container: &Value, at: &str) -> Option<String> {
    let name = string(container, "name");
    new_profile(pod, container).map(|_| {
        format!(
            "{at}metadata.annotations[{APP_ARMOR}{name}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        )
    })
}

/// What a container with an annotation and without a field is confined by, if the annotation says it.
fn new_profile(pod: &Value, container: &Value) -> Option<Option<Value>> {
    let (annotations, spec) = (&pod["metadata"]["annotations"], &pod["spec"]);
    let annotation = annotations.get(format!("{APP_ARMOR}{}", string(container, "name")))?;
    let profile = profile(annotation.as_str().unwrap_or_default());
    let of_pod = &spec["securityContext"]["appArmorProfile"];
    let is_new = spec["os"]["name"] != "windows"
        && container["securityContext"]["appArmorProfile"].is_null()
        && profile.as_ref().is_none_or(|profile| profile != of_pod);
    is_new.then_some(profile)
}

/// The field that says what an annotation says.
fn profile(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => {
            let path = annotation.strip_prefix(LOCALHOST)?;
            let is_path = !path.is_empty() && path.trim() == path;
            is_path.then(|| json!({"type": "Localhost", "localhostProfile": path}))
        }
    }
}
