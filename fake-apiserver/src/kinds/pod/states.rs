//! The rules for what is told of the containers of a pod: which may run again, who they are, and how their devices are.

use super::security::id;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use serde_json::Value;
use std::collections::HashSet;

/// The lists of states of containers, each beside the list of the spec that it is about.
pub(super) const CONTAINERS: [(&str, &str); 2] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
];
const EPHEMERAL: &str = "ephemeralContainerStatuses";
const STATES: [&str; 3] = [CONTAINERS[0].0, CONTAINERS[1].0, EPHEMERAL];
const HEALTH: [&str; 3] = ["Healthy", "Unhealthy", "Unknown"];
const MESSAGE_BYTES_MAX: usize = 1024;

/// Takes out what belongs to a feature that is off: ImageVolumeWithDigest.
pub(super) fn drop_disabled(pod: &mut Value) {
    for states in STATES {
        for state in json::entries(pod, &format!("/status/{states}")) {
            json::entries(state, "/volumeMounts")
                .for_each(|mount| json::assign(mount, "volumeStatus", Value::Null));
        }
    }
}

/// The rules for the states of containers as such.
pub(super) fn validate(pod: &Value, faults: &mut Faults) {
    let status = &pod["status"];
    users(pod, faults);
    for (states, containers) in CONTAINERS {
        for (i, state) in list(&status[states]).iter().enumerate() {
            let container = container_of(state, &pod["spec"][containers]);
            devices(state, container, &format!("status.{states}[{i}]"), faults);
        }
    }
    for (i, state) in list(&status[EPHEMERAL]).iter().enumerate() {
        if !list(&state["allocatedResourcesStatus"]).is_empty() {
            let field = format!("status.{EPHEMERAL}[{i}].allocatedResourcesStatus");
            faults.forbidden(field, "must not be specified in container status");
        }
    }
}

/// The container that a state is about.
fn container_of<'a>(state: &Value, containers: &'a Value) -> Option<&'a Value> {
    list(containers).iter().find(|one| one["name"] == state["name"])
}

/// A container that has ended stays so, unless it may start again.
pub(super) fn transitions(status: &Value, old: &Value, faults: &mut Faults) {
    let spec = &old["spec"];
    let restarts_all = CONTAINERS.iter().any(|(_, containers)| {
        let rules = list(&spec[containers])
            .iter()
            .flat_map(|one| list(&one["restartPolicyRules"]));
        rules
            .into_iter()
            .any(|rule| rule["action"] == "RestartAllContainers")
    });
    for (states, containers) in CONTAINERS.into_iter().chain([(EPHEMERAL, "")]) {
        if restarts_all && states != EPHEMERAL {
            continue;
        }
        for (i, state) in list(&old["status"][states]).iter().enumerate() {
            let Some(ended) = state["state"].get("terminated") else {
                continue;
            };
            let runs = |one: &Value| one["name"] == state["name"] && one["state"].get("terminated").is_none();
            let code = ended["exitCode"].as_i64().unwrap_or_default();
            let container = container_of(state, &spec[containers]);
            if container.is_some_and(|container| may_restart(container, spec, code)) {
                continue;
            }
            let now = list(&status[states]).iter().filter(|one| runs(one));
            // The real server reports temporary containers as often as their names come.
            let most = if states == EPHEMERAL { usize::MAX } else { 1 };
            for _ in now.take(most) {
                let field = format!("status.{states}[{i}].state");
                faults.forbidden(field, "may not be transitioned to non-terminated state");
            }
        }
    }
}

/// Whether a container that ended with that code may run again: by the first of its own rules that is about the code, by its own policy,
/// or by that of the pod.
fn may_restart(container: &Value, spec: &Value, code: i64) -> bool {
    let own = container.get("restartPolicy");
    let is_about = |rule: &&Value| {
        let codes = &rule["exitCodes"];
        let has = list(&codes["values"])
            .iter()
            .any(|value| value.as_i64() == Some(code));
        match string(codes, "operator") {
            "In" => has,
            "NotIn" => !has,
            _ => false,
        }
    };
    let rule = list(&container["restartPolicyRules"]).iter().find(is_about);
    if own.is_some() && rule.is_some_and(|rule| rule["action"] == "Restart") {
        return true;
    }
    match own.or(spec.get("restartPolicy")).and_then(Value::as_str) {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    }
}

/// Who the processes of containers are.
fn users(pod: &Value, faults: &mut Faults) {
    let is_windows = pod["spec"]["os"]["name"] == "windows";
    for states in STATES {
        for (i, state) in list(&pod["status"][states]).iter().enumerate() {
            let (user, at) = (
                &state["user"]["linux"],
                format!("status.{states}[{i}].user.linux"),
            );
            if user.is_null() {
                continue;
            }
            if is_windows {
                faults.forbidden(at, "cannot be set for a windows pod");
                continue;
            }
            for field in ["uid", "gid"] {
                id(&user[field], &format!("{at}.{field}"), faults);
            }
            for (i, group) in list(&user["supplementalGroups"]).iter().enumerate() {
                id(group, &format!("{at}.supplementalGroups[{i}]"), faults);
            }
        }
    }
}

/// The devices that a container has, and how they are.
fn devices(state: &Value, container: Option<&Value>, at: &str, faults: &mut Faults) {
    for (i, resource) in list(&state["allocatedResourcesStatus"]).iter().enumerate() {
        let at = format!("{at}.allocatedResourcesStatus[{i}]");
        let name = string(resource, "name");
        if let Some(why) = container.and_then(|container| stranger(name, container)) {
            faults.invalid(format!("{at}.name"), name, why);
        }
        let mut seen = HashSet::new();
        for (i, device) in list(&resource["resources"]).iter().enumerate() {
            let (at, id) = (format!("{at}.resources[{i}]"), string(device, "resourceID"));
            faults.one_of(&format!("{at}.health"), string(device, "health"), &HEALTH);
            match device["message"].as_str() {
                Some("") => faults.required(format!("{at}.message"), "must be non-empty if specified"),
                Some(text) if text.len() > MESSAGE_BYTES_MAX => {
                    faults.too_long(format!("{at}.message"), MESSAGE_BYTES_MAX);
                }
                _ => {}
            }
            if !seen.insert(id) {
                faults.duplicate(format!("{at}.resourceID"), id);
            }
        }
    }
}

/// Why a container cannot have a resource: it has not asked for it.
fn stranger(resource: &str, container: &Value) -> Option<&'static str> {
    let asked = &container["resources"];
    let is_claim = resource.starts_with("claim:");
    let is_known = if is_claim {
        list(&asked["claims"]).iter().any(|claim| {
            let (name, request) = (string(claim, "name"), string(claim, "request"));
            let request = if request.is_empty() {
                String::new()
            } else {
                format!("/{request}")
            };
            resource == format!("claim:{name}{request}")
        })
    } else {
        asked["requests"].get(resource).is_some()
    };
    let why = if is_claim {
        "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is \
         empty"
    } else {
        "must match one of the container's resource requests"
    };
    (!is_known).then_some(why)
}
