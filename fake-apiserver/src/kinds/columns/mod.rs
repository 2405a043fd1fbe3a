//! What `kubectl get` shows: the columns of each kind and how a row is filled.
//!
//! Owns the cells; one file per family of kinds. The envelope of a table is made where answers are rendered. Ages are
//! relative to the time of the request, as in the real server.

mod batch;
mod config;
mod core;
mod network;
mod policy;
mod rbac;
mod storage;
mod workload;

pub(crate) use batch::{AUTOSCALER, CRON_JOB, JOB};
pub(crate) use config::{CONTROLLER_REVISION, ENDPOINTS, POD_TEMPLATE, RESOURCE_QUOTA, SECRET};
pub(crate) use core::{CONFIG_MAP, EVENT, LEASE, NAMESPACE, NODE, POD};
pub(crate) use network::{ENDPOINT_SLICE, INGRESS, INGRESS_CLASS, IP_ADDRESS, NETWORK_POLICY, SERVICE_CIDR};
pub(crate) use policy::{
    API_SERVICE, FLOW_SCHEMA, MUTATING_POLICY, POLICY_BINDING, PRIORITY_CLASS, PRIORITY_LEVEL,
    RESOURCE_CLAIM, RESOURCE_SLICE, RUNTIME_CLASS, SIGNING_REQUEST, VALIDATING_POLICY,
    VOLUME_ATTRIBUTES_CLASS, WEBHOOKS,
};
pub(crate) use rbac::BINDING;
pub(crate) use storage::{CLAIM, CSI_DRIVER, CSI_NODE, STORAGE_CLASS, VOLUME, VOLUME_ATTACHMENT};
pub(crate) use workload::{
    DAEMON_SET, DEPLOYMENT, POD_DISRUPTION_BUDGET, REPLICA_SET, SCALE, SERVICE, STATEFUL_SET,
};

use crate::machinery::json;
use crate::machinery::meta;
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

/// A selector of labels, or its labels alone, as one text.
fn selector_text(selector: &Value) -> Value {
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let text: Vec<String> = json::pairs(labels).map(|(k, v)| format!("{k}={v}")).collect();
    or(&text.join(","), "<none>")
}

fn count(value: &Value) -> usize {
    value
        .as_array()
        .map_or_else(|| value.as_object().map_or(0, serde_json::Map::len), Vec::len)
}

fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(meta::text(object, "creationTimestamp"), now))
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
