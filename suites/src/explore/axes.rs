//! Coverage of exploration: how many generated histories (a cluster and its events) had which value on each axis.

use std::collections::{BTreeMap, BTreeSet};

use harness::scenario::Role;
use serde::Serialize;
use serde_json::{Value, json};

use super::cluster::{Binding, GeneratedCluster};
use super::event::Event;
use super::focus::Focus;
use super::history::History;
use super::state::GATE;

/// For each axis (a property of a generated history) and value, the number of histories that had the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes(BTreeMap<&'static str, BTreeMap<String, u64>>);

impl Axes {
    /// Counts the axis values of one history.
    pub(super) fn add(&mut self, values: BTreeSet<(&'static str, String)>) {
        for (axis, value) in values {
            *self.0.entry(axis).or_default().entry(value).or_default() += 1;
        }
    }

    /// Each axis with its values, and the number of histories per value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &BTreeMap<String, u64>)> {
        self.0.iter().map(|(axis, values)| (*axis, values))
    }

    /// Number of distinct values, summed over all axes.
    pub fn count_values(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }
}

/// The axis values of a history, such as `event: node added`.
pub(super) fn axis_values(focus: &Focus, history: &History) -> BTreeSet<(&'static str, String)> {
    let cluster = &history.cluster;
    let mut values = BTreeSet::from([("focus", focus.name.to_owned())]);
    let mut add = |axis, value: &str| {
        values.insert((axis, value.to_owned()));
    };
    if focus.has(Role::Publisher) {
        add("mode", cluster.mode.as_str());
    }
    add("release", cluster.release.as_deref().unwrap_or("newest"));
    add("gate", on_off(cluster.gates.get(GATE).copied()));
    add("metrics", if cluster.metrics { "read" } else { "not read" });
    add("topology", topology(cluster));
    add("nodes", &cluster.nodes.len().to_string());
    add("classes", &cluster.classes.len().to_string());
    add("flag", storage_capacity_value(cluster));
    for class in class_kinds(cluster) {
        add("class", class);
    }
    for prior in prior_kinds(cluster) {
        add("prior", prior);
    }
    for extender in &cluster.extenders {
        let settings = json!(extender);
        for name in settings.as_object().into_iter().flat_map(|it| it.keys()) {
            add("extender", name);
        }
    }
    for (axis, settings) in [
        ("publisher", json!(cluster.publisher)),
        ("scheduler", json!(cluster.scheduler)),
    ] {
        for name in settings.as_object().into_iter().flat_map(|it| it.keys()) {
            add(axis, name);
        }
    }
    for event in history.steps.iter().flatten() {
        let (axis, value) = event_kind(event);
        add(axis, &value);
    }
    values
}

fn on_off(is_on: Option<bool>) -> &'static str {
    match is_on {
        None => "default",
        Some(true) => "on",
        Some(false) => "off",
    }
}

fn topology(cluster: &GeneratedCluster) -> &'static str {
    if cluster.nodes.iter().any(|node| node.topology_keys.is_some()) {
        return "keys differ by node";
    }
    match cluster.driver.topology_keys.as_deref() {
        None => "a key per node",
        Some([]) => "no keys",
        Some([_]) => "a shared key",
        Some(_) => "two keys",
    }
}

fn storage_capacity_value(cluster: &GeneratedCluster) -> &'static str {
    match (cluster.driver.object, cluster.driver.storage_capacity) {
        (false, _) => "no CSIDriver",
        (true, None) => "unset",
        (true, Some(true)) => "true",
        (true, Some(false)) => "false",
    }
}

fn class_kinds(cluster: &GeneratedCluster) -> impl Iterator<Item = &'static str> {
    cluster.classes.iter().flat_map(|class| {
        let kinds = [
            (class.binding == Binding::Immediate, "Immediate"),
            (!class.parameters.is_empty(), "parameters"),
            (!class.allowed_topologies.is_empty(), "allowedTopologies"),
            (class.provisioner.is_some(), "of another driver"),
        ];
        kinds
            .into_iter()
            .filter_map(|(is_so, kind)| is_so.then_some(kind))
    })
}

fn prior_kinds(cluster: &GeneratedCluster) -> impl Iterator<Item = &'static str> {
    let none = cluster.capacity_objects.is_empty().then_some("none");
    let kinds = cluster.capacity_objects.iter().flat_map(|object| {
        let is_known = cluster.classes.iter().any(|class| class.name == object.class);
        let is_own = object.managed || !object.labels.is_empty();
        let kinds = [
            (!is_own, "of another client"),
            (is_own && is_known, "managed"),
            (is_own && !is_known, "of a deleted class"),
            (object.segment.is_none(), "selector"),
            (object.capacity.is_none(), "without capacity"),
        ];
        kinds
            .into_iter()
            .filter_map(|(is_so, kind)| is_so.then_some(kind))
    });
    none.into_iter().chain(kinds)
}

/// The axis to which an event belongs, and the event's value on this axis.
fn event_kind(event: &Event) -> (&'static str, String) {
    match event {
        Event::Fault(fault) => {
            let kills = if fault.kill { " and kill" } else { "" };
            let lasts = if fault.times.is_none() { " on" } else { "" };
            ("API fault", format!("{}{lasts}{kills}", fault_effect(fault)))
        }
        Event::DriverFault(rule) => ("driver fault", format!("{} {}", rule.method, fault_effect(rule))),
        Event::Stop(role) | Event::Start(role) => ("event", format!("{} {}", enum_tag(event), role.as_str())),
        Event::Node(what) => ("event", format!("node {}", enum_tag(what))),
        Event::Class(what) => ("event", format!("class {}", enum_tag(what))),
        Event::CsiDriver(what) => ("event", format!("driver {}", enum_tag(what))),
        Event::Capacity(what) => ("event", format!("capacity {}", enum_tag(what))),
        Event::Delete(what) => ("event", format!("delete {}", enum_tag(what))),
        _ => ("event", enum_tag(event)),
    }
}

/// The field that names the effect of a fault of the API server or the driver.
fn fault_effect(fault: &impl Serialize) -> &'static str {
    const EFFECTS: [&str; 10] = [
        "code",
        "delay",
        "hang",
        "cut",
        "available",
        "status",
        "endAfter",
        "lag",
        "compact",
        "stale",
    ];
    let fields = json!(fault);
    let mut effects = EFFECTS.into_iter();
    effects.find(|key| fields.get(key).is_some()).unwrap_or_default()
}

fn enum_tag(value: &impl Serialize) -> String {
    match json!(value) {
        Value::String(word) => word,
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}
