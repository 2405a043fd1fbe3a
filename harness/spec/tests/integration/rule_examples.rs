//! For every rule, an example that violates only this rule.

use std::collections::BTreeSet;

use capacity_spec::always::{Actor, Event, judge as judge_history};
use capacity_spec::placement::{Outcome, judge as judge_pod, pending_violations};
use capacity_spec::volumes::{CreateVolumeCall, CreateVolumeResult};
use capacity_spec::world::{
    CapacityObject, CapacityResponse, Change, Cleaner, Deployment, Extender, Objects, Publisher,
    ReportedCapacity, Reservations,
};
use capacity_spec::{RULES, Rule, Violation, World, objects, rules};

use super::build::{
    CLASS, DRIVER, GI, add_pod, by_hand, central, join, key, key_of, object, of_node, owner, published,
    publisher, segment_of, set_response,
};
use super::volumes::{bound, claimed, creation, made_at, set_claim, violations_after};
use super::{metrics, rate_limits, server};

/// The violations after objects were changed in a cluster without violations.
fn objects(change: impl Fn(&mut World, &mut Objects)) -> Vec<Violation> {
    let mut world = published();
    let mut stored = world.objects.clone();
    change(&mut world, &mut stored);
    objects::judge(&world, &stored)
}

/// The violations of a decision about a pod with a PVC of this size, after a change of the cluster.
fn outcome(size: &str, outcome: &Outcome, change: impl Fn(&mut World)) -> Vec<Violation> {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &[size]);
    change(&mut world);
    judge_pod(&world, &pod, outcome)
}

fn history_violations(events: impl Fn(&World) -> Vec<Event>) -> Vec<Violation> {
    let world = published();
    let events = events(&world);
    judge_history(world, events)
}

fn wrote(name: &str, object: Option<CapacityObject>) -> Event {
    Event::ObjectWritten {
        by: Actor::Publisher(central()),
        key: key(name),
        object,
    }
}

fn scheduled_on(node: &str) -> Outcome {
    Outcome::ScheduledOn(node.to_owned())
}

/// Each rule, with the violations found in its example.
fn cases() -> Vec<(&'static Rule, Vec<Violation>)> {
    let mut cases = of_objects();
    cases.extend(of_placement());
    cases.extend(of_volumes());
    cases.extend(of_history());
    cases.extend(rate_limits::cases());
    cases.extend(metrics::cases());
    cases.extend(server::cases());
    cases
}

fn of_objects() -> Vec<(&'static Rule, Vec<Violation>)> {
    let is_none = |_: &mut World| CapacityResponse::available(0);
    vec![
        (
            rules::MISSING,
            objects(|_, stored| drop(stored.remove(&key_of(stored, "n1")))),
        ),
        (
            rules::WRONG_CAPACITY,
            objects(|_, stored| drop(stored.insert(key_of(stored, "n1"), object("n1", "9Gi")))),
        ),
        (
            rules::NONZERO_CAPACITY,
            objects(|world, _| {
                let zero = is_none(world);
                set_response(world, "n1", zero);
            }),
        ),
        (
            rules::UNKNOWN_CAPACITY,
            objects(|world, stored| {
                set_response(world, "n1", CapacityResponse::error());
                stored.insert(key_of(stored, "n1"), object("n1", "11Gi"));
            }),
        ),
        (
            rules::OBSOLETE,
            objects(|_, stored| drop(stored.insert(key("old"), object("n9", "1Gi")))),
        ),
        (
            rules::DUPLICATE,
            objects(|_, stored| drop(stored.insert(key("duplicate"), object("n1", "10Gi")))),
        ),
        (
            rules::FOREIGN_OBJECT_CHANGED,
            objects(|world, stored| {
                world.objects.insert(key("mine"), by_hand("n1", "1Gi"));
                stored.insert(key("mine"), by_hand("n1", "2Gi"));
            }),
        ),
        (
            rules::WRONG_LABELS,
            objects(|_, stored| drop(stored.insert(key("new"), by_hand("n1", "10Gi")))),
        ),
        (
            rules::WRONG_OWNER,
            objects(|_, stored| {
                let owned = CapacityObject {
                    owners: vec![owner("u")],
                    ..object("n1", "10Gi")
                };
                stored.insert(key_of(stored, "n1"), owned);
            }),
        ),
        (
            rules::PUBLISHED_WHILE_DISABLED,
            objects(|world, stored| {
                let off = Publisher {
                    publishes: false,
                    ..publisher()
                };
                world.publishers.insert(central(), off);
                stored.remove(&key_of(stored, "n1"));
            }),
        ),
        (rules::ORPHANED, objects(orphan)),
        (
            rules::OUTLIVES_OWNER,
            objects(|world, stored| {
                world.deleted_owners.insert("u".to_owned());
                let owned = CapacityObject {
                    owners: vec![owner("u")],
                    ..by_hand("n1", "10Gi")
                };
                world.objects.insert(key("left"), owned.clone());
                stored.insert(key("left"), owned);
            }),
        ),
    ]
}

/// Adds an object of a publisher on a node that was removed, and a cleaner that has not deleted the object.
fn orphan(world: &mut World, stored: &mut Objects) {
    world.cleaner = Some(Cleaner {
        driver: DRIVER.to_owned(),
        namespace: key("").namespace,
        ..Cleaner::default()
    });
    let mut left = object("n9", "1Gi");
    left.labels.insert(
        "csi.storage.k8s.io/managed-by".to_owned(),
        "external-provisioner-n9".to_owned(),
    );
    world.objects.insert(key("left"), left.clone());
    stored.insert(key("left"), left);
}

fn of_placement() -> Vec<(&'static Rule, Vec<Violation>)> {
    let as_it_is = |_: &mut World| {};
    vec![
        (rules::NO_CAPACITY, outcome("11Gi", &scheduled_on("n1"), as_it_is)),
        (
            rules::NO_VOLUME,
            outcome("1Gi", &scheduled_on("n1"), |world| {
                let class = world.classes.get_mut(CLASS).unwrap();
                let only = ("disk.example.com/node".to_owned(), vec!["n2".to_owned()]);
                class.allowed_topologies = vec![vec![only]];
            }),
        ),
        (
            rules::NO_CLAIM,
            outcome("1Gi", &scheduled_on("n1"), |world| world.claims.clear()),
        ),
        (
            rules::NO_NODE,
            outcome("1Gi", &scheduled_on("n1"), |world| {
                world.nodes.get_mut("n1").unwrap().unschedulable = true;
            }),
        ),
        (
            rules::NOT_RESERVED,
            outcome("1Gi", &scheduled_on("n1"), |world| {
                world.reservations = Some(Reservations {
                    driver: DRIVER.to_owned(),
                    ..Reservations::default()
                });
            }),
        ),
        (
            rules::NOT_EXTENDED,
            outcome("1Gi", &scheduled_on("n1"), |world| {
                world.extenders = vec![Extender {
                    rejects: ["n1".to_owned()].into(),
                    ..Extender::default()
                }];
            }),
        ),
        (
            rules::WRONGLY_REFUSED,
            outcome("1Gi", &Outcome::Unschedulable, as_it_is),
        ),
        (rules::UNEXPLAINED, {
            let mut world = published();
            let pod = add_pod(&mut world, "app", &["100Gi"]);
            world.pods.get_mut(&pod).unwrap().unschedulable_message = Some("not schedulable".to_owned());
            pending_violations(&world)
        }),
        (
            rules::NOT_BEST,
            outcome("1Gi", &scheduled_on("n1"), |world| {
                world.scheduler.scoring = Some(true);
            }),
        ),
        (
            rules::MOVED,
            history_violations(|_| {
                let mut other = World::default();
                let pod = add_pod(&mut other, "app", &[]);
                let is_there = Change::Pod(pod.clone(), Some(other.pods[&pod].clone()));
                let placed = |node: &str| Event::PodBound {
                    pod: pod.clone(),
                    node: node.to_owned(),
                };
                vec![Event::Changed(is_there), placed("n1"), placed("n2")]
            }),
        ),
    ]
}

fn of_volumes() -> Vec<(&'static Rule, Vec<Violation>)> {
    let create = |node: &str, result| Event::CreateVolume(creation(node, result));
    let at_n1 = || claimed(Some("n1"));
    let half = CreateVolumeCall {
        bytes: Some(GI),
        ..creation("n1", CreateVolumeResult::Failed)
    };
    let open = [
        create("n1", CreateVolumeResult::Unknown),
        create("n2", CreateVolumeResult::Failed),
    ];
    let mut strict = at_n1();
    strict.publishers.get_mut(&central()).unwrap().strict_topology = true;
    vec![
        (rules::NOT_PROVISIONED, violations_after(at_n1(), [], Some(2))),
        (
            rules::SELECTED_NODE_RETAINED,
            violations_after(at_n1(), [create("n1", CreateVolumeResult::Exhausted)], Some(0)),
        ),
        (
            rules::VOLUME_NOT_DELETED,
            violations_after(at_n1(), [create("n1", made_at("n1")), set_claim(None)], Some(0)),
        ),
        (
            rules::PROVISIONED_BEFORE_NODE_SELECTED,
            violations_after(claimed(None), [create("n1", CreateVolumeResult::Failed)], Some(0)),
        ),
        (
            rules::WRONG_SIZE,
            violations_after(at_n1(), [Event::CreateVolume(half)], Some(0)),
        ),
        (rules::WRONG_SOURCE, {
            let copy = CreateVolumeCall {
                is_clone: true,
                ..creation("n1", CreateVolumeResult::Failed)
            };
            violations_after(at_n1(), [Event::CreateVolume(copy)], Some(0))
        }),
        (
            rules::MISPLACED,
            violations_after(strict, [create("n2", made_at("n2"))], Some(0)),
        ),
        (
            rules::RETRIED_WITH_OTHER_TOPOLOGY,
            violations_after(at_n1(), open, Some(0)),
        ),
        (rules::OVERFULL, {
            let made = CreateVolumeCall {
                exceeds_capacity: true,
                ..creation("n1", made_at("n1"))
            };
            violations_after(at_n1(), [Event::CreateVolume(made)], Some(0))
        }),
        (
            rules::WRONG_ERROR_CODE,
            violations_after(
                at_n1(),
                [create("n1", CreateVolumeResult::Internal { is_injected: false })],
                Some(0),
            ),
        ),
        (rules::ROLLED_BACK, {
            let made = std::iter::once(create("n1", made_at("n1"))).chain(bound());
            let deleted = Event::VolumeDeleted {
                id: "v-1".to_owned(),
                by: Actor::Publisher(central()),
            };
            let mut world = at_n1();
            world.objects = published().objects;
            violations_after(
                world,
                made.chain([rate_limits::get_capacity("n1", None), Event::Quiescent, deleted]),
                Some(0),
            )
        }),
        (rules::FAILURE_NOT_REPORTED, {
            let mut world = at_n1();
            world.objects = published().objects;
            judge_history(
                world,
                [create("n1", CreateVolumeResult::Failed), Event::Quiescent],
            )
        }),
    ]
}

fn of_history() -> Vec<(&'static Rule, Vec<Violation>)> {
    let get_capacity = |gib: i64| Event::GetCapacity {
        by: Actor::Publisher(central()),
        driver: DRIVER.to_owned(),
        segment: segment_of("n1"),
        parameters: [].into(),
        response: Some(ReportedCapacity::available(gib * GI)),
        possible: Vec::new(),
        at: None,
    };
    let n1 = |world: &World| key_of(&world.objects, "n1").name;
    vec![
        (
            rules::FOREIGN_WRITE,
            history_violations(|_| {
                let other = Change::Object(key("mine"), Some(by_hand("n1", "1Gi")));
                vec![Event::Changed(other), wrote("mine", None)]
            }),
        ),
        (
            rules::CAPACITY_TOO_HIGH,
            history_violations(|world| vec![get_capacity(10), wrote(&n1(world), Some(object("n1", "11Gi")))]),
        ),
        (
            rules::WRONG_RESPONSE,
            history_violations(|_| {
                let mut event = get_capacity(5);
                if let Event::GetCapacity { possible, .. } = &mut event {
                    possible.push(ReportedCapacity::available(10 * GI));
                }
                vec![event]
            }),
        ),
        (
            rules::NEGATIVE_CAPACITY,
            history_violations(|world| vec![get_capacity(10), wrote(&n1(world), Some(object("n1", "-1")))]),
        ),
        (
            rules::NO_OP_UPDATE,
            history_violations(|world| {
                vec![get_capacity(10), wrote(&n1(world), Some(object("n1", "10240Mi")))]
            }),
        ),
        (
            rules::UNNECESSARY_DELETE,
            history_violations(|world| vec![wrote(&n1(world), None)]),
        ),
        (
            rules::UNWANTED_CREATE,
            history_violations(|_| vec![wrote("new", Some(object("n9", "0")))]),
        ),
        (
            rules::CREATED_WITH_WRONG_LABELS,
            history_violations(|_| vec![get_capacity(10), wrote("new", Some(by_hand("n1", "10Gi")))]),
        ),
        (rules::WRITE_WHILE_DISABLED, {
            let mut world = published();
            world.publishers.get_mut(&central()).unwrap().publishes = false;
            let event = wrote(&n1(&world), Some(object("n1", "0")));
            judge_history(world, [event])
        }),
        (rules::FLAPPING, {
            let mut world = published();
            set_response(&mut world, "n1", CapacityResponse::available(0));
            world.objects.insert(key("zero"), object("n1", "0"));
            world.objects.remove(&key_of(&published().objects, "n1"));
            let zero = || Some(object("n1", "0"));
            judge_history(world, [wrote("zero", None), wrote("again", zero())])
        }),
        (
            rules::WATCH_WITHOUT_SELECTOR,
            history_violations(|_| {
                let other = Change::Object(key("mine"), Some(by_hand("n1", "1Gi")));
                let sent = Event::ObjectDelivered {
                    to: central(),
                    key: key("mine"),
                };
                vec![Event::Changed(other), sent]
            }),
        ),
        (rules::WRONGLY_FILTERED, {
            let mut world = published();
            let pod = add_pod(&mut world, "app", &["11Gi"]);
            let nodes = vec!["n1".to_owned(), "n2".to_owned()];
            judge_history(
                world,
                [Event::ExtenderCalled {
                    extender: "e".to_owned(),
                    pod,
                    nodes,
                }],
            )
        }),
        (
            rules::UNEXPECTED_GET_CAPACITY,
            history_violations(|_| {
                vec![Event::GetCapacity {
                    by: Actor::Scheduler,
                    driver: DRIVER.to_owned(),
                    segment: segment_of("n1"),
                    parameters: [].into(),
                    response: None,
                    possible: Vec::new(),
                    at: None,
                }]
            }),
        ),
    ]
}

#[test]
fn each_rule_has_an_example_that_violates_no_other_rule() {
    let cases = cases();
    for (rule, violations) in &cases {
        let broken: BTreeSet<&str> = violations.iter().map(|it| it.rule.id).collect();
        assert_eq!(broken, BTreeSet::from([rule.id]), "{violations:?}");
    }
    let all: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    let shown: BTreeSet<&str> = cases.iter().map(|(rule, _)| rule.id).collect();
    assert_eq!(shown, all);
}

#[test]
fn rule_ids_are_unique_and_violations_contain_id_and_requirement() {
    let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(names.len(), RULES.len());
    for (rule, violations) in cases() {
        let text = violations[0].to_string();
        assert!(
            text.contains(rule.id) && text.contains(rule.requirements[0]),
            "{text}"
        );
    }
}

#[test]
fn the_world_of_build_has_no_violations() {
    let mut world = published();
    assert_eq!(objects::judge(&world, &world.objects.clone()), []);
    join(&mut world, "n3");
    world.publishers = ["n1", "n2", "n3"]
        .map(|node| {
            let deployment = Deployment::Distributed(segment_of(node));
            (
                of_node(node),
                Publisher {
                    deployment,
                    ..publisher()
                },
            )
        })
        .into();
    // The objects of the former central publisher belong to no running publisher.
    let stored = objects::settled(&world);
    assert_eq!(objects::judge(&world, &stored), []);
    assert_eq!(stored.len(), 4);
}
