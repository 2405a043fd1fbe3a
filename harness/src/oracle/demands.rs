//! What the specification requires of objects and pods, in the form of explicit `capacities` and `placement` expectations.
//!
//! If the KEPs allow several results and the actual result is one of them, the actual result is the required one.

use std::collections::{BTreeMap, BTreeSet};

use capacity_spec::objects::{self, DesiredObjects, DesiredState};
use capacity_spec::placement::{Decision, IndexedWorld};
use capacity_spec::world::{CapacityObject, NamespacedName, Objects};
use capacity_spec::{Unspecified, Violation, World, rules, violation};
use capacity_types::{ByteConversion, CapacityValues, DRIVER_LABEL, MANAGED_BY_LABEL, Quantity, Segment};
use serde_json::{Value, json};

use super::Oracle;
use crate::expectation::{ExpectedNode, Row, Rows};
use crate::journal::{Fact, Observation};
use crate::plan::Plan;
use crate::scenario::Role;

/// The CSIStorageCapacity objects and pod assignments that the specification requires at the end of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredState {
    /// The required CSIStorageCapacity objects of the publisher, in the form of `capacities`. None if rows cannot express them.
    pub capacities: Option<Rows>,
    /// The required nodes of pods, in the form of `placement`. Omits pods that wait for their volumes.
    pub placement: BTreeMap<String, ExpectedNode>,
}

impl RequiredState {
    /// The requirements in the format of a step's `expect` in a case file.
    pub fn expectations(&self) -> Value {
        let mut list = Vec::new();
        if let Some(rows) = &self.capacities {
            let mut classes = json!({});
            for ((class, segment), row) in rows {
                classes[class][segment] = json_of_row(*row);
            }
            list.push(json!({"capacities": classes, "why": "the driver reports this capacity"}));
        }
        if !self.placement.is_empty() {
            let placement =
                |(pod, placement): (&String, &ExpectedNode)| (pod.clone(), json_of_placement(placement));
            let pods: serde_json::Map<String, Value> = self.placement.iter().map(placement).collect();
            list.push(json!({"placement": pods, "why": "the specification allows this"}));
        }
        list.into()
    }
}

/// Converts an expected published capacity to the format of case files.
fn json_of_row(row: Row) -> Value {
    match row {
        Row::Nothing => "nothing".into(),
        Row::Values(values) => {
            let mut fields = json!({});
            for (name, value) in [("capacity", values.capacity), ("maximum", values.maximum)] {
                if let Some(bytes) = value {
                    fields[name] = bytes.to_string().into();
                }
            }
            fields
        }
    }
}

fn json_of_placement(placement: &ExpectedNode) -> Value {
    match placement {
        ExpectedNode::OneOf(nodes) => json!(nodes),
        ExpectedNode::Any => "any".into(),
        ExpectedNode::Unschedulable => "none".into(),
    }
}

/// The required objects and pod assignments at the end of each step that has started in the journal.
pub fn required_states(plan: &Plan, facts: impl IntoIterator<Item = Fact>) -> Vec<RequiredState> {
    let mut oracle = Oracle::new(plan);
    let mut all = Vec::new();
    let mut has_begun = false;
    for fact in facts {
        if matches!(fact.what, Observation::StepStarted(_)) {
            all.extend(std::mem::replace(&mut has_begun, true).then(|| oracle.required_state()));
            oracle.settle();
        }
        oracle.observe(&fact);
    }
    all.extend(has_begun.then(|| oracle.required_state()));
    all
}

impl Oracle<'_> {
    /// The objects and pod assignments that would be required if all programs became idle now.
    pub(crate) fn required_state(&self) -> RequiredState {
        RequiredState {
            capacities: self.required_rows(),
            placement: self.required_placements(),
        }
    }

    fn required_rows(&self) -> Option<Rows> {
        let world = self.monitor.world_before_actions();
        world.api.version()?;
        let mut rows = Rows::new();
        for object in with_violations_corrected(&world, &self.world().objects).values() {
            if !is_labelled(self.plan, object) {
                continue;
            }
            let key = (
                object.class.clone(),
                self.plan.segments.format(&object.segment()?),
            );
            // `capacities` has one row per class and segment, so it cannot express two objects.
            if rows.insert(key, row(object)).is_some() {
                return None;
            }
        }
        for (instance, publisher) in world.publishers.iter().filter(|(_, it)| it.publishes) {
            for desired in DesiredObjects::of(&world, instance, publisher).all() {
                let key = (
                    desired.class.to_owned(),
                    self.plan.segments.format(desired.segment),
                );
                if has_no_capacity(&desired.state) && rows.get(&key).is_none_or(|row| is_zero(*row)) {
                    rows.insert(key, Row::Nothing);
                }
            }
        }
        Some(rows)
    }

    fn required_placements(&self) -> BTreeMap<String, ExpectedNode> {
        let world = self.scheduler_world();
        let view = IndexedWorld::new(&world);
        let is_running = self.programs.runs(Role::Scheduler);
        let placement = |key: &NamespacedName, node: Option<&String>| {
            if node.is_some() {
                return self
                    .allowed
                    .get(key)
                    .map(|nodes| placement_on(nodes.iter().cloned()));
            }
            let decision: Decision = view.decide(key);
            let best = decision.best().into_iter().map(str::to_owned);
            let is_undecided = self.has_selected_node(key) || self.deselected.contains(key);
            (is_running && !is_undecided && !self.is_scheduler_state_unknown).then(|| placement_on(best))
        };
        let pods = world.pods.iter();
        pods.filter_map(|(key, pod)| Some((key.name.clone(), placement(key, pod.node.as_ref())?)))
            .collect()
    }
}

fn placement_on(nodes: impl Iterator<Item = String>) -> ExpectedNode {
    let nodes: Vec<String> = nodes.collect();
    match nodes.is_empty() {
        true => ExpectedNode::Unschedulable,
        false => ExpectedNode::OneOf(nodes),
    }
}

/// The existing CSIStorageCapacity objects, with correct objects in place of those that violate the specification.
fn with_violations_corrected(world: &World, stored: &Objects) -> Objects {
    let mut right = stored.clone();
    let mut wrong: BTreeSet<(String, Segment)> = BTreeSet::new();
    for Violation { rule, subject, .. } in objects::judge(world, stored) {
        match subject {
            violation::Subject::ClassAndSegment { class, segment, .. } => {
                wrong.insert((class, segment));
            }
            violation::Subject::Object(_) if rule == rules::WRONG_OWNER => {}
            violation::Subject::Object(key) => {
                let is_kept =
                    rule == rules::FOREIGN_OBJECT_CHANGED || rule == rules::PUBLISHED_WHILE_DISABLED;
                match world.objects.get(&key).filter(|_| is_kept) {
                    Some(before) => drop(right.insert(key, before.clone())),
                    None => drop(right.remove(&key)),
                }
            }
            // Violations of these subjects are not about CSIStorageCapacity objects.
            violation::Subject::Pod(_)
            | violation::Subject::Claim(_)
            | violation::Subject::Volume(_)
            | violation::Subject::Program(_)
            | violation::Subject::Settings(_)
            | violation::Subject::Request(_)
            | violation::Subject::Call { .. } => {}
        }
    }
    let is_wrong = |object: &CapacityObject| {
        let segment = object.segment();
        segment.is_some_and(|segment| wrong.contains(&(object.class.clone(), segment)))
    };
    let mut initial = world.clone();
    initial.objects.clone_from(&right);
    let correct = objects::settled(&initial).into_iter();
    right.retain(|_, object| !is_wrong(object));
    right.extend(correct.filter(|(_, object)| is_wrong(object)));
    right
}

fn is_labelled(plan: &Plan, object: &CapacityObject) -> bool {
    object.labels.get(DRIVER_LABEL) == Some(&plan.driver.name) && object.labels.contains_key(MANAGED_BY_LABEL)
}

fn row(object: &CapacityObject) -> Row {
    let bytes = |quantity: Option<Quantity>| quantity.map(|it| it.bytes(ByteConversion::Exact));
    Row::Values(CapacityValues {
        capacity: bytes(object.capacity),
        maximum: bytes(object.maximum),
    })
}

/// Whether the driver reports no capacity. If so, both an object with capacity 0 and no object are correct.
fn has_no_capacity(state: &DesiredState) -> bool {
    state.unspecified() == Some(Unspecified::ZeroOrAbsent)
}

fn is_zero(row: Row) -> bool {
    matches!(row, Row::Values(values) if values.is_empty())
}
