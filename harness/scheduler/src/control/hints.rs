//! Queueing hints: which changes of objects may make an unschedulable pod schedulable.
//!
//! Follows kube-scheduler 1.36. In doubtful cases the pod is requeued: a superfluous attempt costs little, while a missed one leaves a pod
//! pending for minutes. Unlike upstream, a driver that stops tracking capacity requeues pods, and a capacity object requeues only pods
//! whose request fits and that may use a node with access to the storage.

use std::cell::OnceCell;
use std::sync::Arc;

use capacity_types::NodeTopology;

use super::cache::{Change, Delta};
use super::unschedulable::Requeue;
use crate::capacity_check;
use crate::cycle::Blocker;
use crate::filters::may_use_any;
use crate::objects::{Capacity, Class, CsiNode, Driver, Node, Pod};
use crate::rules::Rules;
use crate::snapshot::Snapshot;

/// A change, and the cluster state that is needed to decide which pods it may help.
pub(super) struct ChangeHint<'a> {
    rules: &'a Rules,
    /// The cluster after the change.
    snapshot: &'a Snapshot,
    change: &'a Change,
    /// The nodes with access to the changed capacity object. Computed when first needed.
    accessible_nodes: OnceCell<Vec<&'a Arc<Node>>>,
}

impl<'a> ChangeHint<'a> {
    pub(super) fn new(rules: &'a Rules, snapshot: &'a Snapshot, change: &'a Change) -> Self {
        Self {
            rules,
            snapshot,
            change,
            accessible_nodes: OnceCell::new(),
        }
    }

    /// The pods with this blocker that the change may make schedulable.
    pub(super) fn requeue(&self, blocker: &Blocker) -> Requeue<'_> {
        match (self.change, blocker) {
            // A pending pod uses no resources, so its change helps no other pod. The queue itself handles a change of an unschedulable pod.
            (Change::Pod(_), _) => Requeue::NoPod,
            // The scheduler does not know why an extender rejects nodes, so any change may help, except for a change of a pending pod.
            (_, Blocker::Extender) => Requeue::AllPods,
            (Change::Capacity(delta), Blocker::Capacity { class, request }) => match &delta.new {
                Some(object) if has_become_sufficient(self.rules, delta, class, *request) => {
                    Requeue::Matching(Box::new(|pod| self.may_use_accessible_node(object, pod)))
                }
                _ => Requeue::NoPod,
            },
            (change, blocker) => requeue_for(self.rules, change, blocker),
        }
    }

    /// Whether labels and taints allow the pod on a node with access to the storage of the object. Resources that other pods use are
    /// ignored: they may change without this function being called, and thousands of pods may be unschedulable.
    fn may_use_accessible_node(&self, object: &Capacity, pod: &Pod) -> bool {
        let NodeTopology::Matching(selector) = &object.topology else {
            return false;
        };
        let accessible_nodes = self.accessible_nodes.get_or_init(|| {
            let nodes = self.snapshot.nodes.iter();
            nodes.filter(|node| selector.matches(&node.labels)).collect()
        });
        may_use_any(pod, accessible_nodes.iter().copied())
    }
}

/// The pods that a change of any object except a capacity object may help.
fn requeue_for<'a>(rules: &Rules, change: &'a Change, blocker: &Blocker) -> Requeue<'a> {
    let blocked_by_capacity = matches!(blocker, Blocker::Capacity { .. });
    let blocked_by_volumes = blocked_by_capacity || *blocker == Blocker::Volumes;
    let helps = match change {
        Change::Node(delta) => {
            node_may_help(delta) || (*blocker == Blocker::Resources && resources_grew(delta))
        }
        Change::CsiNode(delta) => {
            (blocked_by_volumes && csi_node_may_help(delta))
                || (*blocker == Blocker::Resources && volume_limits_changed(delta))
        }
        Change::AssignedPodRemoved => matches!(blocker, Blocker::Resources | Blocker::OtherPods),
        Change::AssignedPodAdded | Change::Namespace => *blocker == Blocker::OtherPods,
        Change::Attachment(delta) => *blocker == Blocker::Resources && delta.new.is_none(),
        Change::Claim(delta) => match &delta.new {
            Some(claim) if blocked_by_volumes => return Requeue::UsersOf(vec![&claim.key]),
            _ => false,
        },
        Change::Volume(delta) => blocked_by_volumes && delta.new.is_some(),
        Change::Class(delta) => blocked_by_volumes && class_may_help(delta),
        Change::Driver(delta) => {
            blocked_by_capacity && !rules.ignores_driver_updates && tracking_ended(delta)
        }
        Change::Pod(_) | Change::Capacity(_) => false,
    };
    match helps {
        true => Requeue::AllPods,
        false => Requeue::NoPod,
    }
}

/// Whether the Node was added, its labels or taints changed, or it became schedulable.
fn node_may_help(delta: &Delta<Node>) -> bool {
    match (&delta.old, &delta.new) {
        (None, Some(_)) => true,
        (Some(old), Some(new)) => {
            old.labels != new.labels || old.taints != new.taints || (old.unschedulable && !new.unschedulable)
        }
        (_, None) => false,
    }
}

/// Whether the CSINode was added, or its migrated-plugins annotation changed, which upstream uses to check existing volumes. Changes of the
/// registered drivers are ignored.
fn csi_node_may_help(delta: &Delta<CsiNode>) -> bool {
    match (&delta.old, &delta.new) {
        (None, Some(_)) => true,
        (Some(old), Some(new)) => old.migrated != new.migrated,
        (_, None) => false,
    }
}

/// Whether the drivers of the CSINode or their volume limits changed, or the CSINode was deleted.
fn volume_limits_changed(delta: &Delta<CsiNode>) -> bool {
    match (&delta.old, &delta.new) {
        (Some(old), Some(new)) => old.drivers != new.drivers,
        (old, _) => old.is_some(),
    }
}

/// Whether `status.allocatable` of the node grew for a resource, or was removed, which means no limits.
fn resources_grew(delta: &Delta<Node>) -> bool {
    let (Some(old), Some(new)) = (&delta.old, &delta.new) else {
        return false;
    };
    match (&old.allocatable, &new.allocatable) {
        (Some(old), Some(new)) => new.exceeds(old),
        (old, new) => old.is_some() && new.is_none(),
    }
}

/// Whether the StorageClass was added, or its `allowedTopologies` changed.
fn class_may_help(delta: &Delta<Class>) -> bool {
    match (&delta.old, &delta.new) {
        (None, Some(_)) => true,
        (Some(old), Some(new)) => old.allowed != new.allowed,
        (_, None) => false,
    }
}

/// Whether `storageCapacity` of the CSIDriver was set to false, or the CSIDriver was deleted.
fn tracking_ended(delta: &Delta<Driver>) -> bool {
    let tracks = |driver: &Option<Arc<Driver>>| driver.as_ref().is_some_and(|driver| driver.tracks_capacity);
    tracks(&delta.old) && !tracks(&delta.new)
}

/// Whether an object of this class has become large enough for the request. Upstream requeues a pod when any object of any class grows.
fn has_become_sufficient(rules: &Rules, delta: &Delta<Capacity>, class: &str, request: i128) -> bool {
    let Some(new) = delta.new.as_ref().filter(|new| new.class == class) else {
        return false;
    };
    let is_enough = |object: &Capacity| largest_volume_bytes(rules, object) >= Some(request);
    // An object whose class or topology changed was deleted and recreated between two lists of the watch, so the old object does not count.
    let is_same = |old: &&Arc<Capacity>| old.class == new.class && old.topology == new.topology;
    let old = delta.old.as_ref().filter(is_same);
    is_enough(new) && !old.is_some_and(|old| is_enough(old))
}

/// The size of the object that is compared with requests, in bytes; `None` if `capacity` and `maximumVolumeSize` are unset.
fn largest_volume_bytes(rules: &Rules, object: &Capacity) -> Option<i128> {
    capacity_check::largest_volume(rules, object).map(|limit| limit.bytes(rules.arithmetic))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::objects::Object;
    use crate::store::Collection;

    /// A cluster with one node, in rack `r`.
    fn cluster() -> Snapshot {
        let mut snapshot = Snapshot::default();
        let node = json!({"metadata": {"name": "n", "labels": {"rack": "r"}}});
        snapshot.nodes.put(object(node).unwrap());
        snapshot
    }

    fn requeues(rules: &Rules, change: &Change, pod: &Pod, blockers: &BTreeSet<Blocker>) -> bool {
        let cluster = cluster();
        let hint = ChangeHint::new(rules, &cluster, change);
        let is_requeued = |blocker| match hint.requeue(blocker) {
            Requeue::NoPod => false,
            Requeue::AllPods => true,
            Requeue::UsersOf(claims) => claims.iter().any(|claim| pod.uses(claim)),
            Requeue::Matching(matches) => matches(pod),
        };
        blockers.iter().any(is_requeued)
    }

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

    fn requeues_if(change: &Change, blocker: Blocker) -> bool {
        requeues(&Rules::default(), change, &pod(), &[blocker].into())
    }

    /// A pod's blocker: capacity for this many bytes of class `s`.
    fn capacity_blocker(request: i128) -> Blocker {
        let class = "s".to_owned();
        Blocker::Capacity { class, request }
    }

    /// kube-scheduler's own test table: the pod's request fits only after the change.
    #[test]
    fn capacity_requeues_a_pod_when_the_size_becomes_sufficient() {
        let capacity = |capacity: &str, maximum: &str| {
            let set = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
            json!({"metadata": {"name": "x", "namespace": "ns"}, "storageClassName": "s", "nodeTopology": {}, "capacity": set(capacity), "maximumVolumeSize": set(maximum)})
        };
        for (request, old, new, expected) in [
            (1, Value::Null, capacity("1", ""), true),
            (2, Value::Null, capacity("1", ""), false),
            (100, capacity("", ""), capacity("100", ""), true),
            (100, capacity("", ""), capacity("", "100"), true),
            (100, capacity("50", ""), capacity("100", ""), true),
            (101, capacity("50", ""), capacity("100", ""), false),
            (100, capacity("100", "50"), capacity("100", ""), true),
            (60, capacity("", "50"), capacity("", "60"), true),
            (1024, capacity("1Ki", ""), capacity("1024", ""), false),
            (50, capacity("50", "50"), capacity("50", ""), false),
            (90, capacity("100", ""), capacity("90", ""), false),
            (10, capacity("50", "10"), capacity("60", "10"), false),
            (10, capacity("50", ""), capacity("50", "10"), false),
            (50, capacity("50", ""), Value::Null, false),
        ] {
            let what = format!("{request}: {old} to {new}");
            let change = Change::Capacity(delta(old, new));
            assert_eq!(
                requeues_if(&change, capacity_blocker(request)),
                expected,
                "{what}"
            );
            let other = "t".to_owned();
            let blockers = [
                Blocker::Nodes,
                Blocker::Resources,
                Blocker::Capacity {
                    class: other,
                    request,
                },
            ];
            for blocker in blockers {
                assert!(!requeues_if(&change, blocker), "{what}");
            }
        }
    }

    #[test]
    fn capacity_requeues_only_pods_that_may_use_a_node_with_access() {
        let capacity = |rack: &str| json!({"metadata": {"name": "x"}, "storageClassName": "s", "nodeTopology": {"matchLabels": {"rack": rack}}, "capacity": "1"});
        let selecting = |rack: &str| -> Arc<Pod> {
            let source = json!({"metadata": {"name": "p"}, "spec": {"containers": [], "nodeSelector": {"rack": rack}}});
            object(source).unwrap()
        };
        for (old, new, pod, expected) in [
            (Value::Null, capacity("r"), pod(), true),
            (Value::Null, capacity("r"), selecting("r"), true),
            (Value::Null, capacity("r"), selecting("other"), false),
            (Value::Null, capacity("other"), pod(), false),
            // The object was deleted and recreated while the watch was interrupted.
            (capacity("other"), capacity("r"), pod(), true),
        ] {
            let what = format!("{new} for {:?}", pod.node_selector);
            let change = Change::Capacity(delta(old, new));
            let blockers = [capacity_blocker(1)].into();
            assert_eq!(
                requeues(&Rules::default(), &change, &pod, &blockers),
                expected,
                "{what}"
            );
        }
    }

    #[test]
    fn an_object_without_accessible_nodes_requeues_no_pod() {
        let everywhere =
            json!({"metadata": {"name": "x"}, "storageClassName": "s", "nodeTopology": {}, "capacity": "1"});
        let nowhere = json!({"metadata": {"name": "x"}, "storageClassName": "s", "capacity": "1"});
        for (object, expected) in [(everywhere, true), (nowhere, false)] {
            let change = Change::Capacity(delta(Value::Null, object));
            assert_eq!(requeues_if(&change, capacity_blocker(1)), expected);
        }
    }

    #[test]
    fn a_driver_that_stops_tracking_capacity_requeues_pods() {
        let driver = |flag: bool| json!({"metadata": {"name": "d"}, "spec": {"storageCapacity": flag}});
        for (old, new, expected) in [
            (driver(true), driver(false), true),
            (driver(true), Value::Null, true),
            (driver(false), driver(true), false),
            (driver(true), driver(true), false),
            (Value::Null, driver(true), false),
        ] {
            let change = Change::Driver(delta(old, new));
            assert_eq!(requeues_if(&change, capacity_blocker(1)), expected);
            let compatible = Rules {
                ignores_driver_updates: true,
                ..Rules::default()
            };
            assert!(
                !requeues(&compatible, &change, &pod(), &[capacity_blocker(1)].into()),
                "with the flag deviation the driver requeues no pod"
            );
        }
    }

    #[test]
    fn nodes_requeue_pods_when_added_relabelled_or_uncordoned() {
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
                requeues_if(&Change::Node(delta(old, new)), Blocker::Nodes),
                expected
            );
        }
    }

    #[test]
    fn taints_and_csinodes_requeue_all_pods_and_resources_only_pods_that_lack_them() {
        let node = |taint: &str, cpu: &str| json!({"metadata": {"name": "n"}, "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]}, "status": {"allocatable": {"cpu": cpu}}});
        let change = |old, new| Change::Node(delta(old, new));
        assert!(requeues_if(
            &change(node("a", "1"), node("b", "1")),
            capacity_blocker(1)
        ));
        let grown = change(node("a", "1"), node("a", "2"));
        assert!(requeues_if(&grown, Blocker::Resources));
        assert!(!requeues_if(&grown, capacity_blocker(1)));
        assert!(!requeues_if(
            &change(node("a", "2"), node("a", "1")),
            Blocker::Resources
        ));
        assert!(requeues_if(&Change::AssignedPodRemoved, Blocker::Resources));
        assert!(!requeues_if(&Change::AssignedPodRemoved, capacity_blocker(1)));
        let csi_node = json!({"metadata": {"name": "n"}, "spec": {"drivers": []}});
        let change = |old, new| Change::CsiNode(delta(old, new));
        assert!(requeues_if(
            &change(Value::Null, csi_node.clone()),
            capacity_blocker(1)
        ));
        assert!(!requeues_if(
            &change(csi_node.clone(), csi_node.clone()),
            capacity_blocker(1)
        ));
        assert!(!requeues_if(
            &change(csi_node.clone(), Value::Null),
            capacity_blocker(1)
        ));
        let migrated = json!({
            "metadata": {"name": "n", "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}},
            "spec": {"drivers": []},
        });
        assert!(requeues_if(&change(csi_node, migrated), capacity_blocker(1)));
    }

    #[test]
    fn only_the_pods_own_pvcs_requeue_it() {
        let claim = |name: &str| json!({"metadata": {"name": name, "namespace": "ns"}});
        let requeues = |name| requeues_if(&Change::Claim(delta(claim(name), claim(name))), Blocker::Volumes);
        assert!(requeues("c"));
        assert!(!requeues("other"));
    }

    #[test]
    fn classes_requeue_pods_when_added_or_their_topologies_change() {
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
                requeues_if(&Change::Class(delta(old, new)), Blocker::Volumes),
                expected
            );
        }
    }

    #[test]
    fn a_node_requeues_pods_if_any_resource_grew_and_otherwise_not() {
        let node = |cpu: &str, memory: &str, pods: &str| {
            let allocatable = json!({"cpu": cpu, "memory": memory, "pods": pods});
            json!({"metadata": {"name": "n"}, "status": {"allocatable": allocatable}})
        };
        let unlimited = || json!({"metadata": {"name": "n"}});
        let old = || node("2", "2Gi", "2");
        for (old, new, expected) in [
            (old(), node("3", "2Gi", "2"), true),
            (old(), node("2", "3Gi", "2"), true),
            (old(), node("2", "2Gi", "3"), true),
            (old(), node("3", "1Gi", "1"), true),
            (old(), node("1", "3Gi", "1"), true),
            (old(), node("1", "1Gi", "3"), true),
            (old(), old(), false),
            (old(), node("1", "1Gi", "1"), false),
            (old(), unlimited(), true),
            (unlimited(), old(), false),
            (unlimited(), unlimited(), false),
        ] {
            let what = format!("{old} to {new}");
            assert_eq!(resources_grew(&delta(old, new)), expected, "{what}");
        }
        assert!(
            !resources_grew(&delta(Value::Null, old())),
            "a new node is handled separately"
        );
    }
}
