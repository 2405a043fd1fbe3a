//! Which changes make another attempt at an unschedulable pod worthwhile?
//!
//! Follows the queueing hints of kube-scheduler 1.36 and errs on the side of waking: a superfluous attempt costs little,
//! a missed one leaves a pod pending for minutes. Beyond upstream, a driver that stops tracking capacity wakes pods.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cache::{Change, Delta};
use crate::cycle::Blocker;
use crate::defect::Defect;
use crate::objects::{Capacity, Class, Driver, Node, Pod};
use crate::rules::Rules;

/// Whether the change may help a pod that was kept from being placed by `blockers`.
pub(super) fn wakes(rules: &Rules, change: &Change, pod: &Pod, blockers: &BTreeSet<Blocker>) -> bool {
    let by_volumes = blockers.contains(&Blocker::Volumes);
    match change {
        Change::Node(delta) => node_may_help(delta),
        Change::Claim(delta) => by_volumes && delta.new.as_ref().is_some_and(|claim| pod.uses(&claim.key)),
        Change::Volume(delta) => by_volumes && delta.new.is_some(),
        Change::Class(delta) => by_volumes && class_may_help(delta),
        Change::Driver(delta) => by_volumes && tracking_ended(delta),
        Change::Capacity(delta) => by_volumes && !rules.has(Defect::NeverWakes) && limit_grew(rules, delta),
        // Other pods take no capacity, as far as this scheduler knows, and a pod's own spec cannot change what matters.
        Change::Pod(_) => false,
    }
}

/// Added, relabelled, or no longer cordoned.
fn node_may_help(delta: &Delta<Node>) -> bool {
    match (&delta.old, &delta.new) {
        (None, Some(_)) => true,
        (Some(old), Some(new)) => old.labels != new.labels || (old.unschedulable && !new.unschedulable),
        (_, None) => false,
    }
}

/// Added, or allowed elsewhere than before.
fn class_may_help(delta: &Delta<Class>) -> bool {
    match (&delta.old, &delta.new) {
        (None, Some(_)) => true,
        (Some(old), Some(new)) => old.allowed != new.allowed,
        (_, None) => false,
    }
}

/// The flag was turned off, or the driver deleted.
fn tracking_ended(delta: &Delta<Driver>) -> bool {
    let tracks = |driver: &Option<Arc<Driver>>| driver.as_ref().is_some_and(|driver| driver.tracks_capacity);
    tracks(&delta.old) && !tracks(&delta.new)
}

/// Added, or the limit (not merely the capacity) rose or was set.
fn limit_grew(rules: &Rules, delta: &Delta<Capacity>) -> bool {
    let limit = |object: &Capacity| object.limit().map(|limit| limit.bytes(rules.arithmetic));
    match (&delta.old, &delta.new) {
        (None, Some(_)) => true,
        // None is less than any limit.
        (Some(old), Some(new)) => limit(new) > limit(old),
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::Object;

    fn object<T: Object>(source: Value) -> Option<Arc<T>>
    where
        T::Api: serde::de::DeserializeOwned,
    {
        if source.is_null() {
            return None;
        }
        Some(Arc::new(
            T::read(&serde_json::from_value(source).unwrap()).unwrap(),
        ))
    }

    fn delta<T: Object>(old: Value, new: Value) -> Delta<T>
    where
        T::Api: serde::de::DeserializeOwned,
    {
        Delta {
            old: object(old),
            new: object(new),
        }
    }

    fn pod() -> Arc<Pod> {
        let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "c"}});
        let source = json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [], "volumes": [volume]}});
        object(source).unwrap()
    }

    fn wakes_when(change: &Change, blocker: Blocker) -> bool {
        wakes(&Rules::default(), change, &pod(), &[blocker].into())
    }

    /// The rows of kube-scheduler's own table.
    #[test]
    fn capacity_wakes_when_the_limit_grows() {
        let capacity = |capacity: &str, maximum: &str| {
            let set = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
            json!({"metadata": {"name": "x", "namespace": "ns"}, "storageClassName": "s", "capacity": set(capacity), "maximumVolumeSize": set(maximum)})
        };
        for (old, new, expected) in [
            (Value::Null, capacity("1", ""), true),
            (capacity("", ""), capacity("100", ""), true),
            (capacity("", ""), capacity("", "100"), true),
            (capacity("50", ""), capacity("100", ""), true),
            (capacity("100", "50"), capacity("100", ""), true),
            (capacity("", "50"), capacity("", "60"), true),
            (capacity("1Ki", ""), capacity("1024", ""), false),
            (capacity("50", "50"), capacity("50", ""), false),
            (capacity("100", ""), capacity("90", ""), false),
            (capacity("50", "10"), capacity("60", "10"), false),
            (capacity("50", ""), capacity("50", "10"), false),
            (capacity("50", ""), Value::Null, false),
        ] {
            let what = format!("{old} to {new}");
            let change = Change::Capacity(delta(old, new));
            assert_eq!(wakes_when(&change, Blocker::Volumes), expected, "{what}");
            assert!(!wakes_when(&change, Blocker::Nodes), "{what}");
        }
    }

    #[test]
    fn the_defect_sleeps_through_capacity_only() {
        let rules = Rules {
            defect: Some(Defect::NeverWakes),
            ..Rules::default()
        };
        let new = json!({"metadata": {"name": "x"}, "storageClassName": "s"});
        let blockers = [Blocker::Volumes].into();
        let capacity = Change::Capacity(delta(Value::Null, new));
        assert!(!wakes(&rules, &capacity, &pod(), &blockers));
        let volume = Change::Volume(delta(Value::Null, json!({"metadata": {"name": "x"}})));
        assert!(wakes(&rules, &volume, &pod(), &blockers));
    }

    #[test]
    fn a_driver_wakes_when_it_stops_tracking() {
        let driver = |flag: bool| json!({"metadata": {"name": "d"}, "spec": {"storageCapacity": flag}});
        for (old, new, expected) in [
            (driver(true), driver(false), true),
            (driver(true), Value::Null, true),
            (driver(false), driver(true), false),
            (driver(true), driver(true), false),
            (Value::Null, driver(true), false),
        ] {
            assert_eq!(
                wakes_when(&Change::Driver(delta(old, new)), Blocker::Volumes),
                expected
            );
        }
    }

    #[test]
    fn nodes_wake_when_added_relabelled_or_uncordoned() {
        let node = |zone: &str, cordoned: bool| json!({"metadata": {"name": "n", "labels": {"zone": zone}}, "spec": {"unschedulable": cordoned}});
        for (old, new, expected) in [
            (Value::Null, node("a", false), true),
            (node("a", false), node("b", false), true),
            (node("a", true), node("a", false), true),
            (node("a", false), node("a", true), false),
            (node("a", false), node("a", false), false),
            (node("a", false), Value::Null, false),
        ] {
            assert_eq!(
                wakes_when(&Change::Node(delta(old, new)), Blocker::Nodes),
                expected
            );
        }
    }

    #[test]
    fn only_the_pods_own_claims_wake_it() {
        let claim = |name: &str| json!({"metadata": {"name": name, "namespace": "ns"}});
        let wakes = |name| wakes_when(&Change::Claim(delta(claim(name), claim(name))), Blocker::Volumes);
        assert!(wakes("c"));
        assert!(!wakes("other"));
    }

    #[test]
    fn classes_wake_when_added_or_allowed_elsewhere() {
        let class = |zone: Value| {
            let allowed = json!([{"matchLabelExpressions": [{"key": "zone", "values": [zone]}]}]);
            json!({"metadata": {"name": "s"}, "provisioner": "d", "allowedTopologies": allowed})
        };
        for (old, new, expected) in [
            (Value::Null, class(json!("a")), true),
            (class(json!("a")), class(json!("b")), true),
            (class(json!("a")), class(json!("a")), false),
            (class(json!("a")), Value::Null, false),
        ] {
            assert_eq!(
                wakes_when(&Change::Class(delta(old, new)), Blocker::Volumes),
                expected
            );
        }
    }
}
