//! Computes how to apply an edited scenario file to its running cluster: actions for the parts that can change, messages for the parts
//! that cannot.
//!
//! Performs no I/O. Compares only the two versions of the file, so changes that other clients made to the cluster remain.

use std::collections::BTreeMap;

use capacity_types::Segment;
use fake_apiserver::ResourceRef;
use serde_json::{Map, Value};

use super::{Action, Plan, Target};

/// The difference between two versions of a scenario.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// Actions to perform, in order, each with its timeline text.
    pub actions: Vec<(Action, String)>,
    /// Names of changed settings that need a restart of the cluster. The running cluster retains the old values.
    pub fixed: Vec<&'static str>,
}

impl Edit {
    /// Whether both versions of the scenario are equivalent.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.fixed.is_empty()
    }
}

/// A function that returns whether a setting differs between two plans. Programs read the setting only at their start.
type Differs = fn(&Plan, &Plan) -> bool;

/// Settings that cannot change while the cluster runs, with their YAML key in the scenario file.
const FIXED: [(&str, Differs); 11] = [
    ("roles", |a, b| a.roles != b.roles),
    ("mode", |a, b| a.mode != b.mode),
    ("publisher", |a, b| a.publisher != b.publisher),
    ("scheduler", |a, b| a.scheduler != b.scheduler),
    ("extenders", |a, b| a.extenders != b.extenders),
    ("metrics", |a, b| a.specified_metrics != b.specified_metrics),
    ("orphanAfter", |a, b| a.orphan_after != b.orphan_after),
    ("driver.name", |a, b| a.driver.name != b.driver.name),
    ("driver.topologyKeys", |a, b| {
        a.segments.keys() != b.segments.keys()
    }),
    ("driver.getCapacity and driver.csiVersion", |a, b| {
        (a.driver.get_capacity, a.driver.version) != (b.driver.get_capacity, b.driver.version)
    }),
    ("driver.costs", |a, b| a.driver.costs != b.driver.costs),
];

/// Settings whose change makes it impossible to apply any other change of the scenario file.
const IDENTITY: [&str; 2] = ["driver.name", "driver.topologyKeys"];

/// Computes the edit that turns a cluster of the old plan into a cluster of the new plan.
pub fn edit(old: &Plan, new: &Plan) -> Edit {
    let differing = FIXED.iter().filter(|(_, differs)| differs(old, new));
    let fixed: Vec<&str> = differing.map(|(name, _)| *name).collect();
    if fixed.iter().any(|name| IDENTITY.contains(name)) {
        return Edit {
            actions: Vec::new(),
            fixed,
        };
    }
    let mut actions = Vec::new();
    if (old.release, &old.gates) != (new.release, &new.gates) {
        let note = format!("the API server is now {}", new.release);
        actions.push((Action::Release(new.release, new.gates.clone()), note));
    }
    push_pool_actions(old, new, &mut actions);
    let (ups, downs) = driver_actions(old, new);
    // The driver starts before the CSINode lists it, and stops after the CSINode has stopped listing it.
    actions.extend(ups);
    push_object_actions(old, new, &mut actions);
    actions.extend(downs);
    Edit { actions, fixed }
}

fn push_pool_actions(old: &Plan, new: &Plan, actions: &mut Vec<(Action, String)>) {
    let find_pool = |plan: &Plan, segment: &Segment| {
        let mut pools = plan.driver.pools.iter();
        pools
            .find(|(other, _)| other == segment)
            .map(|(_, storage)| storage.clone())
    };
    for (segment, storage) in &new.driver.pools {
        if find_pool(old, segment).as_ref() != Some(storage) {
            let note = format!("storage of {} changes", new.segments.format(segment));
            actions.push((Action::SetPool(segment.clone(), Some(storage.clone())), note));
        }
    }
    for (segment, _) in &old.driver.pools {
        if find_pool(new, segment).is_none() {
            let note = format!("storage of {} is gone", new.segments.format(segment));
            actions.push((Action::SetPool(segment.clone(), None), note));
        }
    }
}

type Actions = Vec<(Action, String)>;

/// Actions that start the driver on added or changed nodes, and actions that stop the driver on removed nodes.
fn driver_actions(old: &Plan, new: &Plan) -> (Actions, Actions) {
    let added = new
        .driver_nodes
        .iter()
        .filter(|node| !old.driver_nodes.contains(node));
    let removed = old
        .driver_nodes
        .iter()
        .filter(|node| !new.driver_nodes.contains(node));
    let is_moved = |name: &String| new.driver_nodes.iter().any(|(other, _)| other == name);
    let down = |name: &String| (Action::DriverDown(name.clone()), format!("driver down on {name}"));
    let (moved, stopped): (Vec<_>, Vec<_>) = removed.partition(|(name, _)| is_moved(name));
    let ups = added.map(|(name, segment)| {
        let note = format!("driver up on {name}");
        (Action::DriverUp(name.clone(), segment.clone()), note)
    });
    let moved = moved.into_iter().map(|(name, _)| down(name));
    (
        moved.chain(ups).collect(),
        stopped.into_iter().map(|(name, _)| down(name)).collect(),
    )
}

/// Identifies an API object: resource, namespace, name.
type Key = (&'static str, Option<String>, String);

fn objects_by_key(plan: &Plan) -> BTreeMap<Key, &Value> {
    let keyed = |object: &Value| {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str()?.to_owned();
        let namespace = metadata["namespace"].as_str().map(str::to_owned);
        Some((ResourceRef::plural_of(object)?, namespace, name))
    };
    let objects = plan.objects.iter();
    objects
        .filter_map(|object| Some((keyed(object)?, object)))
        .collect()
}

fn push_object_actions(old: &Plan, new: &Plan, actions: &mut Actions) {
    let (before, after) = (objects_by_key(old), objects_by_key(new));
    let target = |(resource, namespace, name): &Key| Target::Named {
        resource: (*resource).to_owned(),
        namespace: namespace.clone(),
        name: name.clone(),
    };
    // Objects are created in the order of the scenario file, in which dependencies come first.
    for object in &new.objects {
        let Some((key, _)) = after.iter().find(|(_, other)| std::ptr::eq(**other, object)) else {
            continue;
        };
        let words = format!("{} {}", key.0, key.2);
        match before.get(key) {
            None => actions.push((Action::Create(object.clone()), format!("create {words}"))),
            Some(was) => {
                if let Some(merge) = merge_patch(was, object) {
                    actions.push((Action::Merge(target(key), merge), format!("change {words}")));
                }
            }
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        let words = format!("delete {} {}", key.0, key.2);
        actions.push((Action::Delete(target(key)), words));
    }
}

/// The JSON merge patch (RFC 7386) that changes `old` into `new`. None if the objects are equal.
fn merge_patch(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    let mut patch: Map<String, Value> = removed.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after {
        let change = match before.get(key) {
            Some(was) => merge_patch(was, value),
            None => Some(value.clone()),
        };
        patch.extend(change.map(|change| (key.clone(), change)));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::resolve;
    use crate::scenario::parse;

    const FILE: &str = "\
id: a/b
title: t
cluster:
  nodes: [n1, {name: n2, labels: {zone: a}}]
  classes: [fast]
  backend: {n1: 1Gi, n2: 2Gi}
steps: [{id: s, expect: [{capacities: {fast: {n1: 1Gi}}, why: w}]}]
";

    fn plan(text: &str) -> Plan {
        resolve(&parse("f.yaml", text).unwrap()[0]).unwrap()
    }

    /// The timeline texts of the edit between two scenarios, and the settings that the edit cannot change.
    fn edit_texts(from: &str, to: &str) -> (Vec<String>, Vec<&'static str>) {
        let edit = edit(&plan(FILE), &plan(&FILE.replace(from, to)));
        (
            edit.actions.into_iter().map(|(_, words)| words).collect(),
            edit.fixed,
        )
    }

    #[test]
    fn actions_match_the_edited_lines() {
        for (from, to, expected) in [
            ("title: t", "title: another", vec![]),
            ("n2: 2Gi", "n2: 3Gi", vec!["storage of n2 changes"]),
            (", n2: 2Gi", "", vec!["storage of n2 is gone"]),
            ("zone: a", "zone: b", vec!["change nodes n2"]),
            ("[fast]", "[fast, slow]", vec!["create storageclasses slow"]),
            (
                "[n1, ",
                "[n1, n3, ",
                vec!["driver up on n3", "create nodes n3", "create csinodes n3"],
            ),
            (
                "[n1, {name: n2, labels: {zone: a}}]\n  classes: [fast]\n  backend: {n1: 1Gi, n2: 2Gi}",
                "[n1]\n  classes: [fast]\n  backend: {n1: 1Gi}",
                vec![
                    "storage of n2 is gone",
                    "delete csinodes n2",
                    "delete nodes n2",
                    "driver down on n2",
                ],
            ),
        ] {
            assert_eq!(edit_texts(from, to).0, expected, "{from} -> {to}");
        }
    }

    #[test]
    fn fixed_settings_are_listed_and_a_new_driver_identity_has_no_actions() {
        assert_eq!(
            edit_texts(
                "  classes",
                "  mode: distributed\n  publisher: {zeroCapacityObjects: true}\n  classes"
            )
            .1,
            ["mode", "publisher"]
        );
        let (actions, fixed) = edit_texts(
            "  classes: [fast]",
            "  driver: {name: other}\n  classes: [fast, slow]",
        );
        assert_eq!(actions, [""; 0]);
        assert!(fixed.contains(&"driver.name"), "{fixed:?}");
    }

    #[test]
    fn a_merge_patch_contains_only_the_differences() {
        let old = json!({"a": {"b": 1, "c": 2}, "d": [1, 2], "e": 5});
        let new = json!({"a": {"b": 1, "c": 3, "f": {}}, "d": [1]});
        let patch = merge_patch(&old, &new).unwrap();
        assert_eq!(patch, json!({"a": {"c": 3, "f": {}}, "d": [1], "e": null}));
        assert_eq!(merge_patch(&old, &old), None);
    }
}
