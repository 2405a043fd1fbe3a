//! What `kubectl get` shows: the columns of each kind and how a row is filled.
//!
//! Owns the cells. The envelope of a table is made where answers are rendered. Ages are relative to the time of the
//! request, as in the real server.

use crate::meta;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Columns and rows of one kind.
pub(crate) struct Printer {
    pub(crate) columns: &'static [Column],
    /// The cells of one object, one per column; the time is that of the request.
    pub(crate) row: fn(&Value, Timestamp) -> Vec<Value>,
    /// An empty list has `rows: null`: the kind has no printer of its own in the real server.
    pub(crate) null_when_empty: bool,
}

/// One column: name, JSON type, format, priority (1: only with `-o wide`).
pub(crate) struct Column(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) u8,
);

const NAME: Column = Column("Name", "string", "name", 0);
const AGE: Column = text("Age");

const fn text(name: &'static str) -> Column {
    Column(name, "string", "", 0)
}

const fn wide(name: &'static str) -> Column {
    Column(name, "string", "", 1)
}

const fn integer(name: &'static str) -> Column {
    Column(name, "integer", "", 0)
}

const fn boolean(name: &'static str) -> Column {
    Column(name, "boolean", "", 0)
}

pub(crate) static NAME_AND_AGE: Printer = Printer {
    columns: &[NAME, AGE],
    row: |o, now| vec![name(o), age(o, now)],
    null_when_empty: false,
};

/// The table of kinds without a printer.
pub(crate) static NAME_AND_CREATION: Printer = Printer {
    columns: &[NAME, Column("Created At", "date", "", 0)],
    row: |o, _| vec![name(o), at(o, "/metadata/creationTimestamp")],
    null_when_empty: true,
};

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

pub(crate) static CSI_DRIVER: Printer = Printer {
    columns: &[
        NAME,
        boolean("AttachRequired"),
        boolean("PodInfoOnMount"),
        boolean("StorageCapacity"),
        text("TokenRequests"),
        boolean("RequiresRepublish"),
        text("Modes"),
        AGE,
    ],
    row: |o, now| {
        let spec = &o["spec"];
        let audiences: Vec<&str> = spec["tokenRequests"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|t| t["audience"].as_str())
            .collect();
        vec![
            name(o),
            spec["attachRequired"].clone(),
            spec["podInfoOnMount"].clone(),
            spec["storageCapacity"].clone(),
            or(&audiences.join(","), "<unset>"),
            spec["requiresRepublish"].clone(),
            json!(meta::texts(&spec["volumeLifecycleModes"]).join(",")),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static CSI_NODE: Printer = Printer {
    columns: &[NAME, integer("Drivers"), AGE],
    row: |o, now| vec![name(o), json!(count(&o["spec"]["drivers"])), age(o, now)],
    null_when_empty: false,
};

pub(crate) static STORAGE_CLASS: Printer = Printer {
    columns: &[
        NAME,
        text("Provisioner"),
        text("ReclaimPolicy"),
        text("VolumeBindingMode"),
        text("AllowVolumeExpansion"),
        AGE,
    ],
    row: |o, now| {
        let default = o["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
        vec![
            json!(format!(
                "{}{}",
                meta::text(o, "name"),
                if default { " (default)" } else { "" }
            )),
            at(o, "/provisioner"),
            at(o, "/reclaimPolicy"),
            at(o, "/volumeBindingMode"),
            json!(o["allowVolumeExpansion"].as_bool().unwrap_or_default()),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static VOLUME_ATTACHMENT: Printer = Printer {
    columns: &[
        NAME,
        Column("Attacher", "string", "name", 0),
        text("PV"),
        text("Node"),
        boolean("Attached"),
        AGE,
    ],
    row: |o, now| {
        vec![
            name(o),
            at(o, "/spec/attacher"),
            at(o, "/spec/source/persistentVolumeName"),
            at(o, "/spec/nodeName"),
            json!(o["status"]["attached"].as_bool().unwrap_or_default()),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static CLAIM: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Volume"),
        text("Capacity"),
        text("Access Modes"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        AGE,
        wide("VolumeMode"),
    ],
    row: |o, now| {
        let bound = !o["spec"]["volumeName"].as_str().unwrap_or_default().is_empty();
        let phase = if meta::is_deleting(o) {
            json!("Terminating")
        } else {
            at(o, "/status/phase")
        };
        vec![
            name(o),
            phase,
            at(o, "/spec/volumeName"),
            if bound {
                at(o, "/status/capacity/storage")
            } else {
                json!("")
            },
            json!(if bound {
                modes(&o["status"]["accessModes"])
            } else {
                String::new()
            }),
            at(o, "/spec/storageClassName"),
            or(
                o["spec"]["volumeAttributesClassName"]
                    .as_str()
                    .unwrap_or_default(),
                "<unset>",
            ),
            age(o, now),
            or(o["spec"]["volumeMode"].as_str().unwrap_or_default(), "<unset>"),
        ]
    },
    null_when_empty: false,
};

pub(crate) static VOLUME: Printer = Printer {
    columns: &[
        NAME,
        text("Capacity"),
        text("Access Modes"),
        text("Reclaim Policy"),
        text("Status"),
        text("Claim"),
        text("StorageClass"),
        text("VolumeAttributesClass"),
        text("Reason"),
        AGE,
        wide("VolumeMode"),
    ],
    row: |o, now| {
        let claim = &o["spec"]["claimRef"];
        let claim = match claim["name"].as_str() {
            Some(name) => format!("{}/{name}", claim["namespace"].as_str().unwrap_or_default()),
            None => String::new(),
        };
        let phase = if meta::is_deleting(o) {
            json!("Terminating")
        } else {
            at(o, "/status/phase")
        };
        vec![
            name(o),
            at(o, "/spec/capacity/storage"),
            json!(modes(&o["spec"]["accessModes"])),
            at(o, "/spec/persistentVolumeReclaimPolicy"),
            phase,
            json!(claim),
            at(o, "/spec/storageClassName"),
            or(
                o["spec"]["volumeAttributesClassName"]
                    .as_str()
                    .unwrap_or_default(),
                "<unset>",
            ),
            at(o, "/status/reason"),
            age(o, now),
            or(o["spec"]["volumeMode"].as_str().unwrap_or_default(), "<unset>"),
        ]
    },
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
    let labels = meta::pairs(&node["metadata"]["labels"]);
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

/// A number from the object, 0 where it is not set.
fn number(object: &Value, pointer: &str) -> Value {
    json!(
        object
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    )
}

fn containers(object: &Value, field: &str) -> Value {
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
    let selector = &object["spec"]["selector"];
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let text: Vec<String> = meta::pairs(labels).map(|(k, v)| format!("{k}={v}")).collect();
    or(&text.join(","), "<none>")
}

const CONTAINERS: Column = wide("Containers");
const IMAGES: Column = wide("Images");
const SELECTOR: Column = wide("Selector");

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
            containers(o, "name"),
            containers(o, "image"),
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
            containers(o, "name"),
            containers(o, "image"),
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
            containers(o, "name"),
            containers(o, "image"),
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
        let nodes: Vec<String> = meta::pairs(nodes).map(|(k, v)| format!("{k}={v}")).collect();
        vec![
            name(o),
            number(o, "/status/desiredNumberScheduled"),
            number(o, "/status/currentNumberScheduled"),
            number(o, "/status/numberReady"),
            number(o, "/status/updatedNumberScheduled"),
            number(o, "/status/numberAvailable"),
            or(&nodes.join(","), "<none>"),
            age(o, now),
            containers(o, "name"),
            containers(o, "image"),
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
            or(&meta::texts(&o["spec"]["externalIPs"]).join(","), "<none>"),
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

fn name(object: &Value) -> Value {
    meta::text(object, "name").into()
}

/// A text from the object, empty where there is none.
fn at(object: &Value, pointer: &str) -> Value {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .into()
}

fn or(text: &str, instead: &str) -> Value {
    if text.is_empty() {
        instead.into()
    } else {
        text.into()
    }
}

fn count(value: &Value) -> usize {
    value
        .as_array()
        .map_or_else(|| value.as_object().map_or(0, serde_json::Map::len), Vec::len)
}

fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(meta::text(object, "creationTimestamp"), now))
}

/// Short names of access modes.
fn modes(list: &Value) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = meta::texts(list);
    short
        .iter()
        .filter(|(long, _)| modes.contains(long))
        .map(|(_, s)| *s)
        .collect::<Vec<_>>()
        .join(",")
}

/// The time since `from` in the two largest units that tell something, as `kubectl` shows ages.
fn since(from: &str, now: Timestamp) -> String {
    let Ok(from) = from.parse::<Timestamp>() else {
        return "<unknown>".to_owned();
    };
    let seconds = now.as_second() - from.as_second();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, lower: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{lower}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}
