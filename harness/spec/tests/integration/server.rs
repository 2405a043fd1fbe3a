//! Requests to the API server and its results: an example that violates each rule, and allowed corner cases.

use std::time::Duration;

use capacity_spec::always::{Author, Event, Fields, Figure, Order, Request, judge};
use capacity_spec::world::{Api, CapacityObject, Change, Cleaner, CsiDriver, NamespacedName, Release};
use capacity_spec::{Rule, Violation, World, rules};
use capacity_types::NodeTopology;

use super::build::{DRIVER, NAMESPACE, by_hand, central, class, key, object, published, quantity};

const CAPACITIES: &str = "csistoragecapacities";

fn request(by: Author, verb: &str, resource: &str, namespace: Option<&str>) -> Event {
    Event::Requested(Request {
        client: match by {
            Author::Cleaner => "cleaner".into(),
            Author::Scheduler => "scheduler".into(),
            _ => "publisher".into(),
        },
        by,
        verb: verb.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        is_answered: true,
        at: Duration::ZERO,
    })
}

fn of_publisher(verb: &str, resource: &str) -> Event {
    request(Author::Publisher(central()), verb, resource, Some(NAMESPACE))
}

fn of_scheduler(verb: &str) -> Event {
    request(Author::Scheduler, verb, CAPACITIES, None)
}

fn written(name: &str, object: Option<CapacityObject>) -> Event {
    Event::Wrote {
        by: Author::User,
        key: key(name),
        object,
    }
}

fn creation(name: &str, object: CapacityObject) -> Order {
    Order::Create {
        key: key(name),
        is_prefix: false,
        object,
    }
}

fn change(name: &str, fields: Fields) -> Order {
    Order::Change {
        key: Some(key(name)),
        fields,
    }
}

fn ordered(order: Order) -> Event {
    Event::Ordered(vec![order])
}

fn broken(events: impl IntoIterator<Item = Event>) -> Vec<&'static Rule> {
    let violations = judge(published(), events);
    violations.iter().map(|it| it.rule).collect()
}

/// A world with an object that belongs to no publisher.
fn with_object() -> World {
    let mut world = published();
    world.objects.insert(key("mine"), by_hand("n1", "1Gi"));
    world
}

/// A world with a publisher that has replicas.
fn elected() -> World {
    let mut world = published();
    world.publishers.get_mut(&central()).unwrap().is_elected = true;
    world
}

/// Each rule with the violations of an example.
pub(super) fn cases() -> Vec<(&'static Rule, Vec<Violation>)> {
    let twice = [of_scheduler("list"), of_scheduler("list")];
    vec![
        (
            rules::NOT_GRANTED,
            judge(published(), [of_publisher("deletecollection", CAPACITIES)]),
        ),
        (rules::UNNECESSARY_LIST, judge(published(), twice)),
        (
            rules::NOT_AS_WRITTEN,
            judge(
                published(),
                [
                    ordered(creation("mine", by_hand("n1", "1Gi"))),
                    written("mine", Some(by_hand("n1", "2Gi"))),
                ],
            ),
        ),
        (
            rules::INVALID_ACCEPTED,
            judge(
                published(),
                [
                    ordered(creation("Bad_Name", by_hand("n1", "1Gi"))),
                    written("corrected", Some(by_hand("n1", "1Gi"))),
                ],
            ),
        ),
        (
            rules::VALID_REFUSED,
            judge(
                published(),
                [
                    ordered(creation("a.name.with.dots", by_hand("n1", "1Gi"))),
                    Event::Refused(422),
                ],
            ),
        ),
        (
            rules::NOT_LEADING,
            judge(
                elected(),
                [Event::Led("another".into()), of_publisher("update", CAPACITIES)],
            ),
        ),
        (
            rules::UNREQUESTED_CHANGE,
            judge(with_object(), [written("mine", None)]),
        ),
    ]
}

/// The driver has responded to the publisher.
fn asked() -> Event {
    Event::Asked {
        by: Author::Publisher(central()),
        driver: DRIVER.to_owned(),
        segment: super::build::at("n1"),
        parameters: [].into(),
        answer: Some(capacity_spec::world::Figures::available(10 * super::build::GI)),
        possible: Vec::new(),
        at: None,
    }
}

#[test]
fn a_new_list_is_allowed_after_the_end_of_a_watch_a_restart_or_a_failure() {
    let list_and_watch = || [of_scheduler("list"), of_scheduler("watch")];
    let again = list_and_watch().into_iter().chain(list_and_watch());
    assert!(broken(again).is_empty());
    for excuse in [
        Event::Began("scheduler".into()),
        Event::Disturbed,
        Event::Changed(Change::Api(Api::default())),
    ] {
        let events = [of_scheduler("list"), excuse, of_scheduler("list")];
        assert!(broken(events).is_empty());
    }
    // A cleaner may list at any time.
    let of_cleaner = || request(Author::Cleaner, "list", CAPACITIES, Some(NAMESPACE));
    assert!(broken([of_cleaner(), of_cleaner(), of_cleaner()]).is_empty());
}

#[test]
fn a_publisher_may_only_read_the_objects_below_its_owner() {
    let reads = |level: Option<u8>, resource: &str| {
        let mut world = published();
        world.publishers.get_mut(&central()).unwrap().owner_level = level;
        judge(world, [of_publisher("get", resource)]).is_empty()
    };
    assert!(!reads(None, "pods") && reads(Some(0), "pods") && reads(Some(2), "pods"));
    assert!(!reads(Some(1), "replicasets") && reads(Some(2), "replicasets"));
    assert!(!reads(Some(2), "deployments"));
    let everywhere = request(Author::Publisher(central()), "list", CAPACITIES, None);
    assert_eq!(broken([everywhere]), [rules::NOT_GRANTED]);
}

#[test]
fn a_replica_may_write_while_it_leads_and_until_quiescence_afterwards() {
    let led = |client: &str| Event::Led(client.into());
    let write = || of_publisher("update", CAPACITIES);
    let is_right = |events: Vec<Event>| judge(elected(), events).is_empty();
    assert!(!is_right(vec![write()]));
    assert!(is_right(vec![led("publisher"), Event::Quiet, write()]));
    assert!(is_right(vec![led("publisher"), led("another"), write()]));
    assert!(!is_right(vec![
        led("publisher"),
        led("another"),
        Event::Quiet,
        write()
    ]));
    // Reads do not require the Lease.
    assert!(is_right(vec![of_publisher("list", CAPACITIES)]));
}

#[test]
fn a_cleaner_may_list_and_delete_only_in_the_publishers_namespace() {
    let world = || {
        let cleaner = Cleaner {
            driver: DRIVER.to_owned(),
            namespace: NAMESPACE.to_owned(),
            waiting: [].into(),
            labels: [].into(),
        };
        World {
            cleaner: Some(cleaner),
            ..published()
        }
    };
    let is_right = |verb: &str, namespace: Option<&str>| {
        judge(world(), [request(Author::Cleaner, verb, CAPACITIES, namespace)]).is_empty()
    };
    assert!(is_right("list", Some(NAMESPACE)) && is_right("delete", Some(NAMESPACE)));
    assert!(!is_right("list", None) && !is_right("create", Some(NAMESPACE)));
}

#[test]
fn class_and_topology_are_immutable_and_capacity_can_change() {
    let figure = |capacity: Figure| Fields {
        capacity,
        ..Fields::default()
    };
    let set = || figure(Figure::Set(Some(quantity("2Gi"))));
    let moved = || Fields {
        topology: Some(NodeTopology::Unset),
        ..Fields::default()
    };
    let other_class = || Fields {
        class: Some("slow".to_owned()),
        ..Fields::default()
    };
    let ends = |fields: Fields, end: Event| {
        let events = [ordered(change("mine", fields)), end];
        let violations = judge(with_object(), events);
        violations.first().map(|violation| violation.rule)
    };
    let taken = |capacity: &str| written("mine", Some(by_hand("n1", capacity)));
    assert_eq!(ends(set(), taken("2Gi")), None);
    assert_eq!(ends(set(), taken("3Gi")), Some(rules::NOT_AS_WRITTEN));
    assert_eq!(ends(set(), Event::Refused(422)), Some(rules::VALID_REFUSED));
    for fields in [moved(), other_class()] {
        assert_eq!(ends(fields.clone(), Event::Refused(422)), None);
        assert_eq!(ends(fields, taken("1Gi")), Some(rules::INVALID_ACCEPTED));
    }
    let negative = figure(Figure::Set(Some(quantity("-1Gi"))));
    assert_eq!(ends(negative.clone(), Event::Refused(422)), None);
    assert_eq!(ends(negative, taken("-1Gi")), Some(rules::INVALID_ACCEPTED));
    // A missing object results in 404, which is not a rejection.
    let nobody = [ordered(change("nobody", set())), Event::Refused(404)];
    assert!(broken(nobody).is_empty());
}

#[test]
fn a_replacement_requires_an_existing_object_and_its_current_version() {
    let replaced = |name: &str, is_stale: bool, end: Event| {
        let order = Order::Replace {
            key: key(name),
            object: by_hand("n1", "2Gi"),
            is_stale,
        };
        let violations = judge(with_object(), [ordered(order), end]);
        violations.first().map(|violation| violation.rule)
    };
    let taken = |name: &str| written(name, Some(by_hand("n1", "2Gi")));
    assert_eq!(replaced("mine", false, taken("mine")), None);
    assert_eq!(
        replaced("mine", false, Event::Refused(409)),
        Some(rules::VALID_REFUSED)
    );
    assert_eq!(replaced("mine", true, Event::Refused(409)), None);
    assert_eq!(
        replaced("mine", true, taken("mine")),
        Some(rules::INVALID_ACCEPTED)
    );
    assert_eq!(replaced("nobody", false, Event::Refused(404)), None);
    assert_eq!(
        replaced("nobody", false, taken("nobody")),
        Some(rules::INVALID_ACCEPTED)
    );
}

#[test]
fn a_generated_name_starts_with_the_requested_prefix() {
    let order = || Order::Create {
        key: key("csisc-"),
        is_prefix: true,
        object: by_hand("n1", "1Gi"),
    };
    let taken = |name: &str| written(name, Some(by_hand("n1", "1Gi")));
    assert!(broken([ordered(order()), taken("csisc-x7x2p")]).is_empty());
    assert_eq!(
        broken([ordered(order()), taken("another")]),
        [rules::NOT_AS_WRITTEN]
    );
    assert_eq!(
        broken([ordered(order()), Event::Refused(422)]),
        [rules::VALID_REFUSED]
    );
}

#[test]
fn initial_objects_of_a_case_must_exist() {
    let order = || ordered(creation("mine", by_hand("n1", "1Gi")));
    assert_eq!(broken([order(), Event::Prepared]), [rules::NOT_AS_WRITTEN]);
    let taken = written("mine", Some(by_hand("n1", "1Gi")));
    assert!(broken([order(), taken, Event::Prepared]).is_empty());
}

#[test]
fn a_csidriver_retains_its_flag_if_the_server_has_the_field() {
    let kept = |minor: u8, flag: bool| {
        let wanted = CsiDriver {
            storage_capacity: true,
        };
        let stored = CsiDriver {
            storage_capacity: flag,
        };
        let api = Api {
            release: Release::new(minor),
            gate: None,
        };
        let events = [
            Event::Changed(Change::Api(api)),
            ordered(Order::CreateDriver("other".to_owned(), wanted)),
            Event::Changed(Change::CsiDriver("other".to_owned(), Some(stored))),
        ];
        broken(events).is_empty()
    };
    assert!(kept(36, true) && !kept(36, false));
    assert!(kept(20, false));
}

#[test]
fn an_object_may_be_recreated_after_a_deletion_a_failure_or_a_restart() {
    let mut world = published();
    world.objects.clear();
    let wrote = |name: &str, is_there: bool| Event::Wrote {
        by: Author::Publisher(central()),
        key: key(name),
        object: is_there.then(|| object("n1", "10Gi")),
    };
    let create = |name: &str| [asked(), wrote(name, true), of_publisher("create", CAPACITIES)];
    let gone = Event::Changed(Change::Object(key("one"), None));
    for between in [gone, Event::Disturbed, Event::Began("publisher".into())] {
        let events = create("one").into_iter().chain([between]).chain(create("two"));
        let broken = judge(world.clone(), events);
        assert!(broken.is_empty(), "{broken:?}");
    }
    // An object of another class is not a duplicate.
    world.classes.insert("slow".to_owned(), class());
    let slow = Event::Wrote {
        by: Author::Publisher(central()),
        key: NamespacedName::new(NAMESPACE, "slow"),
        object: Some(CapacityObject {
            class: "slow".to_owned(),
            ..object("n1", "10Gi")
        }),
    };
    let both = create("one")
        .into_iter()
        .chain([slow, of_publisher("create", CAPACITIES)]);
    assert!(judge(world, both).is_empty());
}
