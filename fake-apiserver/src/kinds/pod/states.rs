//! The rules for the states of a pod's containers: which of those that ended may run again.

use crate::machinery::faults::Faults;
use crate::machinery::json::list;
use serde_json::Value;

/// The lists of states of containers, each beside the list of the spec that it is about.
pub(super) const CONTAINERS: [(&str, &str); 2] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
];
const EPHEMERAL: &str = "ephemeralContainerStatuses";

/// The container that a state is about.
fn container_of<'a>(state: &Value, containers: &'a Value) -> Option<&'a Value> {
    list(containers).iter().find(|one| one["name"] == state["name"])
}

/// A container that has ended stays so, unless it may start again.
pub(super) fn transitions(status: &Value, old: &Value, faults: &mut Faults) {
    let spec = &old["spec"];
    for (states, containers) in CONTAINERS.into_iter().chain([(EPHEMERAL, "")]) {
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

/// Whether a container that ended with that code may run again, by its own policy or by that of the pod.
fn may_restart(container: &Value, spec: &Value, code: i64) -> bool {
    let own = container.get("restartPolicy");
    match own.or(spec.get("restartPolicy")).and_then(Value::as_str) {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    }
}
