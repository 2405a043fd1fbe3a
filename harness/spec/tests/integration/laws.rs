//! Laws that hold in every world.

use std::collections::{BTreeMap, BTreeSet};

use capacity_spec::always::{Event, Monitor, judge as judge_history};
use capacity_spec::objects::{judge, settled};
use capacity_spec::placement::{Decision, View};
use capacity_spec::world::{
    Answer, CapacityObject, Change, CsiDriver, Driver, Instance, NamespacedName, Publisher, Registration,
    StorageClass,
};
use capacity_spec::{Violation, World, rules};
use capacity_types::{Arithmetic, Quantity};
use proptest::prelude::*;

use super::always::publishing;
use super::build::{central, class, publisher};
use super::draw::{OTHER, bytes, drawn};

fn decisions(
    world: &World,
    pods: impl Iterator<Item = NamespacedName>,
) -> BTreeMap<NamespacedName, Decision> {
    let view = View::new(world);
    pods.map(|pod| (pod.clone(), view.decide(&pod))).collect()
}

fn feasible(decision: &Decision) -> BTreeSet<&str> {
    decision.feasible().collect()
}

/// Another driver with everything that belongs to it.
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
        otherwise: Answer::available(1),
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
    quantity.map(|quantity| bytes(i64::try_from(quantity.bytes(Arithmetic::Exact)).unwrap() + 2))
}

/// Publishers and scheduler do what is right in a world that they have seen; of their own objects, and of pods and claims, they know what is
/// so now. What is wrong with that.
fn act(monitor: &mut Monitor, mut seen: World) -> Vec<Violation> {
    let now = monitor.world();
    seen.objects.clone_from(&now.objects);
    seen.pods.clone_from(&now.pods);
    seen.claims.clone_from(&now.claims);
    let mut events = publishing(&seen);
    let view = View::new(&seen);
    let waiting = seen.pods.iter().filter(|(_, pod)| pod.node.is_none());
    events.extend(waiting.filter_map(|(pod, _)| {
        let node = (*view.decide(pod).best().first()?).to_owned();
        let pod = pod.clone();
        Some(Event::Placed { pod, node })
    }));
    events
        .into_iter()
        .flat_map(|event| monitor.observe(event))
        .collect()
}

proptest! {
    /// What is left when the programs have done their work is right, and stays as it is.
    #[test]
    fn what_right_programs_leave_is_right(drawn in drawn()) {
        let mut world = drawn.world();
        let stored = settled(&world);
        prop_assert_eq!(judge(&world, &stored), []);
        world.objects.clone_from(&stored);
        prop_assert_eq!(settled(&world), stored);
    }

    /// And so is the way there; who leaves out one write is found out.
    #[test]
    fn what_right_programs_do_is_right(drawn in drawn(), left_out in any::<prop::sample::Index>()) {
        let world = drawn.world();
        let mut events = publishing(&world);
        events.push(Event::Quiet);
        prop_assert_eq!(judge_history(world.clone(), events.clone()), []);
        let is_needed = |event: &Event| matches!(event, Event::Wrote { object, .. } if
            object.as_ref().is_none_or(|object| !object.is_empty(true)));
        let mut writes: Vec<usize> = (0..events.len()).filter(|at| is_needed(&events[*at])).collect();
        // Objects of classes that bind at once may be there or not, and so may those for all nodes.
        writes.retain(|at| match &events[*at] {
            Event::Wrote { object: Some(object), .. } => {
                let is_delayed = world.classes.get(&object.class).is_some_and(|it| it.binding != Default::default());
                is_delayed && object.segment().is_some_and(|it| !it.is_empty()) && object.capacity != Some(bytes(0))
            }
            _ => false,
        });
        if !writes.is_empty() {
            events.remove(*left_out.get(&writes));
            let broken = judge_history(world, events);
            let may_be = [rules::MISSING, rules::WRONG_FIGURES, rules::OFFER_WITHOUT_CAPACITY];
            prop_assert!(broken.iter().any(|it| may_be.contains(&it.rule)), "{:?}", broken);
        }
    }

    /// A world is what it is made of, in whatever order.
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

    /// Names of objects carry no meaning, and the scheduler looks at neither their namespace nor their labels.
    #[test]
    fn names_namespaces_and_labels_of_objects_do_not_matter_to_the_scheduler(drawn in drawn()) {
        let world = drawn.world();
        let mut renamed = world.clone();
        renamed.objects = world.objects.values().rev().enumerate().map(|(at, object)| {
            let bare = CapacityObject { labels: [].into(), ..object.clone() };
            (NamespacedName::new("elsewhere", format!("z{at}")), bare)
        }).collect();
        prop_assert_eq!(decisions(&world, drawn.pods()), decisions(&renamed, drawn.pods()));
    }

    /// Drivers have nothing to do with each other.
    #[test]
    fn things_of_another_driver_change_nothing(drawn in drawn()) {
        // Its classes must be nobody's before.
        let mut world = drawn.world();
        world.classes.retain(|_, class| class.provisioner != OTHER);
        let mut more = world.clone();
        add_other_driver(&mut more);
        prop_assert_eq!(decisions(&world, drawn.pods()), decisions(&more, drawn.pods()));
        let is_own = |object: &CapacityObject| {
            object.labels.get("csi.storage.k8s.io/drivername").is_none_or(|driver| driver != OTHER)
        };
        let figures = |world: &World| -> Vec<CapacityObject> {
            let mut objects: Vec<_> = settled(world).into_values().filter(is_own).collect();
            objects.sort_by_key(|object| format!("{object:?}"));
            objects
        };
        prop_assert_eq!(figures(&world), figures(&more));
    }

    /// More room is never less.
    #[test]
    fn a_pool_that_grows_makes_no_feasible_node_infeasible(drawn in drawn(), grown in any::<prop::sample::Index>()) {
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

    /// Nor is another object, and a claim that is smaller asks for no more.
    #[test]
    fn an_object_less_or_a_larger_claim_makes_no_infeasible_node_feasible(drawn in drawn()) {
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

    /// Scoring changes the order of nodes, never which of them fit; the best are some of them.
    #[test]
    fn scores_order_what_fits(drawn in drawn(), kep_text in any::<bool>()) {
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

    /// A driver that is not tracked holds nobody back.
    #[test]
    fn without_tracking_capacity_does_not_matter(drawn in drawn()) {
        let mut world = drawn.world();
        world.csi_drivers.clear();
        let with = decisions(&world, drawn.pods());
        world.objects.clear();
        prop_assert_eq!(with, decisions(&world, drawn.pods()));
    }

    /// A publisher that is told not to publish leaves everything as it is.
    #[test]
    fn a_publisher_that_is_off_does_nothing(drawn in drawn()) {
        let mut world = drawn.world();
        let off = Publisher { publishes: false, ..publisher() };
        world.publishers = [(central(), off)].into();
        prop_assert_eq!(&settled(&world), &world.objects);
        prop_assert_eq!(judge(&world, &world.objects), []);
    }

    /// Programs that do the right thing about a world of some moments ago break nothing, as long as they get to know the present one in
    /// the end.
    #[test]
    fn whoever_is_right_and_late_breaks_nothing(
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
        prop_assert_eq!(monitor.observe(Event::Quiet), []);
    }
}
