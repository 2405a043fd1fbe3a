//! Properties that hold for all states of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use capacity_spec::always::{Event, Monitor, judge as judge_history};
use capacity_spec::objects::{judge, settled};
use capacity_spec::placement::{Decision, IndexedWorld};
use capacity_spec::world::{
    CapacityObject, CapacityResponse, Change, CsiDriver, Driver, Instance, NamespacedName, Publisher,
    Registration, StorageClass,
};
use capacity_spec::{Violation, World, rules};
use capacity_types::{ByteConversion, Quantity};
use proptest::prelude::*;

use super::always::publishing;
use super::build::{central, class, publisher};
use super::generate::{OTHER, bytes, drawn};

fn decisions(
    world: &World,
    pods: impl Iterator<Item = NamespacedName>,
) -> BTreeMap<NamespacedName, Decision> {
    let indexed = IndexedWorld::new(world);
    pods.map(|pod| (pod.clone(), indexed.decide(&pod))).collect()
}

fn feasible(decision: &Decision) -> BTreeSet<&str> {
    decision.feasible().collect()
}

/// Adds a second driver and its objects.
fn add_other_driver(world: &mut World) {
    let tracked = CsiDriver {
        storage_capacity: true,
    };
    world.apply(Change::CsiDriver(OTHER.to_owned(), Some(tracked)));
    let other = StorageClass {
        provisioner: OTHER.to_owned(),
        ..class()
    };
    world.apply(Change::Class("of-another".to_owned(), Some(other)));
    let driver = Driver {
        default_response: CapacityResponse::available(1),
        ..Driver::default()
    };
    world.apply(Change::Driver(OTHER.to_owned(), Some(driver)));
    for node in world.csi_nodes.values_mut() {
        let registration = Registration {
            topology_keys: vec!["host".to_owned()],
            volumes_max: None,
        };
        node.drivers.insert(OTHER.to_owned(), registration);
    }
    let instance = Instance {
        driver: OTHER.to_owned(),
        node: None,
    };
    world.apply(Change::Publisher(instance, Some(publisher())));
}

fn grow(quantity: Option<Quantity>) -> Option<Quantity> {
    quantity.map(|quantity| bytes(i64::try_from(quantity.bytes(ByteConversion::Exact)).unwrap() + 2))
}

/// Lets publishers and scheduler act correctly on the state `seen`, in which their own objects, pods and PVCs are up to date. Returns the
/// violations.
fn act(monitor: &mut Monitor, mut seen: World) -> Vec<Violation> {
    let now = monitor.world();
    seen.objects.clone_from(&now.objects);
    seen.pods.clone_from(&now.pods);
    seen.claims.clone_from(&now.claims);
    let mut events = publishing(&seen);
    let indexed = IndexedWorld::new(&seen);
    let waiting = seen.pods.iter().filter(|(_, pod)| pod.node.is_none());
    events.extend(waiting.filter_map(|(pod, _)| {
        let node = (*indexed.decide(pod).best().first()?).to_owned();
        let pod = pod.clone();
        Some(Event::PodBound { pod, node })
    }));
    events
        .into_iter()
        .flat_map(|event| monitor.observe(event))
        .collect()
}

proptest! {
    /// The objects that correct programs leave violate no rule, and correct programs do not change them again.
    #[test]
    fn settled_objects_have_no_violations_and_are_stable(drawn in drawn()) {
        let mut world = drawn.world();
        let stored = settled(&world);
        prop_assert_eq!(judge(&world, &stored), []);
        world.objects.clone_from(&stored);
        prop_assert_eq!(settled(&world), stored);
    }

    /// The actions of correct programs violate no rule, and a missing write is detected.
    #[test]
    fn correct_programs_have_no_violations_and_a_missing_write_is_detected(drawn in drawn(), left_out in any::<prop::sample::Index>()) {
        let world = drawn.world();
        let mut events = publishing(&world);
        events.push(Event::Quiescent);
        prop_assert_eq!(judge_history(world.clone(), events.clone()), []);
        let is_needed = |event: &Event| matches!(event, Event::ObjectWritten { object, .. } if
            object.as_ref().is_none_or(|object| !object.is_empty(true)));
        let mut writes: Vec<usize> = (0..events.len()).filter(|at| is_needed(&events[*at])).collect();
        // Only required writes can be omitted: objects for classes with Immediate binding, and objects for all nodes, are optional.
        writes.retain(|at| match &events[*at] {
            Event::ObjectWritten { object: Some(object), .. } => {
                let is_delayed = world.classes.get(&object.class).is_some_and(|it| it.binding != Default::default());
                is_delayed && object.segment().is_some_and(|it| !it.is_empty()) && object.capacity != Some(bytes(0))
            }
            _ => false,
        });
        if !writes.is_empty() {
            events.remove(*left_out.get(&writes));
            let broken = judge_history(world, events);
            let may_be = [rules::MISSING, rules::WRONG_CAPACITY, rules::NONZERO_CAPACITY];
            prop_assert!(broken.iter().any(|it| may_be.contains(&it.rule)), "{:?}", broken);
        }
    }

    /// The order in which changes are applied does not affect the resulting state.
    #[test]
    fn the_order_of_changes_does_not_matter(
        (drawn, changes) in drawn().prop_flat_map(|drawn| {
            let changes = drawn.changes();
            (Just(drawn), Just(changes).prop_shuffle())
        })
    ) {
        let world = drawn.world();
        let mut shuffled = World::default();
        changes.into_iter().for_each(|change| shuffled.apply(change));
        prop_assert_eq!(settled(&world), settled(&shuffled));
        prop_assert_eq!(decisions(&world, drawn.pods()), decisions(&shuffled, drawn.pods()));
    }

    /// The scheduler ignores names, namespaces and labels of objects.
    #[test]
    fn the_scheduler_ignores_names_namespaces_and_labels_of_objects(drawn in drawn()) {
        let world = drawn.world();
        let mut renamed = world.clone();
        renamed.objects = world.objects.values().rev().enumerate().map(|(at, object)| {
            let bare = CapacityObject { labels: [].into(), ..object.clone() };
            (NamespacedName::new("elsewhere", format!("z{at}")), bare)
        }).collect();
        prop_assert_eq!(decisions(&world, drawn.pods()), decisions(&renamed, drawn.pods()));
    }

    /// Drivers do not affect each other.
    #[test]
    fn another_driver_does_not_affect_the_result(drawn in drawn()) {
        // Removes the StorageClasses of the second driver, which would otherwise exist twice.
        let mut world = drawn.world();
        world.classes.retain(|_, class| class.provisioner != OTHER);
        let mut more = world.clone();
        add_other_driver(&mut more);
        prop_assert_eq!(decisions(&world, drawn.pods()), decisions(&more, drawn.pods()));
        let is_own = |object: &CapacityObject| {
            object.labels.get("csi.storage.k8s.io/drivername").is_none_or(|driver| driver != OTHER)
        };
        let values = |world: &World| -> Vec<CapacityObject> {
            let mut objects: Vec<_> = settled(world).into_values().filter(is_own).collect();
            objects.sort_by_key(|object| format!("{object:?}"));
            objects
        };
        prop_assert_eq!(values(&world), values(&more));
    }

    /// More capacity never makes a feasible node infeasible.
    #[test]
    fn more_capacity_makes_no_feasible_node_infeasible(drawn in drawn(), grown in any::<prop::sample::Index>()) {
        let world = drawn.world();
        let mut more = world.clone();
        if !more.objects.is_empty() {
            let at = grown.index(more.objects.len());
            let object = more.objects.values_mut().nth(at).unwrap();
            object.capacity = grow(object.capacity);
            object.maximum = grow(object.maximum);
        }
        let (before, after) = (decisions(&world, drawn.pods()), decisions(&more, drawn.pods()));
        for (pod, decision) in &before {
            prop_assert!(feasible(decision).is_subset(&feasible(&after[pod])));
        }
    }

    /// Fewer objects or larger PVCs never make an infeasible node feasible.
    #[test]
    fn fewer_objects_or_a_larger_pvc_make_no_infeasible_node_feasible(drawn in drawn()) {
        let world = drawn.world();
        let before = decisions(&world, drawn.pods());
        let mut less = world.clone();
        less.objects.pop_first();
        let mut larger = world;
        for claim in larger.claims.values_mut() {
            claim.request = grow(claim.request);
        }
        for harder in [less, larger] {
            let after = decisions(&harder, drawn.pods());
            for (pod, decision) in &after {
                prop_assert!(feasible(decision).is_subset(&feasible(&before[pod])));
            }
        }
    }

    /// Scores do not change which nodes are feasible, and the best nodes are feasible.
    #[test]
    fn scores_do_not_change_feasibility(drawn in drawn(), kep_text in any::<bool>()) {
        let mut world = drawn.world();
        let without = decisions(&world, drawn.pods());
        world.scheduler.scoring = Some(true);
        world.scheduler.kep_text = kep_text;
        for (pod, decision) in decisions(&world, drawn.pods()) {
            prop_assert_eq!(feasible(&decision), feasible(&without[&pod]));
            let best = decision.best();
            prop_assert!(best.is_subset(&feasible(&decision)));
            prop_assert_eq!(best.is_empty(), feasible(&decision).is_empty());
            for (_, scores) in decision.scores() {
                prop_assert!(!scores.is_empty() && scores.iter().all(|score| (0..=100).contains(score)));
            }
        }
    }

    /// A driver that does not track capacity excludes no node.
    #[test]
    fn without_tracking_capacity_is_not_checked(drawn in drawn()) {
        let mut world = drawn.world();
        world.csi_drivers.clear();
        let with = decisions(&world, drawn.pods());
        world.objects.clear();
        prop_assert_eq!(with, decisions(&world, drawn.pods()));
    }

    /// A disabled publisher changes nothing.
    #[test]
    fn a_disabled_publisher_changes_nothing(drawn in drawn()) {
        let mut world = drawn.world();
        let off = Publisher { publishes: false, ..publisher() };
        world.publishers = [(central(), off)].into();
        prop_assert_eq!(&settled(&world), &world.objects);
        prop_assert_eq!(judge(&world, &world.objects), []);
    }

    /// Programs that act correctly on an outdated state cause no violations, as long as they receive the current state eventually.
    #[test]
    fn correct_programs_with_delayed_watches_have_no_violations(
        first in drawn(),
        second in drawn(),
        late in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6),
    ) {
        let mut world = first.world();
        world.objects = settled(&world);
        let mut monitor = Monitor::new(world.clone());
        let mut moments = vec![world];
        let changes = second.changes();
        for (at, change) in changes.iter().enumerate() {
            prop_assert_eq!(monitor.observe(Event::Changed(change.clone())), []);
            moments.push(monitor.world().clone());
            for (_, seen) in late.iter().filter(|(when, _)| when.index(changes.len()) == at) {
                let seen = moments[seen.index(moments.len())].clone();
                prop_assert_eq!(act(&mut monitor, seen), []);
            }
        }
        let now = monitor.world().clone();
        prop_assert_eq!(act(&mut monitor, now), []);
        prop_assert_eq!(monitor.observe(Event::Quiescent), []);
    }
}
