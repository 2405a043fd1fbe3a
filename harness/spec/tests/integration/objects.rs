//! Rules for objects where the KEP allows several outcomes, or where it matters to which publisher an object belongs.

use std::collections::BTreeSet;

use capacity_spec::objects::{DesiredObjects, DesiredState, judge, settled};
use capacity_spec::world::{
    Api, CapacityObject, CapacityResponse, Change, Cleaner, Deployment, Driver, NamespacedName, Objects,
    Publisher, Release, ReportedCapacity, VolumeBindingMode,
};
use capacity_spec::{Rule, Unspecified, World, rules};

use serde_json::json;

use super::build::{
    CLASS, DRIVER, GI, KEY, by_hand, central, class, key, key_of, object, of_node, owner, published,
    publisher, quantity, segment_of, set_response, world,
};

const NONE: [&Rule; 0] = [];

fn broken(world: &World, stored: &Objects) -> Vec<&'static Rule> {
    judge(world, stored).iter().map(|it| it.rule).collect()
}

/// The rules that are violated if the segment of n1 has this object, or none.
fn violated_rules_with_object(world: &World, n1: Option<CapacityObject>) -> Vec<&'static Rule> {
    let mut stored = world.objects.clone();
    let name = stored
        .iter()
        .find(|(_, object)| object.segment() == Some(segment_of("n1")))
        .map(|(key, _)| key.clone());
    if let Some(name) = &name {
        stored.remove(name);
    }
    if let Some(object) = n1 {
        stored.insert(name.unwrap_or_else(|| key("new")), object);
    }
    broken(world, &stored)
}

fn desired_state_of(world: &World, node: &str) -> DesiredState {
    let instance = central();
    let desired = DesiredObjects::of(world, &instance, &world.publishers[&instance]);
    desired.state_for(CLASS, &segment_of(node)).unwrap()
}

#[test]
fn absent_unset_and_zero_capacity_are_equivalent() {
    let mut world = world();
    set_response(&mut world, "n1", CapacityResponse::available(0));
    let nothing = [
        None,
        Some(object("n1", "0")),
        Some(CapacityObject {
            capacity: None,
            ..object("n1", "0")
        }),
    ];
    for choice in nothing {
        assert_eq!(
            violated_rules_with_object(&world, choice.clone()),
            [rules::MISSING],
            "only n2 is missing: {choice:?}"
        );
    }
    assert!(violated_rules_with_object(&world, Some(object("n1", "1"))).contains(&rules::NONZERO_CAPACITY));
    assert_eq!(
        desired_state_of(&world, "n1").unspecified(),
        Some(Unspecified::ZeroOrAbsent)
    );
}

#[test]
fn capacity_and_maximum_are_compared_separately_by_value() {
    let mut world = published();
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10240Mi"))),
        NONE
    );
    let reported = ReportedCapacity {
        available: 10 * GI,
        maximum: Some(4 * GI),
    };
    set_response(&mut world, "n1", CapacityResponse::Reported(reported));
    let maximum = |text: &str| CapacityObject {
        maximum: Some(quantity(text)),
        ..object("n1", "10Gi")
    };
    assert_eq!(violated_rules_with_object(&world, Some(maximum("4Gi"))), NONE);
    assert_eq!(
        violated_rules_with_object(&world, Some(maximum("5Gi"))),
        [rules::WRONG_CAPACITY]
    );
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
        [rules::WRONG_CAPACITY]
    );
    // Before 1.21, the field `maximumVolumeSize` does not exist.
    world.api = Api {
        release: Release::new(20),
        gate: Some(true),
    };
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
        NONE
    );
}

#[test]
fn while_get_capacity_fails_the_object_may_be_retained_or_deleted_but_not_changed() {
    for response in [
        CapacityResponse::error(),
        CapacityResponse::available(-1),
        CapacityResponse::Reported(ReportedCapacity {
            available: 1,
            maximum: Some(-1),
        }),
    ] {
        let mut world = published();
        set_response(&mut world, "n1", response);
        for (choice, broken) in [
            (Some(object("n1", "10Gi")), None),
            (Some(object("n1", "0")), None),
            (None, None),
            (Some(object("n1", "11Gi")), Some(rules::UNKNOWN_CAPACITY)),
            (Some(object("n1", "9Gi")), Some(rules::UNKNOWN_CAPACITY)),
        ] {
            let expected: Vec<&Rule> = broken.into_iter().collect();
            assert_eq!(
                violated_rules_with_object(&world, choice.clone()),
                expected,
                "{choice:?}"
            );
        }
    }
}

#[test]
fn a_response_shortly_before_an_error_may_be_published() {
    let mut world = published();
    for response in [
        CapacityResponse::available(7 * GI),
        CapacityResponse::error(),
        CapacityResponse::error(),
    ] {
        set_response(&mut world, "n1", response);
    }
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "7Gi"))),
        NONE
    );
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "8Gi"))),
        [rules::UNKNOWN_CAPACITY]
    );
}

#[test]
fn a_withdrawing_publisher_deletes_objects_while_get_capacity_fails() {
    for (deletes_unknown_capacity, polls, wrong) in [
        (true, true, vec![rules::UNKNOWN_CAPACITY]),
        // A publisher without polling may not have noticed the error.
        (true, false, vec![]),
        (false, true, vec![]),
    ] {
        let mut world = published();
        let publisher = world.publishers.get_mut(&central()).unwrap();
        (publisher.deletes_unknown_capacity, publisher.polls) = (deletes_unknown_capacity, polls);
        for unknown in [CapacityResponse::error(), CapacityResponse::available(-1)] {
            set_response(&mut world, "n1", unknown);
            assert_eq!(
                violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
                wrong
            );
            assert_eq!(violated_rules_with_object(&world, None), NONE);
        }
    }
}

#[test]
fn a_driver_without_get_capacity_gets_no_new_object() {
    let mut world = world();
    world.drivers.get_mut(DRIVER).unwrap().get_capacity = false;
    assert_eq!(violated_rules_with_object(&world, None), NONE);
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
        [rules::UNKNOWN_CAPACITY]
    );
    world.drivers.insert(DRIVER.to_owned(), Driver::default());
    assert_eq!(
        desired_state_of(&world, "n1").unspecified(),
        Some(Unspecified::ZeroOrAbsent)
    );
}

#[test]
fn a_publisher_without_polling_may_retain_the_old_capacity() {
    let mut world = published();
    world.publishers.get_mut(&central()).unwrap().polls = false;
    set_response(&mut world, "n1", CapacityResponse::available(6 * GI));
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
        NONE
    );
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "6Gi"))),
        NONE
    );
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "8Gi"))),
        [rules::WRONG_CAPACITY]
    );
    assert_eq!(violated_rules_with_object(&world, None), [rules::MISSING]);
}

#[test]
fn immediate_classes_are_published_if_configured_and_otherwise_optional() {
    let mut world = world();
    let now = capacity_spec::world::StorageClass {
        binding: VolumeBindingMode::Immediate,
        ..class()
    };
    world.classes.insert(CLASS.to_owned(), now);
    assert_eq!(
        desired_state_of(&world, "n1").unspecified(),
        Some(Unspecified::ImmediateClasses)
    );
    assert_eq!(violated_rules_with_object(&world, None), NONE);
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
        NONE
    );
    for wrong in ["9Gi", "0"] {
        assert_eq!(
            violated_rules_with_object(&world, Some(object("n1", wrong))),
            [rules::WRONG_CAPACITY]
        );
    }
    world.publishers.get_mut(&central()).unwrap().immediate = true;
    assert_eq!(
        violated_rules_with_object(&world, None),
        [rules::MISSING, rules::MISSING]
    );
}

#[test]
fn a_node_with_a_missing_label_has_no_segment_and_without_keys_the_empty_one() {
    let mut world = published();
    world.nodes.get_mut("n1").unwrap().labels.clear();
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
        [rules::OBSOLETE]
    );
    let node = world.csi_nodes.get_mut("n1").unwrap();
    node.drivers.get_mut(DRIVER).unwrap().topology_keys.clear();
    let instance = central();
    let desired = DesiredObjects::of(&world, &instance, &world.publishers[&instance]);
    assert_eq!(desired.segments(), &BTreeSet::from([[].into(), segment_of("n2")]));
    let everywhere = desired.state_for(CLASS, &[].into()).unwrap();
    assert_eq!(everywhere.unspecified(), Some(Unspecified::WithoutTopology));
}

#[test]
fn a_selector_that_is_not_a_segment_makes_the_object_obsolete() {
    let mut world = published();
    for (topology, is_of_n1) in [
        (
            json!({"matchExpressions": [{"key": KEY, "operator": "In", "values": ["n1"]}]}),
            true,
        ),
        (
            json!({"matchLabels": {KEY: "n1"}, "matchExpressions": [{"key": KEY, "operator": "In", "values": ["n2"]}]}),
            false,
        ),
        (
            json!({"matchExpressions": [{"key": KEY, "operator": "In", "values": ["n1", "n2"]}]}),
            false,
        ),
        (
            json!({"matchExpressions": [{"key": KEY, "operator": "Exists"}]}),
            false,
        ),
        (json!(null), false),
    ] {
        let name = key_of(&published().objects, "n1");
        let labels = object("n1", "0").labels;
        let written = json!({
            "metadata": {"name": name.name, "namespace": name.namespace, "labels": labels},
            "storageClassName": CLASS, "nodeTopology": topology, "capacity": "10Gi",
        });
        world.apply(
            Change::of_object("csistoragecapacities", written)
                .unwrap()
                .unwrap(),
        );
        let expected: &[&Rule] = if is_of_n1 {
            &[]
        } else {
            &[rules::OBSOLETE, rules::MISSING]
        };
        assert_eq!(broken(&world, &world.objects.clone()), expected, "{topology}");
    }
}

#[test]
fn driver_parameters_exclude_sidecar_parameters() {
    let mut world = world();
    let parameters = [("csi.storage.k8s.io/fstype", "ext4"), ("kind", "ssd")];
    let class = world.classes.get_mut(CLASS).unwrap();
    class.parameters = parameters
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    assert_eq!(
        class.driver_parameters().into_keys().collect::<Vec<_>>(),
        ["kind"]
    );
}

#[test]
fn an_object_in_another_namespace_does_not_belong_to_the_publisher() {
    let mut world = published();
    let elsewhere = NamespacedName::new("elsewhere", "x");
    world.objects.insert(elsewhere.clone(), object("n9", "1Gi"));
    assert_eq!(broken(&world, &settled(&world)), NONE);
    let mut stored = world.objects.clone();
    stored.remove(&elsewhere);
    assert_eq!(broken(&world, &stored), [rules::FOREIGN_OBJECT_CHANGED]);
}

#[test]
fn zero_capacity_is_published_if_configured() {
    let mut world = world();
    set_response(&mut world, "n1", CapacityResponse::available(0));
    assert_eq!(settled(&world).len(), 1);
    world
        .publishers
        .get_mut(&central())
        .unwrap()
        .zero_capacity_objects = true;
    assert_eq!(settled(&world).len(), 2);
}

#[test]
fn an_existing_object_is_adopted_whatever_its_name() {
    let mut world = world();
    world.objects.insert(key("z"), object("n1", "3Gi"));
    let stored = settled(&world);
    assert_eq!(broken(&world, &stored), NONE);
    assert!(stored[&key("z")].has_values(&ReportedCapacity::available(10 * GI)));
    // A second object for the same segment is a duplicate, whichever client created it.
    world.objects.insert(key("a"), object("n1", "10Gi"));
    let stored = settled(&world);
    assert_eq!(
        stored
            .values()
            .filter(|it| it.segment() == Some(segment_of("n1")))
            .count(),
        1
    );
    assert_eq!(broken(&world, &stored), NONE);
}

#[test]
fn objects_of_other_publishers_remain_and_the_publisher_creates_its_own() {
    let mut world = world();
    let driver = [(
        "csi.storage.k8s.io/drivername".to_owned(),
        "tape.example.com".to_owned(),
    )];
    let mut of_tape = object("n1", "1Gi");
    of_tape.labels.extend(driver);
    for (name, object) in [("by-hand", by_hand("n1", "1Gi")), ("of-tape", of_tape)] {
        world.objects.insert(key(name), object);
    }
    let stored = settled(&world);
    assert_eq!(broken(&world, &stored), NONE);
    assert_eq!(stored.len(), 4);
    let mut removed = stored;
    removed.remove(&key("of-tape"));
    assert_eq!(broken(&world, &removed), [rules::FOREIGN_OBJECT_CHANGED]);
}

#[test]
fn distributed_instances_manage_their_own_objects_and_the_cleaner_deletes_orphans() {
    let mut world = world();
    let instance = |node: &str| {
        let deployment = Deployment::Distributed(segment_of(node));
        (
            of_node(node),
            Publisher {
                deployment,
                ..publisher()
            },
        )
    };
    world.publishers = ["n1", "n2"].map(instance).into();
    world.objects = settled(&world);
    assert_eq!(world.objects.len(), 2);
    world.publishers.remove(&of_node("n2"));
    let mut stored = world.objects.clone();
    assert_eq!(broken(&world, &stored), NONE);
    stored.remove(&key_of(&stored, "n2"));
    assert_eq!(broken(&world, &stored), [rules::FOREIGN_OBJECT_CHANGED]);
    // The cleaner may delete the objects after the driver has been unregistered from the node.
    world.cleaner = Some(Cleaner {
        driver: DRIVER.to_owned(),
        namespace: key("").namespace,
        ..Cleaner::default()
    });
    assert_eq!(broken(&world, &stored), [rules::FOREIGN_OBJECT_CHANGED]);
    world.csi_nodes.remove("n2");
    assert_eq!(broken(&world, &stored), NONE);
    assert_eq!(broken(&world, &world.objects.clone()), [rules::ORPHANED]);
    world.cleaner.as_mut().unwrap().waiting.insert("n2".to_owned());
    assert_eq!(broken(&world, &world.objects.clone()), NONE);
    // The object must remain if a publisher on a node with a long name may have this shortened label.
    world.cleaner.as_mut().unwrap().waiting.clear();
    let long = "n".repeat(63);
    world
        .csi_nodes
        .insert(long.clone(), world.csi_nodes["n1"].clone());
    world.nodes.insert(long, world.nodes["n2"].clone());
    assert_eq!(broken(&world, &world.objects.clone()), NONE);
}

#[test]
fn objects_have_the_configured_owner_only() {
    let mut world = published();
    world.publishers.get_mut(&central()).unwrap().owner = Some(owner("u"));
    assert_eq!(broken(&world, &world.objects.clone()), [rules::WRONG_OWNER; 2]);
    // A publisher without polling need not check existing objects.
    world.publishers.get_mut(&central()).unwrap().polls = false;
    assert_eq!(broken(&world, &world.objects.clone()), NONE);
    world.publishers.get_mut(&central()).unwrap().polls = true;
    world.objects = settled(&world);
    assert_eq!(broken(&world, &world.objects.clone()), NONE);
    let owned = world.objects.clone();
    world = published();
    world.publishers.get_mut(&central()).unwrap().owner = Some(owner("u"));
    // Without a capacity value the publisher need not write the object, but may set the object's owner.
    set_response(
        &mut world,
        "n1",
        CapacityResponse::Error {
            before: BTreeSet::new(),
        },
    );
    assert_eq!(broken(&world, &world.objects.clone()), [rules::WRONG_OWNER]);
    assert_eq!(broken(&world, &owned), NONE);
    let mut stored = owned.clone();
    world.objects = owned;
    stored
        .values_mut()
        .for_each(|object| object.owners.push(owner("second")));
    assert_eq!(broken(&world, &stored), [rules::WRONG_OWNER; 2]);
    // External-provisioner 2.0.0 recognizes its objects only by owner.
    world.publishers.get_mut(&central()).unwrap().identifies_by_owner = true;
    assert_eq!(broken(&world, &world.objects.clone()), NONE);
    world.objects.insert(key("labelled"), object("n9", "1Gi"));
    assert_eq!(broken(&world, &world.objects.clone()), NONE);
}

#[test]
fn a_response_before_an_error_may_be_stored_without_its_maximum() {
    let mut world = published();
    let reported = ReportedCapacity {
        available: 10 * GI,
        maximum: Some(GI),
    };
    set_response(
        &mut world,
        "n1",
        CapacityResponse::Error {
            before: BTreeSet::from([reported]),
        },
    );
    let with_maximum = |maximum: &str| CapacityObject {
        maximum: Some(quantity(maximum)),
        ..object("n1", "10Gi")
    };
    assert_eq!(
        violated_rules_with_object(&world, Some(with_maximum("1Gi"))),
        NONE
    );
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "10Gi"))),
        NONE
    );
    assert_eq!(
        violated_rules_with_object(&world, Some(with_maximum("2Gi"))),
        [rules::UNKNOWN_CAPACITY]
    );
}

#[test]
fn the_observed_label_is_used_if_the_node_name_is_too_long() {
    let name = "n".repeat(60);
    let instance = of_node(&name);
    let mut publisher = publisher();
    assert_eq!(publisher.managed_by(&instance), None);
    publisher.observed_label = Some("shorter".to_owned());
    assert_eq!(publisher.managed_by(&instance).as_deref(), Some("shorter"));
    assert_eq!(
        publisher.managed_by(&of_node("n1")).as_deref(),
        Some("external-provisioner-n1")
    );
}

#[test]
fn no_objects_are_required_if_the_type_is_not_served() {
    let mut world = world();
    for (minor, gate, version) in [
        (18, Some(true), None),
        (20, None, None),
        (20, Some(true), Some("v1alpha1")),
        (21, Some(false), Some("v1beta1")),
        (24, None, Some("v1")),
        (36, None, Some("v1")),
    ] {
        world.api = Api {
            release: Release::new(minor),
            gate,
        };
        assert_eq!(world.api.version(), version, "1.{minor}");
        assert_eq!(
            broken(&world, &Objects::new()).is_empty(),
            version.is_none(),
            "1.{minor}"
        );
    }
}

#[test]
fn without_get_capacity_obsolete_objects_may_remain() {
    let mut world = published();
    world.classes.clear();
    assert_eq!(broken(&world, &world.objects), [rules::OBSOLETE; 2]);
    world.drivers.get_mut(DRIVER).unwrap().get_capacity = false;
    assert_eq!(broken(&world, &world.objects), NONE);
    assert_eq!(broken(&world, &Objects::new()), NONE);
    assert_eq!(
        violated_rules_with_object(&world, Some(object("n1", "7Gi"))),
        [rules::OBSOLETE]
    );
}

#[test]
fn an_older_release_ignores_a_stored_maximum() {
    let mut world = published();
    let stored = CapacityObject {
        maximum: Some(quantity("1Gi")),
        ..object("n1", "10Gi")
    };
    assert_eq!(
        violated_rules_with_object(&world, Some(stored.clone())),
        [rules::WRONG_CAPACITY]
    );
    world.api = Api {
        release: Release::new(20),
        gate: Some(true),
    };
    assert_eq!(violated_rules_with_object(&world, Some(stored)), NONE);
}
