//! Validation of container statuses: which terminated containers may be restarted.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::list;
use serde_json::Value;

/// The lists of container statuses, each with the corresponding list of containers in the spec.
pub(super) const CONTAINERS: [(&str, &str); 2] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
];
const EPHEMERAL: &str = "ephemeralContainerStatuses";

fn container_of<'a>(state: &Value, containers: &'a Value) -> Option<&'a Value> {
    list(containers).iter().find(|one| one["name"] == state["name"])
}

/// A terminated container must remain terminated, unless its restart policy allows a restart.
pub(super) fn validate_restarts(status: &Value, old: &Value, errors: &mut ErrorList) {
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
            // For ephemeral containers, kube-apiserver repeats the error once for each container status with the same container name.
            let most = if states == EPHEMERAL { usize::MAX } else { 1 };
            for _ in now.take(most) {
                let field = format!("status.{states}[{i}].state");
                errors.forbidden(field, "may not be transitioned to non-terminated state");
            }
        }
    }
}

/// Whether a container that exited with `code` may be restarted, by the restart policy of the container or, if unset, of the pod.
fn may_restart(container: &Value, spec: &Value, code: i64) -> bool {
    let own = container.get("restartPolicy");
    match own.or(spec.get("restartPolicy")).and_then(Value::as_str) {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    }
}
