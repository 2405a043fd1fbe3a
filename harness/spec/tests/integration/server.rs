//! Requests to the API server and their results: an example that violates each rule, and allowed corner cases.

use std::time::Duration;

use capacity_spec::always::{Actor, CapacityPatch, Event, PatchValue, Request, UserRequest, judge};
use capacity_spec::world::{Api, CapacityObject, Change, Cleaner, CsiDriver, NamespacedName, Release};
use capacity_spec::{Rule, Violation, World, rules};
use capacity_types::NodeTopology;

use super::build::{DRIVER, NAMESPACE, by_hand, central, class, key, object, published, quantity};

const CAPACITIES: &str = "csistoragecapacities";

fn request(by: Actor, verb: &str, resource: &str, namespace: Option<&str>) -> Event {
    Event::ApiRequested(Request {
        client: match by {
            Actor::Cleaner => "cleaner".into(),
            Actor::Scheduler => "scheduler".into(),
            _ => "publisher".into(),
        },
        by,
        verb: verb.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        is_successful: true,
        at: Duration::ZERO,
    })
}

fn of_publisher(verb: &str, resource: &str) -> Event {
    request(Actor::Publisher(central()), verb, resource, Some(NAMESPACE))
}

fn of_scheduler(verb: &str) -> Event {
    request(Actor::Scheduler, verb, CAPACITIES, None)
}

fn written(name: &str, object: Option<CapacityObject>) -> Event {
    Event::ObjectWritten {
        by: Actor::User,
        key: key(name),
        object,
    }
}

fn creation(name: &str, object: CapacityObject) -> UserRequest {
    UserRequest::Create {
        key: key(name),
        is_prefix: false,
        object,
    }
}

fn change(name: &str, fields: CapacityPatch) -> UserRequest {
    UserRequest::Patch {
        key: Some(key(name)),
        fields,
    }
}

fn requested(request: UserRequest) -> Event {
    Event::UserRequested(vec![request])
}

fn broken(events: impl IntoIterator<Item = Event>) -> Vec<&'static Rule> {
    let violations = judge(published(), events);
    violations.iter().map(|it| it.rule).collect()
}

/// A cluster with a CSIStorageCapacity object that belongs to no publisher.
fn with_object() -> World {
    let mut world = published();
    world.objects.insert(key("mine"), by_hand("n1", "1Gi"));
    world
}

fn with_leader_election() -> World {
    let mut world = published();
    world.publishers.get_mut(&central()).unwrap().uses_leader_election = true;
    world
}

/// Each rule about requests, with the violations found in its example.
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
                    requested(creation("mine", by_hand("n1", "1Gi"))),
                    written("mine", Some(by_hand("n1", "2Gi"))),
                ],
            ),
        ),
        (
            rules::INVALID_ACCEPTED,
            judge(
                published(),
                [
                    requested(creation("Bad_Name", by_hand("n1", "1Gi"))),
                    written("corrected", Some(by_hand("n1", "1Gi"))),
                ],
            ),
        ),
        (
            rules::VALID_REFUSED,
            judge(
                published(),
                [
                    requested(creation("a.name.with.dots", by_hand("n1", "1Gi"))),
                    Event::UserRequestRejected(422),
                ],
            ),
        ),
        (
            rules::NOT_LEADING,
            judge(
                with_leader_election(),
                [
                    Event::LeaseHeld("another".into()),
                    of_publisher("update", CAPACITIES),
                ],
            ),
        ),
        (
            rules::UNREQUESTED_CHANGE,
            judge(with_object(), [written("mine", None)]),
        ),
    ]
}

/// A GetCapacity call of the publisher, with the driver's response.
fn get_capacity() -> Event {
    Event::GetCapacity {
        by: Actor::Publisher(central()),
        driver: DRIVER.to_owned(),
        segment: super::build::segment_of("n1"),
        parameters: [].into(),
        response: Some(capacity_spec::world::ReportedCapacity::available(
            10 * super::build::GI,
        )),
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
        Event::ClientRestarted("scheduler".into()),
        Event::RequestFailed,
        Event::Changed(Change::Api(Api::default())),
    ] {
        let events = [of_scheduler("list"), excuse, of_scheduler("list")];
        assert!(broken(events).is_empty());
    }
    // A cleaner may list the objects at any time.
    let of_cleaner = || request(Actor::Cleaner, "list", CAPACITIES, Some(NAMESPACE));
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
    let everywhere = request(Actor::Publisher(central()), "list", CAPACITIES, None);
    assert_eq!(broken([everywhere]), [rules::NOT_GRANTED]);
}

#[test]
fn a_replica_may_write_while_it_leads_and_until_quiescence_afterwards() {
    let led = |client: &str| Event::LeaseHeld(client.into());
    let write = || of_publisher("update", CAPACITIES);
    let is_right = |events: Vec<Event>| judge(with_leader_election(), events).is_empty();
    assert!(!is_right(vec![write()]));
    assert!(is_right(vec![led("publisher"), Event::Quiescent, write()]));
    assert!(is_right(vec![led("publisher"), led("another"), write()]));
    assert!(!is_right(vec![
        led("publisher"),
        led("another"),
        Event::Quiescent,
        write()
    ]));
    // A replica that only reads need not hold the Lease.
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
        judge(world(), [request(Actor::Cleaner, verb, CAPACITIES, namespace)]).is_empty()
    };
    assert!(is_right("list", Some(NAMESPACE)) && is_right("delete", Some(NAMESPACE)));
    assert!(!is_right("list", None) && !is_right("create", Some(NAMESPACE)));
}

#[test]
fn class_and_topology_are_immutable_and_capacity_can_change() {
    let with_capacity = |capacity: PatchValue| CapacityPatch {
        capacity,
        ..CapacityPatch::default()
    };
    let set = || with_capacity(PatchValue::Set(Some(quantity("2Gi"))));
    let moved = || CapacityPatch {
        topology: Some(NodeTopology::Unset),
        ..CapacityPatch::default()
    };
    let other_class = || CapacityPatch {
        class: Some("slow".to_owned()),
        ..CapacityPatch::default()
    };
    let ends = |fields: CapacityPatch, end: Event| {
        let events = [requested(change("mine", fields)), end];
        let violations = judge(with_object(), events);
        violations.first().map(|violation| violation.rule)
    };
    let stored = |capacity: &str| written("mine", Some(by_hand("n1", capacity)));
    assert_eq!(ends(set(), stored("2Gi")), None);
    assert_eq!(ends(set(), stored("3Gi")), Some(rules::NOT_AS_WRITTEN));
    assert_eq!(
        ends(set(), Event::UserRequestRejected(422)),
        Some(rules::VALID_REFUSED)
    );
    for fields in [moved(), other_class()] {
        assert_eq!(ends(fields.clone(), Event::UserRequestRejected(422)), None);
        assert_eq!(ends(fields, stored("1Gi")), Some(rules::INVALID_ACCEPTED));
    }
    let negative = with_capacity(PatchValue::Set(Some(quantity("-1Gi"))));
    assert_eq!(ends(negative.clone(), Event::UserRequestRejected(422)), None);
    assert_eq!(ends(negative, stored("-1Gi")), Some(rules::INVALID_ACCEPTED));
    // A request for an object that does not exist gets 404, which is no rejection.
    let missing = [
        requested(change("missing", set())),
        Event::UserRequestRejected(404),
    ];
    assert!(broken(missing).is_empty());
}

#[test]
fn a_replacement_requires_an_existing_object_and_its_current_version() {
    let replaced = |name: &str, is_stale: bool, end: Event| {
        let request = UserRequest::Replace {
            key: key(name),
            object: by_hand("n1", "2Gi"),
            is_stale,
        };
        let violations = judge(with_object(), [requested(request), end]);
        violations.first().map(|violation| violation.rule)
    };
    let stored = |name: &str| written(name, Some(by_hand("n1", "2Gi")));
    assert_eq!(replaced("mine", false, stored("mine")), None);
    assert_eq!(
        replaced("mine", false, Event::UserRequestRejected(409)),
        Some(rules::VALID_REFUSED)
    );
    assert_eq!(replaced("mine", true, Event::UserRequestRejected(409)), None);
    assert_eq!(
        replaced("mine", true, stored("mine")),
        Some(rules::INVALID_ACCEPTED)
    );
    assert_eq!(replaced("missing", false, Event::UserRequestRejected(404)), None);
    assert_eq!(
        replaced("missing", false, stored("missing")),
        Some(rules::INVALID_ACCEPTED)
    );
}

#[test]
fn a_generated_name_starts_with_the_requested_prefix() {
    let request = || UserRequest::Create {
        key: key("csisc-"),
        is_prefix: true,
        object: by_hand("n1", "1Gi"),
    };
    let stored = |name: &str| written(name, Some(by_hand("n1", "1Gi")));
    assert!(broken([requested(request()), stored("csisc-x7x2p")]).is_empty());
    assert_eq!(
        broken([requested(request()), stored("another")]),
        [rules::NOT_AS_WRITTEN]
    );
    assert_eq!(
        broken([requested(request()), Event::UserRequestRejected(422)]),
        [rules::VALID_REFUSED]
    );
}

#[test]
fn initial_objects_of_a_case_must_exist() {
    let request = || requested(creation("mine", by_hand("n1", "1Gi")));
    assert_eq!(
        broken([request(), Event::InitialObjectsCreated]),
        [rules::NOT_AS_WRITTEN]
    );
    let stored = written("mine", Some(by_hand("n1", "1Gi")));
    assert!(broken([request(), stored, Event::InitialObjectsCreated]).is_empty());
}

#[test]
fn a_csidriver_retains_its_flag_if_the_server_has_the_field() {
    let is_valid = |minor: u8, flag: bool| {
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
            requested(UserRequest::CreateDriver("other".to_owned(), wanted)),
            Event::Changed(Change::CsiDriver("other".to_owned(), Some(stored))),
        ];
        broken(events).is_empty()
    };
    assert!(is_valid(36, true) && !is_valid(36, false));
    assert!(is_valid(20, false));
}

#[test]
fn an_object_may_be_recreated_after_a_deletion_a_failure_or_a_restart() {
    let mut world = published();
    world.objects.clear();
    let wrote = |name: &str, is_there: bool| Event::ObjectWritten {
        by: Actor::Publisher(central()),
        key: key(name),
        object: is_there.then(|| object("n1", "10Gi")),
    };
    let create = |name: &str| {
        [
            get_capacity(),
            wrote(name, true),
            of_publisher("create", CAPACITIES),
        ]
    };
    let gone = Event::Changed(Change::Object(key("one"), None));
    for between in [
        gone,
        Event::RequestFailed,
        Event::ClientRestarted("publisher".into()),
    ] {
        let events = create("one").into_iter().chain([between]).chain(create("two"));
        let broken = judge(world.clone(), events);
        assert!(broken.is_empty(), "{broken:?}");
    }
    // An object for another StorageClass is not a duplicate.
    world.classes.insert("slow".to_owned(), class());
    let slow = Event::ObjectWritten {
        by: Actor::Publisher(central()),
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
