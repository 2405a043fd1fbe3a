//! Histories of events: actions that are allowed because watch events arrive late, and actions that violate a rule nevertheless.

use capacity_spec::always::{Actor, Event, Monitor, judge};
use capacity_spec::world::{
    Api, CapacityObject, CapacityResponse, Change, Cleaner, CsiDriver, CsiNode, NamespacedName, Registration,
    Release, ReportedCapacity,
};
use capacity_spec::{Rule, Violation, World, objects, rules};
use capacity_types::Segment;

use super::build::{
    CLASS, DRIVER, GI, KEY, add_pod, by_hand, central, class, join, key, key_of, object, published, quantity,
    segment_of, world,
};

fn broken(violations: &[Violation]) -> Vec<&'static Rule> {
    violations.iter().map(|it| it.rule).collect()
}

fn wrote(name: &NamespacedName, object: Option<CapacityObject>) -> Event {
    Event::ObjectWritten {
        by: Actor::Publisher(central()),
        key: name.clone(),
        object,
    }
}

fn get_capacity(segment: Segment, response: Option<i64>) -> Event {
    Event::GetCapacity {
        by: Actor::Publisher(central()),
        driver: DRIVER.to_owned(),
        segment,
        parameters: [].into(),
        response: response.map(ReportedCapacity::available),
        possible: Vec::new(),
        at: None,
    }
}

fn placed(pod: &NamespacedName, node: &str) -> Event {
    Event::PodBound {
        pod: pod.clone(),
        node: node.to_owned(),
    }
}

/// The events by which correct publishers create the required objects.
pub(super) fn publishing(world: &World) -> Vec<Event> {
    let mut events = Vec::new();
    for (instance, publisher) in &world.publishers {
        let desired = objects::DesiredObjects::of(world, instance, publisher);
        for desired in desired.all() {
            let parameters = world.classes[desired.class].driver_parameters();
            let response = world
                .drivers
                .get(&instance.driver)
                .map(|it| it.response(desired.segment, &parameters));
            events.push(Event::GetCapacity {
                by: Actor::Publisher(instance.clone()),
                driver: instance.driver.clone(),
                segment: desired.segment.clone(),
                response: match response {
                    Some(CapacityResponse::Reported(values)) => Some(*values),
                    _ => None,
                },
                parameters,
                possible: Vec::new(),
                at: None,
            });
        }
    }
    let settled = objects::settled(world);
    let by = |key: &NamespacedName, object: &CapacityObject| {
        let mut publishers = world.publishers.iter();
        let owner = publishers.find(|(instance, publisher)| publisher.owns(instance, key, object));
        owner.map_or(Actor::Cleaner, |(instance, _)| Actor::Publisher(instance.clone()))
    };
    let is_changed =
        |(key, object): &(&NamespacedName, &CapacityObject)| world.objects.get(*key) != Some(*object);
    for (key, object) in settled.iter().filter(is_changed) {
        events.push(Event::ObjectWritten {
            by: by(key, object),
            key: key.clone(),
            object: Some(object.clone()),
        });
    }
    for (key, object) in world
        .objects
        .iter()
        .filter(|(key, _)| !settled.contains_key(*key))
    {
        events.push(Event::ObjectWritten {
            by: by(key, object),
            key: key.clone(),
            object: None,
        });
    }
    events
}

#[test]
fn a_correct_publisher_has_no_violations_and_an_idle_one_misses_all_objects() {
    let mut events = publishing(&world());
    events.push(Event::Quiescent);
    assert_eq!(judge(world(), events), []);
    assert_eq!(broken(&judge(world(), [Event::Quiescent])), [rules::MISSING; 2]);
}

#[test]
fn deleting_the_object_of_a_node_that_left_and_rejoined_is_allowed_until_quiescence() {
    let world = published();
    let n1 = key_of(&world.objects, "n1");
    let gone = |name: &str| Event::Changed(Change::CsiNode(name.to_owned(), None));
    let mut other = world.clone();
    join(&mut other, "n1");
    let back = Event::Changed(Change::CsiNode(
        "n1".to_owned(),
        other.csi_nodes.get("n1").cloned(),
    ));
    let history = [gone("n1"), back, wrote(&n1, None)];
    assert_eq!(judge(world.clone(), history.clone()), []);
    // If the cluster was quiescent between the driver's return and the deletion, the deletion is a violation.
    let restored = wrote(&n1, Some(object("n1", "10Gi")));
    let get_capacity = get_capacity(segment_of("n1"), Some(10 * GI));
    let [gone, back, deleted] = history;
    let later = [
        gone,
        back,
        get_capacity,
        deleted.clone(),
        restored,
        Event::Quiescent,
        deleted,
    ];
    assert_eq!(broken(&judge(world, later)), [rules::UNNECESSARY_DELETE]);
}

#[test]
fn get_capacity_is_allowed_for_an_unregistered_driver_but_not_for_a_deleted_node() {
    let world = published();
    let csi_node = |node: Option<CsiNode>| Event::Changed(Change::CsiNode("n1".to_owned(), node));
    let unregistered = csi_node(Some(CsiNode::default()));
    let get_capacity_call = get_capacity(segment_of("n1"), Some(0));
    // The events after n1 has lost the driver: the object is deleted before quiescence, and a GetCapacity call follows.
    let away = |gone: Event| {
        [
            gone,
            wrote(&key_of(&world.objects, "n1"), None),
            Event::Quiescent,
            get_capacity_call.clone(),
        ]
    };
    assert_eq!(judge(world.clone(), away(unregistered.clone())), []);
    let broken_by = |events: Vec<Event>| broken(&judge(world.clone(), events));
    assert_eq!(
        broken_by(away(csi_node(None)).into()),
        [rules::UNEXPECTED_GET_CAPACITY]
    );
    let then_deleted = [&away(unregistered)[..3], &[csi_node(None)]].concat();
    // The publisher may not have received the deletion of the node yet.
    let unseen = then_deleted.iter().chain([&get_capacity_call]).cloned();
    assert_eq!(judge(world.clone(), unseen), []);
    assert_eq!(
        broken_by([&then_deleted[..], &[Event::Quiescent, get_capacity_call.clone()]].concat()),
        [rules::UNEXPECTED_GET_CAPACITY]
    );
}

#[test]
fn get_capacity_is_allowed_in_allowed_topologies_of_a_class() {
    let mut world = published();
    let call_in_rack = |value: &str| {
        [get_capacity(
            [("rack".to_owned(), value.to_owned())].into(),
            Some(0),
        )]
    };
    assert_eq!(
        broken(&judge(world.clone(), call_in_rack("b"))),
        [rules::UNEXPECTED_GET_CAPACITY]
    );
    let term = ("rack".to_owned(), vec!["a".to_owned(), "b".to_owned()]);
    world.classes.get_mut(CLASS).unwrap().allowed_topologies = vec![vec![term]];
    assert_eq!(broken(&judge(world.clone(), call_in_rack("b"))), [] as [&Rule; 0]);
    assert_eq!(
        broken(&judge(world, call_in_rack("c"))),
        [rules::UNEXPECTED_GET_CAPACITY]
    );
}

#[test]
fn a_response_before_an_invalid_one_may_be_published() {
    let world = world();
    let segment = segment_of("n1");
    let reported = |values: ReportedCapacity| {
        let change = Change::CapacityResponse(
            DRIVER.to_owned(),
            segment.clone(),
            [].into(),
            CapacityResponse::Reported(values),
        );
        Event::Changed(change)
    };
    let published = |capacity: &str| {
        let events = [
            get_capacity(segment.clone(), Some(10 * GI)),
            wrote(&key("a"), Some(object("n1", capacity))),
            reported(ReportedCapacity::available(-1)),
            Event::Quiescent,
        ];
        let wrong = judge(world.clone(), events);
        let about_n1 = wrong.iter().filter(|it| it.rule != rules::MISSING);
        about_n1.map(|it| it.rule).collect::<Vec<_>>()
    };
    assert_eq!(published("10Gi"), [] as [&Rule; 0]);
    assert_eq!(published("9Gi"), [rules::UNKNOWN_CAPACITY]);
}

#[test]
fn a_publisher_may_combine_a_deleted_class_and_a_later_node() {
    let mut world = published();
    let slow = Event::Changed(Change::Class("slow".to_owned(), Some(class())));
    let mut other = world.clone();
    join(&mut other, "n3");
    let node = Event::Changed(Change::Node("n3".to_owned(), other.nodes.get("n3").cloned()));
    let csi_node = Event::Changed(Change::CsiNode(
        "n3".to_owned(),
        other.csi_nodes.get("n3").cloned(),
    ));
    let object = CapacityObject {
        class: "slow".to_owned(),
        ..object("n3", "0")
    };
    let left = Event::Changed(Change::Class("slow".to_owned(), None));
    let created = wrote(&key("new"), Some(object));
    let history = [
        slow,
        left,
        node,
        csi_node,
        get_capacity(segment_of("n3"), Some(0)),
        created.clone(),
    ];
    assert_eq!(judge(world.clone(), history), []);
    world.objects.clear();
    assert_eq!(broken(&judge(world, [created])), [rules::UNWANTED_CREATE]);
}

#[test]
fn a_published_capacity_may_be_old_but_must_not_exceed_all_responses() {
    let world = published();
    let n1 = key_of(&world.objects, "n1");
    let write = |capacity: &str| wrote(&n1, Some(object("n1", capacity)));
    let history = [
        get_capacity(segment_of("n1"), Some(30 * GI)),
        get_capacity(segment_of("n1"), Some(5 * GI)),
        write("30Gi"),
        write("5Gi"),
    ];
    assert_eq!(judge(world.clone(), history), []);
    let with_maximum = CapacityObject {
        maximum: Some(quantity("4Gi")),
        ..object("n1", "10Gi")
    };
    let history = [
        get_capacity(segment_of("n1"), Some(10 * GI)),
        wrote(&n1, Some(with_maximum)),
    ];
    assert_eq!(broken(&judge(world.clone(), history)), [rules::CAPACITY_TOO_HIGH]);
    // A response for another segment is no reason for the write.
    let history = [get_capacity(segment_of("n2"), Some(30 * GI)), write("30Gi")];
    assert_eq!(broken(&judge(world.clone(), history)), [rules::CAPACITY_TOO_HIGH]);
    // An object that the publisher takes over may keep its capacity until the driver returns the current one.
    let owned = CapacityObject {
        owners: vec![super::build::owner("u")],
        ..object("n1", "10Gi")
    };
    assert_eq!(judge(world, [wrote(&n1, Some(owned))]), []);
}

#[test]
fn changes_by_other_clients_are_not_violations_but_must_be_corrected() {
    let world = published();
    let n1 = key_of(&world.objects, "n1");
    let edited = Event::ObjectWritten {
        by: Actor::Other,
        key: n1.clone(),
        object: Some(object("n1", "99Gi")),
    };
    assert_eq!(
        broken(&judge(world.clone(), [edited.clone(), Event::Quiescent])),
        [rules::WRONG_CAPACITY]
    );
    let right = wrote(&n1, Some(object("n1", "10Gi")));
    let history = [
        get_capacity(segment_of("n1"), Some(10 * GI)),
        edited,
        right,
        Event::Quiescent,
    ];
    assert_eq!(judge(world.clone(), history), []);
    // Other clients may delete CSIStorageCapacity objects that they have created.
    let made = |object| Event::Changed(Change::Object(key("by-hand"), object));
    let history = [
        made(Some(by_hand("n1", "1Gi"))),
        Event::Quiescent,
        made(None),
        Event::Quiescent,
    ];
    assert_eq!(judge(world.clone(), history), []);
    // An object that loses its label no longer belongs to the publisher.
    let handed = Event::Changed(Change::Object(n1.clone(), Some(by_hand("n1", "10Gi"))));
    let duplicate = wrote(&key("duplicate"), Some(object("n1", "10Gi")));
    let history = [
        get_capacity(segment_of("n1"), Some(10 * GI)),
        handed.clone(),
        duplicate.clone(),
        Event::Quiescent,
    ];
    assert_eq!(judge(world.clone(), history), []);
    let history = [
        get_capacity(segment_of("n1"), Some(10 * GI)),
        handed,
        wrote(&n1, None),
        duplicate,
        Event::Quiescent,
    ];
    assert_eq!(
        broken(&judge(world, history)),
        [rules::FOREIGN_WRITE, rules::FOREIGN_OBJECT_CHANGED]
    );
}

#[test]
fn a_duplicate_may_be_deleted_and_a_stopping_publisher_deletes_nothing() {
    let mut world = published();
    let n1 = key_of(&world.objects, "n1");
    let stopped = Event::Changed(Change::Publisher(central(), None));
    let history = [stopped, wrote(&n1, None)];
    assert_eq!(
        broken(&judge(world.clone(), history)),
        [rules::UNNECESSARY_DELETE]
    );
    let in_other_words = CapacityObject {
        has_only_match_labels: false,
        ..object("n1", "10Gi")
    };
    let mut spelled = world.clone();
    spelled.objects.insert(n1.clone(), in_other_words);
    assert_eq!(
        judge(spelled, [wrote(&n1, None)]),
        [],
        "the object may be replaced"
    );
    world.objects.insert(key("duplicate"), object("n1", "10Gi"));
    assert_eq!(judge(world, [wrote(&n1, None), Event::Quiescent]), []);
}

#[test]
fn a_deleted_duplicate_may_be_recreated_if_another_client_deleted_the_other() {
    let mut world = published();
    let n1 = key_of(&world.objects, "n1");
    world.objects.insert(key("duplicate"), object("n1", "10Gi"));
    let get_capacity = get_capacity(segment_of("n1"), Some(10 * GI));
    let again = wrote(&key("again"), Some(object("n1", "10Gi")));
    let deleted = Event::ObjectWritten {
        by: Actor::Other,
        key: key("duplicate"),
        object: None,
    };
    let history = [
        get_capacity.clone(),
        wrote(&n1, None),
        deleted,
        again.clone(),
        Event::Quiescent,
    ];
    assert_eq!(judge(world.clone(), history), []);
    let history = [get_capacity, wrote(&n1, None), again];
    assert_eq!(broken(&judge(world, history)), [rules::FLAPPING]);
}

#[test]
fn a_disabled_publisher_may_have_a_write_in_flight_until_quiescence() {
    let world = published();
    let n1 = key_of(&world.objects, "n1");
    let mut off = world.publishers[&central()].clone();
    off.publishes = false;
    let off = Event::Changed(Change::Publisher(central(), Some(off)));
    let write = wrote(&n1, Some(object("n1", "9Gi")));
    let reported = get_capacity(segment_of("n1"), Some(9 * GI));
    assert_eq!(
        judge(world.clone(), [reported.clone(), off.clone(), write.clone()]),
        []
    );
    let late = judge(world, [reported, off, Event::Quiescent, write]);
    assert_eq!(broken(&late), [rules::WRITE_WHILE_DISABLED]);
}

#[test]
fn after_quiescence_a_response_before_an_error_must_not_be_published() {
    let world = published();
    let n1 = key_of(&world.objects, "n1");
    let changed = |response: CapacityResponse| {
        Event::Changed(Change::CapacityResponse(
            DRIVER.to_owned(),
            segment_of("n1"),
            [].into(),
            response,
        ))
    };
    let write = wrote(&n1, Some(object("n1", "7Gi")));
    let fails = [
        get_capacity(segment_of("n1"), Some(7 * GI)),
        changed(CapacityResponse::available(7 * GI)),
        changed(CapacityResponse::error()),
    ];
    let soon = fails.clone().into_iter().chain([write.clone(), Event::Quiescent]);
    assert_eq!(judge(world.clone(), soon), []);
    let late = fails
        .into_iter()
        .chain([Event::Quiescent, write, Event::Quiescent]);
    assert_eq!(broken(&judge(world, late)), [rules::UNKNOWN_CAPACITY]);
}

#[test]
fn only_a_withdrawing_publisher_may_delete_objects_while_get_capacity_fails() {
    let mut world = published();
    let n1 = key_of(&world.objects, "n1");
    let changed = |response: CapacityResponse| {
        Event::Changed(Change::CapacityResponse(
            DRIVER.to_owned(),
            segment_of("n1"),
            [].into(),
            response,
        ))
    };
    for response in [CapacityResponse::error(), CapacityResponse::available(-1)] {
        for deletes_unknown_capacity in [false, true] {
            world
                .publishers
                .get_mut(&central())
                .unwrap()
                .deletes_unknown_capacity = deletes_unknown_capacity;
            let delete = [changed(response.clone()), wrote(&n1, None), Event::Quiescent];
            let wanted: &[&Rule] = if deletes_unknown_capacity {
                &[]
            } else {
                &[rules::UNNECESSARY_DELETE]
            };
            assert_eq!(broken(&judge(world.clone(), delete)), wanted);
        }
    }
}

#[test]
fn responses_while_the_type_is_not_served_may_be_used_later() {
    let mut world = published();
    world
        .publishers
        .get_mut(&central())
        .unwrap()
        .deletes_unknown_capacity = true;
    let n1 = key_of(&world.objects, "n1");
    let changed = |response: CapacityResponse| {
        Event::Changed(Change::CapacityResponse(
            DRIVER.to_owned(),
            segment_of("n1"),
            [].into(),
            response,
        ))
    };
    let served = world.api;
    let unserved = Api {
        release: Release::new(20),
        gate: None,
    };
    let history = |while_failing: Api| {
        [
            Event::Changed(Change::Api(while_failing)),
            changed(CapacityResponse::error()),
            changed(CapacityResponse::available(10 * GI)),
            Event::Quiescent,
            Event::Changed(Change::Api(served)),
            wrote(&n1, None),
        ]
    };
    assert_eq!(judge(world.clone(), history(unserved)), []);
    assert_eq!(
        broken(&judge(world, history(served))),
        [rules::UNNECESSARY_DELETE]
    );
}

#[test]
fn a_cleaner_may_only_delete_orphaned_objects() {
    let mut world = published();
    world.cleaner = Some(Cleaner {
        driver: DRIVER.to_owned(),
        namespace: key("").namespace,
        ..Cleaner::default()
    });
    let of_node = |node: &str| {
        let mut object = object(node, "1Gi");
        let manager = format!("external-provisioner-{node}");
        object
            .labels
            .insert("csi.storage.k8s.io/managed-by".to_owned(), manager);
        object
    };
    for node in ["n1", "n9"] {
        world.objects.insert(key(node), of_node(node));
    }
    let removed = |name: &str| Event::ObjectWritten {
        by: Actor::Cleaner,
        key: key(name),
        object: None,
    };
    assert_eq!(judge(world.clone(), [removed("n9")]), []);
    assert_eq!(
        broken(&judge(world.clone(), [removed("n1")])),
        [rules::FOREIGN_WRITE]
    );
    let made = Event::ObjectWritten {
        by: Actor::Cleaner,
        key: key("new"),
        object: Some(of_node("n9")),
    };
    assert_eq!(broken(&judge(world, [made])), [rules::FOREIGN_WRITE]);
}

#[test]
fn a_scheduler_may_use_any_state_since_the_last_quiescence() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["10Gi"]);
    let n1 = key_of(&world.objects, "n1");
    let shrunk = wrote(&n1, Some(object("n1", "1Gi")));
    let reported = get_capacity(segment_of("n1"), Some(GI));
    let on_n1 = placed(&pod, "n1");
    assert_eq!(
        judge(world.clone(), [reported.clone(), shrunk.clone(), on_n1.clone()]),
        []
    );
    world
        .drivers
        .insert(DRIVER.to_owned(), capacity_spec::world::Driver::default());
    super::build::set_response(&mut world, "n1", CapacityResponse::available(GI));
    super::build::set_response(&mut world, "n2", CapacityResponse::available(20 * GI));
    let late = [reported, shrunk, Event::Quiescent, on_n1];
    assert_eq!(broken(&judge(world.clone(), late)), [rules::NO_CAPACITY]);
    // While `storageCapacity` was false, the scheduler did not check capacity.
    let flag = |storage_capacity| {
        let driver = CsiDriver { storage_capacity };
        Event::Changed(Change::CsiDriver(DRIVER.to_owned(), Some(driver)))
    };
    let pod = add_pod(&mut world, "large", &["100Gi"]);
    let history = [flag(false), flag(true), placed(&pod, "n1")];
    assert_eq!(judge(world, history), []);
}

#[test]
fn selecting_a_node_is_checked_like_placing_the_pod() {
    let mut world = published();
    add_pod(&mut world, "app", &["15Gi"]);
    let selected = |node: &str| Event::NodeSelected {
        claim: NamespacedName::new("default", "app-0"),
        node: node.to_owned(),
    };
    assert_eq!(judge(world.clone(), [selected("n2")]), []);
    // A pod in another namespace, whose PVC has the same name, must not be mistaken for the pod.
    let namesake = world.pods[&NamespacedName::new("default", "app")].clone();
    world.pods.insert(NamespacedName::new("a", "app"), namesake);
    assert_eq!(judge(world.clone(), [selected("n2")]), []);
    let mut monitor = Monitor::new(world);
    assert_eq!(broken(&monitor.observe(selected("n1"))), [rules::NO_CAPACITY]);
    let claim = &monitor.world().claims[&NamespacedName::new("default", "app-0")];
    assert_eq!(claim.selected_node.as_deref(), Some("n1"));
}

#[test]
fn a_node_may_be_selected_for_a_pod_deleted_since_the_last_quiescence() {
    let mut world = published();
    let gone = add_pod(&mut world, "app", &["5Gi"]);
    let mut other = world.pods[&gone].clone();
    other.node_selector = [("kubernetes.io/hostname".to_owned(), "n2".to_owned())].into();
    world.pods.insert(NamespacedName::new("default", "other"), other);
    let selected = Event::NodeSelected {
        claim: NamespacedName::new("default", "app-0"),
        node: "n1".to_owned(),
    };
    let deleted = || Event::Changed(Change::Pod(gone.clone(), None));
    assert_eq!(judge(world.clone(), [deleted(), selected.clone()]), []);
    // After quiescence, the scheduler has received the deletion of the pod.
    let late = [deleted(), Event::Quiescent, selected];
    assert_eq!(broken(&judge(world, late)), [rules::NO_NODE]);
}

#[test]
fn a_maximum_hidden_by_v1alpha1_may_be_written_again() {
    let mut world = published();
    let n1 = key_of(&world.objects, "n1");
    let object = CapacityObject {
        maximum: Some(quantity("1Gi")),
        ..object("n1", "10Gi")
    };
    world.objects.insert(n1.clone(), object.clone());
    let again = wrote(&n1, Some(object));
    assert_eq!(
        broken(&judge(world.clone(), [again.clone()])),
        [rules::NO_OP_UPDATE]
    );
    let newer = world.api;
    world.api = Api {
        release: Release::new(20),
        gate: Some(true),
    };
    assert_eq!(judge(world, [Event::Changed(Change::Api(newer)), again]), []);
}

#[test]
fn a_maximum_dropped_by_v1alpha1_may_be_sent_after_a_downgrade() {
    let mut world = published();
    let n1 = key_of(&world.objects, "n1");
    let again = wrote(&n1, Some(world.objects[&n1].clone()));
    let newer = world.api;
    let older = Api {
        release: Release::new(20),
        gate: Some(true),
    };
    world.api = older;
    let [to_newer, to_older] = [newer, older].map(|api| Event::Changed(Change::Api(api)));
    assert_eq!(
        broken(&judge(world.clone(), [again.clone()])),
        [rules::NO_OP_UPDATE]
    );
    let since_long = [
        to_newer.clone(),
        to_older.clone(),
        Event::Quiescent,
        again.clone(),
    ];
    assert_eq!(broken(&judge(world.clone(), since_long)), [rules::NO_OP_UPDATE]);
    assert_eq!(judge(world, [to_newer, to_older, again]), []);
}

#[test]
fn get_capacity_arguments_must_match_the_publishers_driver_segments_and_classes() {
    let world = published();
    let with = |driver: &str, segment: Segment, parameters: &[(&str, &str)]| Event::GetCapacity {
        by: Actor::Publisher(central()),
        driver: driver.to_owned(),
        segment,
        parameters: parameters
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        response: None,
        possible: Vec::new(),
        at: None,
    };
    for (call, is_unexpected) in [
        (with(DRIVER, segment_of("n1"), &[]), false),
        (with("tape.example.com", segment_of("n1"), &[]), true),
        (with(DRIVER, segment_of("n9"), &[]), true),
        (
            with(DRIVER, segment_of("n1"), &[("csi.storage.k8s.io/fstype", "ext4")]),
            true,
        ),
    ] {
        let expected: &[&Rule] = if is_unexpected {
            &[rules::UNEXPECTED_GET_CAPACITY]
        } else {
            &[]
        };
        assert_eq!(
            broken(&judge(world.clone(), [call.clone()])),
            expected,
            "{call:?}"
        );
    }
    assert!(world.classes.contains_key(CLASS));
}

#[test]
fn a_get_capacity_call_may_arrive_after_its_publisher_exited() {
    let stopped = Event::Changed(Change::Publisher(central(), None));
    let call = get_capacity(segment_of("n1"), Some(10 * GI));
    let events = [stopped, Event::Quiescent, call];
    assert_eq!(judge(published(), events), []);
}

/// A driver has registered again with other topology keys. Calls for the old keys are allowed until quiescence.
#[test]
fn get_capacity_for_old_topology_keys_is_allowed_until_quiescence() {
    let registered = |keys: Option<&[&str]>| {
        let registration = |keys: &[&str]| Registration {
            topology_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            volumes_max: None,
        };
        let drivers = keys.map(|keys| (DRIVER.to_owned(), registration(keys)));
        let node = CsiNode {
            drivers: drivers.into_iter().collect(),
        };
        Event::Changed(Change::CsiNode("n1".to_owned(), Some(node)))
    };
    let get_capacity = || get_capacity(Segment::new(), None);
    let mut world = published();
    world.apply(Change::CsiNode("n2".to_owned(), None));
    let history = [
        registered(Some(&[])),
        Event::Quiescent,
        registered(None),
        Event::Quiescent,
        registered(Some(&[KEY])),
    ];
    let late = history.clone().into_iter().chain([get_capacity()]);
    assert!(!broken(&judge(world.clone(), late)).contains(&rules::UNEXPECTED_GET_CAPACITY));
    let too_late = history.into_iter().chain([Event::Quiescent, get_capacity()]);
    assert!(broken(&judge(world, too_late)).contains(&rules::UNEXPECTED_GET_CAPACITY));
}

#[test]
fn a_write_in_flight_when_its_publisher_was_killed_is_allowed() {
    let mut world = published();
    let n1 = key_of(&world.objects, "n1");
    let publisher = world.publishers.remove(&central());
    let response = CapacityResponse::available(5 * GI);
    let events = [
        Event::Changed(Change::Publisher(central(), publisher)),
        Event::Changed(Change::CapacityResponse(
            DRIVER.to_owned(),
            segment_of("n1"),
            [].into(),
            response,
        )),
        get_capacity(segment_of("n1"), Some(5 * GI)),
        Event::Changed(Change::Publisher(central(), None)),
        wrote(&n1, Some(object("n1", "5Gi"))),
    ];
    assert_eq!(judge(world.clone(), events.clone()), []);
    // After quiescence, no write can be in flight.
    let [.., write] = events.clone();
    let late = events.into_iter().take(4).chain([Event::Quiescent, write]);
    assert_eq!(broken(&judge(world, late)), [rules::FOREIGN_WRITE]);
}

#[test]
fn a_selected_node_may_be_for_any_pod_that_shares_the_pvc() {
    let mut world = published();
    let large = add_pod(&mut world, "large", &["1Gi", "100Gi"]);
    let mut small = world.pods[&large].clone();
    small.volumes.truncate(1);
    let selected = || Event::NodeSelected {
        claim: NamespacedName::new("default", "large-0"),
        node: "n1".to_owned(),
    };
    assert_eq!(broken(&judge(world.clone(), [selected()])), [rules::NO_CAPACITY]);
    world.pods.insert(NamespacedName::new("default", "small"), small);
    assert_eq!(judge(world, [selected()]), []);
}

#[test]
fn a_publisher_may_receive_the_event_with_which_an_object_stops_matching() {
    let world = published();
    let own = key_of(&world.objects, "n1");
    let sent = || Event::ObjectDelivered {
        to: central(),
        key: own.clone(),
    };
    let handed_over = Change::Object(own.clone(), Some(by_hand("n1", "10Gi")));
    let gone = Change::Object(own.clone(), None);
    for change in [handed_over, gone] {
        let events = [sent(), Event::Changed(change.clone()), sent()];
        assert_eq!(broken(&judge(world.clone(), events)), [] as [&Rule; 0]);
        // A reconnected watch continues at its old revision, even after quiescence.
        let later = [Event::Changed(change), Event::Quiescent, sent()];
        assert!(!broken(&judge(world.clone(), later)).contains(&rules::WATCH_WITHOUT_SELECTOR));
    }
}

#[test]
fn an_extender_call_for_a_deleted_pod_is_allowed() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["11Gi"]);
    let gone = Event::Changed(Change::Pod(pod.clone(), None));
    let filtered = Event::ExtenderCalled {
        extender: "e".to_owned(),
        pod,
        nodes: vec!["n1".to_owned()],
    };
    let history = [gone, filtered.clone()];
    assert_eq!(judge(world.clone(), history), []);
    assert_eq!(broken(&judge(world, [filtered])), [rules::WRONGLY_FILTERED]);
}

#[test]
fn a_maximum_hidden_by_a_downgrade_may_be_written_again_after_an_upgrade() {
    let with_maximum = CapacityObject {
        maximum: Some(quantity("4Gi")),
        ..object("n1", "10Gi")
    };
    let server = |minor| {
        let release = Release::new(minor);
        Event::Changed(Change::Api(Api {
            release,
            gate: Some(true),
        }))
    };
    let rules_of = |releases: [u8; 2]| {
        let mut world = published();
        let n1 = key_of(&world.objects, "n1");
        world.objects.insert(n1.clone(), with_maximum.clone());
        let [down, up] = releases.map(server);
        let history = [
            down,
            Event::Quiescent,
            up,
            Event::Quiescent,
            wrote(&n1, Some(with_maximum.clone())),
        ];
        let wrong = broken(&judge(world, history));
        wrong.contains(&rules::NO_OP_UPDATE)
    };
    assert!(!rules_of([19, 21]));
    assert!(rules_of([23, 24]));
}
