//! Cells of `kubectl get pods` that summarize the states of a pod's containers.

use crate::kinds::ages::since;
use crate::kinds::columns::condition;
use crate::machinery::{json, metadata};
use jiff::Timestamp;
use serde_json::Value;

const NODE_LOST: &str = "NodeLost";

/// The READY cell: `ready/total` of containers and sidecars.
pub(super) fn ready(pod: &Value) -> Value {
    let seen = ContainerSummary::of(pod);
    let sidecars = json::list(&pod["spec"]["initContainers"]).iter();
    let all = json::list(&pod["spec"]["containers"]).len() + sidecars.filter(|one| is_sidecar(one)).count();
    format!("{}/{all}", seen.ready).into()
}

/// The RESTARTS cell: the number of container restarts, and the age of the last restart.
pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let Restarts { times, last } = ContainerSummary::of(pod).restarts;
    match last {
        Some(last) if times != 0 => format!("{times} ({} ago)", since(last, now)).into(),
        _ => times.to_string().into(),
    }
}

/// The STATUS cell: the phase, or a more specific reason.
pub(super) fn status(pod: &Value) -> Value {
    let (phase, reason) = (&pod["status"]["phase"], &pod["status"]["reason"]);
    let is_over = phase == "Succeeded" || phase == "Failed";
    match metadata::is_deleting(pod) {
        true if reason == NODE_LOST => "Unknown".into(),
        true if !is_over => "Terminating".into(),
        _ => ContainerSummary::of(pod).status.into(),
    }
}

/// What the READY, RESTARTS and STATUS cells show, collected from the container statuses of a pod.
#[derive(Default)]
struct ContainerSummary<'a> {
    ready: usize,
    restarts: Restarts<'a>,
    status: String,
}

#[derive(Default)]
struct Restarts<'a> {
    times: i64,
    last: Option<&'a str>,
}

impl<'a> Restarts<'a> {
    fn count(&mut self, status: &'a Value) {
        self.times += status["restartCount"].as_i64().unwrap_or_default();
        let last = status["lastState"]["terminated"]["finishedAt"].as_str();
        // RFC 3339 timestamps in one format sort as text in the order of their times.
        self.last = self.last.max(last);
    }
}

impl<'a> ContainerSummary<'a> {
    fn of(pod: &'a Value) -> Self {
        let mut seen = ContainerSummary {
            status: status_without_containers(pod),
            ..ContainerSummary::default()
        };
        let is_initializing = seen.look_at_init_containers(pod);
        if !is_initializing || has_condition(pod, "Initialized") {
            seen.look_at_containers(pod);
        }
        seen
    }

    /// Counts ready sidecars and restarts of init containers. Returns whether an init container has not completed.
    fn look_at_init_containers(&mut self, pod: &'a Value) -> bool {
        let containers = json::list(&pod["spec"]["initContainers"]);
        let mut of_sidecars = Restarts::default();
        for (i, status) in json::list(&pod["status"]["initContainerStatuses"])
            .iter()
            .enumerate()
        {
            let mut named = containers.iter().filter(|one| one["name"] == status["name"]);
            let is_sidecar = named.any(is_sidecar);
            self.restarts.count(status);
            if is_sidecar {
                of_sidecars.count(status);
            }
            let state = &status["state"];
            if state["terminated"].is_object() && exit_code(state) == 0 {
                continue;
            }
            if is_sidecar && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            let waits_for = state["waiting"]["reason"].as_str().unwrap_or_default();
            self.status = match () {
                () if state["terminated"].is_object() => format!("Init:{}", termination_reason(state)),
                () if !["", "PodInitializing"].contains(&waits_for) => format!("Init:{waits_for}"),
                () => format!("Init:{i}/{}", containers.len()),
            };
            return true;
        }
        // After initialization, restarts of init containers are counted only for sidecars.
        self.restarts = of_sidecars;
        false
    }

    fn look_at_containers(&mut self, pod: &'a Value) {
        let (mut is_running, mut error) = (false, None);
        for status in json::list(&pod["status"]["containerStatuses"]).iter().rev() {
            self.restarts.count(status);
            let state = &status["state"];
            let waits_for = state["waiting"]["reason"].as_str().unwrap_or_default();
            if !waits_for.is_empty() {
                waits_for.clone_into(&mut self.status);
            } else if state["terminated"].is_object() {
                self.status = termination_reason(state);
                if exit_code(state) != 0 {
                    error = Some(self.status.clone());
                }
            } else if status["ready"] == true && state["running"].is_object() {
                is_running = true;
                self.ready += 1;
            }
        }
        if self.status == "Completed" {
            let instead = match error {
                _ if is_running && has_condition(pod, "Ready") => Some("Running".to_owned()),
                None if is_running => Some("NotReady".to_owned()),
                error => error,
            };
            self.status = instead.unwrap_or_else(|| "Completed".to_owned());
        }
    }
}

fn status_without_containers(pod: &Value) -> String {
    let scheduled = condition(pod, "PodScheduled");
    if scheduled.is_some_and(|condition| condition["reason"] == "SchedulingGated") {
        return "SchedulingGated".to_owned();
    }
    let texts = ["reason", "phase"].map(|field| json::string(&pod["status"], field));
    let text = texts.into_iter().find(|text| !text.is_empty());
    text.unwrap_or_default().to_owned()
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn has_condition(pod: &Value, of: &str) -> bool {
    condition(pod, of).is_some_and(|condition| condition["status"] == "True")
}

fn exit_code(state: &Value) -> i64 {
    state["terminated"]["exitCode"].as_i64().unwrap_or_default()
}

fn termination_reason(state: &Value) -> String {
    let reason = json::string(&state["terminated"], "reason");
    let signal = state["terminated"]["signal"].as_i64().unwrap_or_default();
    match (reason, signal) {
        ("", 0) => format!("ExitCode:{}", exit_code(state)),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: &str = "2026-01-01T00:10:00Z";

    /// The READY, STATUS and RESTARTS cells.
    fn cells(spec: &Value, state: &Value) -> [String; 3] {
        let pod = json!({"metadata": {"name": "p"}, "spec": spec, "status": state});
        let now = NOW.parse().expect("a timestamp");
        [ready(&pod), status(&pod), restarts(&pod, now)].map(|cell| cell.as_str().expect("string").to_owned())
    }

    #[test]
    fn pods_without_container_statuses_show_their_phase() {
        let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        assert_eq!(
            cells(&spec, &json!({"phase": "Pending"})),
            ["0/2", "Pending", "0"]
        );
        let gated = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]});
        assert_eq!(cells(&spec, &gated), ["0/2", "SchedulingGated", "0"]);
    }

    #[test]
    fn sidecars_count_as_containers_and_pending_init_containers_set_the_status() {
        let spec = json!({"containers": [{"name": "a"}],
            "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]});
        let sidecar = json!({"name": "s", "started": true, "ready": true, "restartCount": 2,
            "lastState": {"terminated": {"finishedAt": "2026-01-01T00:05:00Z"}}, "state": {"running": {}}});
        for (state, status) in [
            (json!({"running": {}}), "Init:1/2"),
            (
                json!({"waiting": {"reason": "CrashLoopBackOff"}}),
                "Init:CrashLoopBackOff",
            ),
            (json!({"terminated": {"exitCode": 3}}), "Init:ExitCode:3"),
        ] {
            let shown = json!({"phase": "Pending", "initContainerStatuses": [sidecar, {"name": "i", "state": state}]});
            assert_eq!(cells(&spec, &shown), ["1/2", status, "2 (5m ago)"]);
        }
        let done = json!({"name": "i", "restartCount": 7, "state": {"terminated": {"exitCode": 0}}});
        let shown = json!({"phase": "Running", "initContainerStatuses": [sidecar, done],
            "containerStatuses": [{"name": "a", "ready": true, "state": {"running": {}}}]});
        assert_eq!(cells(&spec, &shown), ["2/2", "Running", "2 (5m ago)"]);
    }

    #[test]
    fn terminated_containers_show_reason_exit_code_or_signal() {
        let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        let ended =
            |code: i64, reason: &str| json!({"state": {"terminated": {"exitCode": code, "reason": reason}}});
        let runs = json!({"ready": true, "state": {"running": {}}});
        for (first, second, status) in [
            (ended(0, "Completed"), ended(0, "Completed"), "Completed"),
            (ended(0, "Completed"), ended(1, "Error"), "Error"),
            (ended(0, "Completed"), runs, "NotReady"),
            (ended(2, ""), ended(0, ""), "ExitCode:2"),
        ] {
            let shown = json!({"phase": "Running", "containerStatuses": [first, second]});
            assert_eq!(cells(&spec, &shown)[1], status);
        }
    }
}
