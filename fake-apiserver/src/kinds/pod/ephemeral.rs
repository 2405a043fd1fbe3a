//! Ephemeral containers: what may look into a running pod, and what may change of it (`pods/ephemeralcontainers`).

use super::super::internal_form;
use super::containers::common;
use super::volumes::Mountable;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::metadata;
use serde_json::Value;
use std::collections::HashSet;

const NOT_HERE: &str = "cannot be set for an Ephemeral Container";
/// What only containers have that a pod was made for.
const FORBIDDEN: [&str; 7] = [
    "ports",
    "resizePolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];
/// Static pods are those of one kubelet alone.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The rules for ephemeral containers among those of a pod.
pub(super) fn validate(spec: &Value, at: &str, volumes: &Mountable<'_>, faults: &mut Faults) {
    let others = ["containers", "initContainers"];
    let others: HashSet<&str> = others
        .into_iter()
        .flat_map(|name| list(&spec[name]))
        .map(|container| string(container, "name"))
        .collect();
    let mut all = others.clone();
    for (i, container) in list(&spec["ephemeralContainers"]).iter().enumerate() {
        let at = format!("{at}.ephemeralContainers[{i}]");
        common(container, spec, &at, volumes, faults);
        let (name, target) = (
            string(container, "name"),
            string(container, "targetContainerName"),
        );
        if !all.insert(name) {
            faults.duplicate(format!("{at}.name"), name);
        }
        if !target.is_empty() && !others.contains(target) {
            faults.not_found(format!("{at}.targetContainerName"), target);
        }
        for field in FORBIDDEN.into_iter().filter(|field| !container[*field].is_null()) {
            faults.forbidden(format!("{at}.{field}"), NOT_HERE);
        }
        let resources = container["resources"].as_object();
        if resources.is_some_and(|members| !members.is_empty()) {
            faults.forbidden(format!("{at}.resources"), NOT_HERE);
        }
        for (j, mount) in list(&container["volumeMounts"]).iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !string(mount, field).is_empty() {
                    faults.forbidden(format!("{at}.volumeMounts[{j}].{field}"), NOT_HERE);
                }
            }
        }
    }
}

/// A pod as it was, with other ephemeral containers. Of metadata, only the preconditions of the writer count.
pub(super) fn separate(new: &mut Value, old: &Value) {
    let sent = std::mem::replace(new, old.clone());
    json::assign(
        &mut new["spec"],
        "ephemeralContainers",
        sent["spec"]["ephemeralContainers"].clone(),
    );
    for field in ["uid", "resourceVersion", "managedFields"] {
        metadata::set(new, field, sent["metadata"].get(field).cloned());
    }
}

/// Ephemeral containers come, and stay as they are.
pub(super) fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    if !old["metadata"]["annotations"][MIRROR].is_null() {
        *faults = Faults::default();
        return faults.forbidden("", "static pods do not support ephemeral containers");
    }
    let present = list(&new["spec"]["ephemeralContainers"]);
    for before in list(&old["spec"]["ephemeralContainers"]) {
        let name = string(before, "name");
        let text = match present.iter().find(|container| string(container, "name") == name) {
            None => format!("existing ephemeral containers {name:?} may not be removed\n"),
            Some(after) if after != before => {
                let diff = internal_form::diff("EphemeralContainer", before, after);
                format!("existing ephemeral containers {name:?} may not be changed\n{diff}")
            }
            Some(_) => continue,
        };
        faults.forbidden("spec.ephemeralContainers", &text);
    }
}
