//! Ephemeral containers: what may look into a running pod.

use super::containers::common;
use super::volumes::Mountable;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use serde_json::Value;
use std::collections::HashSet;

const NOT_HERE: &str = "cannot be set for an Ephemeral Container";
/// What only containers have that a pod was made for.
const FORBIDDEN: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

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
        let is_set = |field: &str| match &container[field] {
            Value::Null => false,
            Value::Object(members) if field == "resources" => !members.is_empty(),
            _ => true,
        };
        for field in FORBIDDEN.iter().filter(|field| is_set(field)) {
            faults.forbidden(format!("{at}.{field}"), NOT_HERE);
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
