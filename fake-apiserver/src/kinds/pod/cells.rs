//! What `kubectl get pods` shows.

use crate::kinds::columns::count;
use crate::machinery::{json, metadata};
use serde_json::Value;

pub(super) fn ready(pod: &Value) -> Value {
    let statuses = json::list(&pod["status"]["containerStatuses"]).iter();
    let ready = statuses.filter(|status| status["ready"] == true).count();
    format!("{ready}/{}", count(&pod["spec"]["containers"])).into()
}

pub(super) fn restarts(pod: &Value) -> Value {
    let statuses = json::list(&pod["status"]["containerStatuses"]).iter();
    let restarts: i64 = statuses
        .filter_map(|status| status["restartCount"].as_i64())
        .sum();
    restarts.to_string().into()
}

pub(super) fn status(pod: &Value) -> Value {
    if metadata::is_deleting(pod) {
        return "Terminating".into();
    }
    let mut conditions = json::list(&pod["status"]["conditions"]).iter();
    if conditions.any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated") {
        return "SchedulingGated".into();
    }
    let reason = pod["status"]["reason"].as_str();
    reason
        .or(pod["status"]["phase"].as_str())
        .unwrap_or_default()
        .into()
}
