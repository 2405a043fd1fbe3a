//! Reading and setting conditions of CRDs. Does not know which conditions exist, nor when conditions change.

use fake_apiserver::extension::json;
use serde_json::{Value, json};

/// Whether the CRD has the condition `of` with status `True`.
pub(crate) fn is_true(definition: &Value, of: &str) -> bool {
    let mut conditions = json::list(&definition["status"]["conditions"]).iter();
    conditions.any(|condition| condition["type"] == of && condition["status"] == "True")
}

/// A CRD condition, without `lastTransitionTime`.
pub(crate) fn condition(of: &str, is_so: bool, reason: &str, message: &str) -> Value {
    let status = if is_so { "True" } else { "False" };
    json!({"type": of, "status": status, "reason": reason, "message": message})
}

/// Sets a condition of a CRD. `lastTransitionTime` changes only if the status of the condition changes.
pub(crate) fn set_condition(definition: &mut Value, mut condition: Value, now: &str) {
    let status = json::member(definition, "status");
    let list = status.entry("conditions").or_insert(Value::Null);
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    let known = list.iter_mut().find(|known| known["type"] == condition["type"]);
    let since = known
        .as_ref()
        .filter(|known| known["status"] == condition["status"]);
    condition["lastTransitionTime"] =
        since.map_or_else(|| now.into(), |known| known["lastTransitionTime"].clone());
    match known {
        Some(known) => *known = condition,
        None => list.push(condition),
    }
}
