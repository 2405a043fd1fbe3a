//! Compares an expectation of a case with the specification: the specification must allow the expected outcome and no other.

use std::collections::BTreeSet;

use super::skip_reason::SkipReason;
use capacity_spec::objects::{self, DesiredState};
use capacity_spec::world::{CapacityObject, Instance, NamespacedName, Objects, Publisher, ReportedCapacity};
use capacity_spec::{Unspecified, World};
use capacity_types::{CapacityValues, DRIVER_LABEL, MANAGED_BY_LABEL, Segment};
use suites::harness::expectation::{ExpectedNode, Row, Rows};
use suites::harness::plan::{NAMESPACE, Plan};

/// Result of comparing an expectation with the specification.
pub(crate) enum Compared {
    /// Case and specification agree. Contains the choices that the specification leaves open in this state.
    Agrees(BTreeSet<Unspecified>),
    Skipped(SkipReason),
    /// The specification does not allow what the case expects. Contains a description of the difference.
    Differs(String),
}

/// Compares all expected capacity objects: the specification must allow them, and must not allow a capacity that is one byte larger.
pub(crate) fn compare_capacities(plan: &Plan, world: &World, rows: &Rows) -> Compared {
    let texts = violations_of(plan, world, rows);
    if !texts.is_empty() {
        return Compared::Differs(texts.join("; "));
    }
    for (key, row) in rows {
        let Row::Values(values) = row else {
            continue;
        };
        let mut other_rows = rows.clone();
        let capacity = values.capacity.map(|capacity| capacity + 1);
        other_rows.insert(key.clone(), Row::Values(CapacityValues { capacity, ..*values }));
        if capacity.is_some() && violations_of(plan, world, &other_rows).is_empty() {
            return Compared::Differs(format!("{key:?} may have one byte more"));
        }
    }
    Compared::Agrees(choices(world))
}

/// The choices that the specification leaves to publishers in this state. At each choice, the case expects one of the allowed outcomes,
/// because it expects literal values.
fn choices(world: &World) -> BTreeSet<Unspecified> {
    let mut choices = BTreeSet::new();
    for (instance, publisher) in world.publishers.iter().filter(|(_, it)| it.publishes) {
        let desired = objects::DesiredObjects::of(world, instance, publisher);
        choices.extend(desired.all().filter_map(|it| it.state.unspecified()));
    }
    choices
}

/// The violations of the specification if exactly the expected capacity objects exist.
fn violations_of(plan: &Plan, world: &World, rows: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut stored = Objects::new();
    let mut open: Vec<(&String, &String, &Row)> = rows
        .iter()
        .map(|((class, segment), row)| (class, segment, row))
        .collect();
    for (key, object) in &world.objects {
        if publisher_of(world, key, object).is_some() {
            continue;
        }
        if !is_labelled(plan, object) {
            // The case does not restrict objects without the labels of a publisher.
            stored.insert(key.clone(), object.clone());
            continue;
        }
        let segment = object.segment().map(|segment| plan.segments.format(&segment));
        let wanted = open.iter().position(|(class, at, row)| {
            **class == object.class && Some(*at) == segment.as_ref() && has_values(object, row)
        });
        if let Some(wanted) = wanted {
            open.remove(wanted);
            stored.insert(key.clone(), object.clone());
        }
    }
    for (class, segment, row) in open {
        let segment = plan.segments.parse(segment).unwrap();
        let values = match row {
            Row::Values(values) => Some((values.capacity, values.maximum)),
            Row::Nothing => values_without_capacity(world, class, &segment),
        };
        if let Some(values) = values
            && !add_expected_object(world, &mut stored, class, &segment, values)
        {
            wrong.push(format!("no publisher for class {class} at {segment:?}"));
        }
    }
    let violations = objects::judge(world, &stored);
    wrong.extend(violations.iter().map(ToString::to_string));
    wrong
}

/// The values that a publisher must publish for a segment without capacity; `None` if the publisher may omit the object. If the expected
/// row contains no values, the case allows both.
fn values_without_capacity(
    world: &World,
    class: &str,
    segment: &Segment,
) -> Option<(Option<i128>, Option<i128>)> {
    let publishers = world.publishers.iter().filter(|(_, it)| it.publishes);
    let mut demands = publishers.filter_map(|(instance, publisher)| {
        objects::DesiredObjects::of(world, instance, publisher).state_for(class, segment)
    });
    demands.find_map(|demand| match demand {
        DesiredState::Present(capacity) if capacity.available == 0 => {
            Some((Some(0), capacity.maximum.map(i128::from)))
        }
        _ => None,
    })
}

fn publisher_of<'w>(world: &'w World, key: &NamespacedName, object: &CapacityObject) -> Option<&'w Instance> {
    let mut publishers = world.publishers.iter();
    let found = publishers.find(|(instance, publisher)| publisher.owns(instance, key, object));
    found.map(|(instance, _)| instance)
}

fn is_labelled(plan: &Plan, object: &CapacityObject) -> bool {
    object.labels.get(DRIVER_LABEL) == Some(&plan.driver.name) && object.labels.contains_key(MANAGED_BY_LABEL)
}

fn has_values(object: &CapacityObject, row: &Row) -> bool {
    match row {
        Row::Nothing => object.is_empty(true),
        Row::Values(values) => {
            let bytes = |value: Option<i128>| value.and_then(|value| i64::try_from(value).ok());
            bytes(values.capacity).is_some_and(|available| {
                object.has_values(&ReportedCapacity {
                    available,
                    maximum: bytes(values.maximum),
                })
            })
        }
    }
}

/// Adds an expected capacity object: replaces the values of an existing object, or creates the object as the publisher of the
/// segment. Returns false if no publisher is responsible for the segment.
fn add_expected_object(
    world: &World,
    stored: &mut Objects,
    class: &str,
    segment: &Segment,
    (capacity, maximum): (Option<i128>, Option<i128>),
) -> bool {
    let quantity = |bytes: Option<i128>| bytes.map(|bytes| bytes.to_string().parse().unwrap());
    let is_it = |(key, object): &(&NamespacedName, &CapacityObject)| {
        object.class == class
            && object.segment().as_ref() == Some(segment)
            && publisher_of(world, key, object).is_some()
    };
    let there = world.objects.iter().find(is_it);
    let there = there.map(|(key, object)| (key.clone(), object.clone()));
    let Some((key, object)) = there.or_else(|| new_object(world, stored, class, segment)) else {
        return false;
    };
    let object = CapacityObject {
        capacity: quantity(capacity),
        maximum: quantity(maximum),
        ..object
    };
    stored.insert(key, object);
    true
}

/// A new capacity object, with the labels and owner with which the publisher of this segment would create it.
fn new_object(
    world: &World,
    stored: &Objects,
    class: &str,
    segment: &Segment,
) -> Option<(NamespacedName, CapacityObject)> {
    let publishes =
        |(instance, publisher): &(&Instance, &Publisher)| publisher.is_for(world, instance, segment);
    let (instance, publisher) = world.publishers.iter().find(publishes)?;
    let labels = [
        (DRIVER_LABEL, instance.driver.clone()),
        (MANAGED_BY_LABEL, publisher.managed_by(instance).unwrap()),
    ];
    let object = CapacityObject {
        uid: String::new(),
        labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
        owners: publisher.owner.clone().into_iter().collect(),
        class: class.to_owned(),
        topology: capacity_types::NodeTopology::new(Some(capacity_types::LabelSelector::compile(
            segment,
            [],
        ))),
        has_only_match_labels: true,
        capacity: None,
        maximum: None,
    };
    let name = format!("wanted-{class}-{}", stored.len());
    Some((NamespacedName::new(NAMESPACE, name), object))
}

/// Describes the difference between the expected nodes for a pod and the allowed nodes; `None` if they are equal.
pub(crate) fn placement(best: &BTreeSet<String>, place: &ExpectedNode) -> Option<String> {
    match place {
        ExpectedNode::Unschedulable => {
            (!best.is_empty()).then(|| format!("wanted nowhere, allowed on {best:?}"))
        }
        ExpectedNode::Any => best
            .is_empty()
            .then(|| "wanted anywhere, allowed nowhere".to_owned()),
        ExpectedNode::OneOf(nodes) => {
            let nodes: BTreeSet<String> = nodes.iter().cloned().collect();
            (nodes != *best).then(|| format!("wanted on {nodes:?}, allowed on {best:?}"))
        }
    }
}
