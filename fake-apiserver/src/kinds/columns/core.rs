//! Rows of the small core kinds, nodes, pods and events.

use super::{AGE, Column, NAME, Printer, age, at, count, name, or, since, text, wide};
use crate::machinery::json;
use crate::machinery::meta;
use serde_json::{Value, json};

pub(crate) static CONFIG_MAP: Printer = Printer {
    columns: &[NAME, text("Data"), AGE],
    row: |o, now| {
        vec![
            name(o),
            json!(count(&o["data"]) + count(&o["binaryData"])),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static NAMESPACE: Printer = Printer {
    columns: &[NAME, text("Status"), AGE],
    row: |o, now| vec![name(o), at(o, "/status/phase"), age(o, now)],
    null_when_empty: false,
};

pub(crate) static LEASE: Printer = Printer {
    columns: &[NAME, text("Holder"), AGE],
    row: |o, now| vec![name(o), at(o, "/spec/holderIdentity"), age(o, now)],
    null_when_empty: false,
};

pub(crate) static NODE: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Roles"),
        AGE,
        text("Version"),
        wide("Internal-IP"),
        wide("External-IP"),
        wide("OS-Image"),
        wide("Kernel-Version"),
        wide("Container-Runtime"),
    ],
    row: |o, now| {
        let info = &o["status"]["nodeInfo"];
        let unknown = |field: &str| or(info[field].as_str().unwrap_or_default(), "<unknown>");
        vec![
            name(o),
            json!(node_status(o)),
            or(&node_roles(o), "<none>"),
            age(o, now),
            at(info, "/kubeletVersion"),
            or(node_address(o, "InternalIP"), "<none>"),
            or(node_address(o, "ExternalIP"), "<none>"),
            unknown("osImage"),
            unknown("kernelVersion"),
            unknown("containerRuntimeVersion"),
        ]
    },
    null_when_empty: false,
};

fn node_status(node: &Value) -> String {
    let ready = node["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Ready");
    let word = match ready {
        None => "Unknown",
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
    };
    let cordoned = node["spec"]["unschedulable"] == true;
    format!("{word}{}", if cordoned { ",SchedulingDisabled" } else { "" })
}

fn node_roles(node: &Value) -> String {
    let labels = json::pairs(&node["metadata"]["labels"]);
    let roles: Vec<&str> = labels
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                None if key == "kubernetes.io/role" => Some(value),
                role => role,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    roles.join(",")
}

fn node_address<'a>(node: &'a Value, of: &str) -> &'a str {
    let addresses = node["status"]["addresses"].as_array().into_iter().flatten();
    addresses
        .filter(|a| a["type"] == of)
        .find_map(|a| a["address"].as_str())
        .unwrap_or_default()
}

pub(crate) static POD: Printer = Printer {
    columns: &[
        NAME,
        text("Ready"),
        text("Status"),
        text("Restarts"),
        AGE,
        wide("IP"),
        wide("Node"),
        wide("Nominated Node"),
        wide("Readiness Gates"),
    ],
    row: |o, now| {
        let statuses = o["status"]["containerStatuses"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let ready = statuses.iter().filter(|s| s["ready"] == true).count();
        let restarts: i64 = statuses.iter().filter_map(|s| s["restartCount"].as_i64()).sum();
        let none = |pointer: &str| {
            or(
                o.pointer(pointer).and_then(Value::as_str).unwrap_or_default(),
                "<none>",
            )
        };
        vec![
            name(o),
            json!(format!("{ready}/{}", count(&o["spec"]["containers"]))),
            json!(pod_status(o)),
            json!(restarts.to_string()),
            age(o, now),
            none("/status/podIP"),
            none("/spec/nodeName"),
            none("/status/nominatedNodeName"),
            json!("<none>"),
        ]
    },
    null_when_empty: false,
};

fn pod_status(pod: &Value) -> &str {
    if meta::is_deleting(pod) {
        return "Terminating";
    }
    let gated = pod["status"]["conditions"].as_array().into_iter().flatten();
    let gated = gated
        .filter(|c| c["type"] == "PodScheduled")
        .any(|c| c["reason"] == "SchedulingGated");
    let reason = pod["status"]["reason"].as_str();
    if gated {
        "SchedulingGated"
    } else {
        reason.or(pod["status"]["phase"].as_str()).unwrap_or_default()
    }
}

pub(crate) static EVENT: Printer = Printer {
    columns: &[
        text("Last Seen"),
        text("Type"),
        text("Reason"),
        text("Object"),
        wide("Subobject"),
        wide("Source"),
        text("Message"),
        wide("First Seen"),
        wide("Count"),
        Column("Name", "string", "name", 1),
    ],
    row: |o, now| {
        let time = |fields: &[&str]| {
            let found = fields.iter().find_map(|f| o.pointer(f).and_then(Value::as_str));
            json!(found.map_or_else(|| "<unknown>".to_owned(), |t| since(t, now)))
        };
        let of = &o["involvedObject"];
        let kind = of["kind"].as_str().unwrap_or_default().to_lowercase();
        let component = o["source"]["component"]
            .as_str()
            .or(o["reportingComponent"].as_str())
            .unwrap_or_default();
        vec![
            time(&["/series/lastObservedTime", "/lastTimestamp", "/eventTime"]),
            at(o, "/type"),
            at(o, "/reason"),
            json!(format!("{kind}/{}", of["name"].as_str().unwrap_or_default())),
            at(of, "/fieldPath"),
            json!(component),
            json!(o["message"].as_str().unwrap_or_default().trim()),
            time(&["/firstTimestamp", "/eventTime"]),
            json!(
                o["series"]["count"]
                    .as_i64()
                    .or(o["count"].as_i64())
                    .unwrap_or(1)
                    .max(1)
                    .to_string()
            ),
            name(o),
        ]
    },
    null_when_empty: false,
};
