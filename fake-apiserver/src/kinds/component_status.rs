//! ComponentStatus: told when asked for, and never stored. There are no other components, and all is well with them.

use super::{PLAIN, Row};
use crate::kinds::columns::Cell::Of;
use crate::kinds::columns::{AGE, Column, NAME, text};
use crate::machinery::json::{list, string};
use serde_json::{Value, json};

pub(super) static COMPONENT_STATUS: Row = Row {
    kind: "ComponentStatus",
    plural: "componentstatuses",
    singular: "componentstatus",
    short_names: &["cs"],
    namespaced: false,
    deletes_collection: false,
    told: Some(components),
    columns: COLUMNS,
    deprecation: Some((19, "")),
    ..PLAIN
};

static COLUMNS: &[Column] = &[
    NAME,
    text("Status", Of(|o| healthy(o).0.into())),
    text("Message", Of(|o| healthy(o).1.into())),
    text("Error", Of(|_| "".into())),
    AGE,
];

/// The components that the real server asks after.
fn components() -> Vec<Value> {
    let component = |name: &str| {
        json!({
            "kind": "ComponentStatus", "apiVersion": "v1",
            "metadata": {"name": name},
            "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
        })
    };
    ["controller-manager", "etcd-0", "scheduler"]
        .map(component)
        .to_vec()
}

/// Whether a component is well, and what it says.
fn healthy(component: &Value) -> (&'static str, String) {
    let found = list(&component["conditions"]).iter();
    let found = found.rev().find(|condition| condition["type"] == "Healthy");
    let state = match found.map(|condition| &condition["status"]) {
        Some(status) if status == "True" => "Healthy",
        Some(status) if status == "False" => "Unhealthy",
        _ => "Unknown",
    };
    let message = found.map(|condition| string(condition, "message"));
    (state, message.unwrap_or_default().to_owned())
}
