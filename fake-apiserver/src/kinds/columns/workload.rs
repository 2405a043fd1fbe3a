//! Rows of workloads and their companions.

use super::{AGE, Column, NAME, Printer, age, integer, name, or, selector_text, text, wide};
use crate::machinery::json;
use serde_json::{Value, json};

/// A number from the object, 0 where it is not set.
fn number(object: &Value, pointer: &str) -> Value {
    json!(
        object
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    )
}

/// One field of all containers of the template.
pub(super) fn containers_of(object: &Value, field: &str) -> Value {
    let list = object["spec"]["template"]["spec"]["containers"]
        .as_array()
        .into_iter()
        .flatten();
    json!(
        list.filter_map(|c| c[field].as_str())
            .collect::<Vec<_>>()
            .join(",")
    )
}

fn selector(object: &Value) -> Value {
    selector_text(&object["spec"]["selector"])
}

pub(super) const CONTAINERS: Column = wide("Containers");
pub(super) const IMAGES: Column = wide("Images");
pub(super) const SELECTOR: Column = wide("Selector");

pub(crate) static SCALE: Printer = Printer {
    columns: &[NAME, integer("Desired"), integer("Available"), AGE],
    row: |o, now| {
        vec![
            name(o),
            number(o, "/spec/replicas"),
            number(o, "/status/replicas"),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static REPLICA_SET: Printer = Printer {
    columns: &[
        NAME,
        integer("Desired"),
        integer("Current"),
        integer("Ready"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    row: |o, now| {
        vec![
            name(o),
            number(o, "/spec/replicas"),
            number(o, "/status/replicas"),
            number(o, "/status/readyReplicas"),
            age(o, now),
            containers_of(o, "name"),
            containers_of(o, "image"),
            selector(o),
        ]
    },
    null_when_empty: false,
};

pub(crate) static DEPLOYMENT: Printer = Printer {
    columns: &[
        NAME,
        text("Ready"),
        text("Up-to-date"),
        text("Available"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    row: |o, now| {
        vec![
            name(o),
            json!(format!(
                "{}/{}",
                number(o, "/status/readyReplicas"),
                number(o, "/spec/replicas")
            )),
            number(o, "/status/updatedReplicas"),
            number(o, "/status/availableReplicas"),
            age(o, now),
            containers_of(o, "name"),
            containers_of(o, "image"),
            selector(o),
        ]
    },
    null_when_empty: false,
};

pub(crate) static STATEFUL_SET: Printer = Printer {
    columns: &[NAME, text("Ready"), AGE, CONTAINERS, IMAGES],
    row: |o, now| {
        vec![
            name(o),
            json!(format!(
                "{}/{}",
                number(o, "/status/readyReplicas"),
                number(o, "/spec/replicas")
            )),
            age(o, now),
            containers_of(o, "name"),
            containers_of(o, "image"),
        ]
    },
    null_when_empty: false,
};

pub(crate) static DAEMON_SET: Printer = Printer {
    columns: &[
        NAME,
        integer("Desired"),
        integer("Current"),
        integer("Ready"),
        integer("Up-to-date"),
        integer("Available"),
        text("Node Selector"),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    row: |o, now| {
        let nodes = &o["spec"]["template"]["spec"]["nodeSelector"];
        let nodes: Vec<String> = json::pairs(nodes).map(|(k, v)| format!("{k}={v}")).collect();
        vec![
            name(o),
            number(o, "/status/desiredNumberScheduled"),
            number(o, "/status/currentNumberScheduled"),
            number(o, "/status/numberReady"),
            number(o, "/status/updatedNumberScheduled"),
            number(o, "/status/numberAvailable"),
            or(&nodes.join(","), "<none>"),
            age(o, now),
            containers_of(o, "name"),
            containers_of(o, "image"),
            selector(o),
        ]
    },
    null_when_empty: false,
};

pub(crate) static SERVICE: Printer = Printer {
    columns: &[
        NAME,
        text("Type"),
        text("Cluster-IP"),
        text("External-IP"),
        text("Port(s)"),
        AGE,
        SELECTOR,
    ],
    row: |o, now| {
        let ports = o["spec"]["ports"].as_array().into_iter().flatten();
        let ports: Vec<String> = ports
            .map(|p| {
                format!(
                    "{}/{}",
                    p["port"].as_i64().unwrap_or_default(),
                    p["protocol"].as_str().unwrap_or("TCP")
                )
            })
            .collect();
        vec![
            name(o),
            or(o["spec"]["type"].as_str().unwrap_or_default(), "ClusterIP"),
            or(o["spec"]["clusterIP"].as_str().unwrap_or_default(), "<none>"),
            or(&json::texts(&o["spec"]["externalIPs"]).join(","), "<none>"),
            or(&ports.join(","), "<none>"),
            age(o, now),
            selector(o),
        ]
    },
    null_when_empty: false,
};

pub(crate) static POD_DISRUPTION_BUDGET: Printer = Printer {
    columns: &[
        NAME,
        text("Min Available"),
        text("Max Unavailable"),
        integer("Allowed Disruptions"),
        AGE,
    ],
    row: |o, now| {
        let bound = |field: &str| match &o["spec"][field] {
            Value::Null => json!("N/A"),
            Value::String(text) => json!(text),
            other => json!(other.to_string()),
        };
        vec![
            name(o),
            bound("minAvailable"),
            bound("maxUnavailable"),
            number(o, "/status/disruptionsAllowed"),
            age(o, now),
        ]
    },
    null_when_empty: false,
};
