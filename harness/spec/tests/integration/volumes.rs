//! Rules for volumes: allowed corner cases, and all variants of violations. `rule_examples` tests that each rule can be violated.

use capacity_spec::always::{Actor, Event, Monitor};
use capacity_spec::volumes::{Backend, CreateVolumeCall, CreateVolumeResult};
use capacity_spec::world::{
    CapacityResponse, Change, Claim, ClaimRef, Deployment, NamespacedName, Parameters, Publisher, Volume,
    VolumeBindingMode,
};
use capacity_spec::{Rule, Violation, World, rules};
use capacity_types::Segment;

use super::build::{
    CLASS, DRIVER, GI, central, class, of_node, publisher, quantity, segment_of, set_response, world,
};

const NOTHING: [&Rule; 0] = [];

/// The storage of a driver with this many free GiB in each segment. `None`: the driver is stopped.
pub(crate) struct FreeCapacity(pub(crate) Option<i64>);

impl Backend for FreeCapacity {
    fn is_up(&self) -> bool {
        self.0.is_some()
    }

    fn can_create(&self, _: &Segment, _: &Parameters, _: bool, bytes: i128) -> bool {
        bytes <= i128::from(self.0.unwrap_or(0) * GI)
    }
}

pub(crate) fn claim_key() -> NamespacedName {
    NamespacedName::new("default", "data")
}

/// A PVC of 2Gi, with or without a selected node.
pub(crate) fn claim(node: Option<&str>) -> Claim {
    Claim {
        uid: "u-1".to_owned(),
        class: CLASS.to_owned(),
        request: Some(quantity("2Gi")),
        selected_node: node.map(str::to_owned),
        ..Claim::default()
    }
}

/// The cluster of `build`, with the PVC of `claim`.
pub(crate) fn claimed(node: Option<&str>) -> World {
    let mut world = world();
    world.claims.insert(claim_key(), claim(node));
    world
}

pub(crate) fn made_at(node: &str) -> CreateVolumeResult {
    CreateVolumeResult::Created {
        id: "v-1".to_owned(),
        segment: segment_of(node),
        is_received: true,
    }
}

/// A CreateVolume call of the central provisioner for the PVC. `node`: determines the preferred segment.
pub(crate) fn creation(node: &str, result: CreateVolumeResult) -> CreateVolumeCall {
    CreateVolumeCall {
        by: central(),
        name: "pvc-u-1".to_owned(),
        bytes: Some(2 * GI),
        is_clone: false,
        preferred_segment: segment_of(node),
        allows_other_segments: false,
        result,
        exceeds_capacity: false,
    }
}

pub(crate) fn set_claim(claim: Option<Claim>) -> Event {
    Event::Changed(Change::Claim(claim_key(), claim))
}

/// The violations of the events, and of the state after them at quiescence. `free_gib`: free capacity in each segment.
pub(crate) fn violations_after(
    world: World,
    events: impl IntoIterator<Item = Event>,
    free_gib: Option<i64>,
) -> Vec<Violation> {
    let mut monitor = Monitor::new(world);
    let mut violations: Vec<Violation> = events
        .into_iter()
        .flat_map(|event| monitor.observe(event))
        .collect();
    violations.extend(monitor.volume_violations(&FreeCapacity(free_gib)));
    violations
}

fn broken(
    world: World,
    events: impl IntoIterator<Item = Event>,
    free_gib: Option<i64>,
) -> Vec<&'static Rule> {
    violations_after(world, events, free_gib)
        .iter()
        .map(|it| it.rule)
        .collect()
}

/// The violations at quiescence if there are no events.
fn violated_rules_at_quiescence(world: World, free_gib: Option<i64>) -> Vec<&'static Rule> {
    broken(world, [], free_gib)
}

/// A successful DeleteVolume call of the publisher.
fn deleted() -> Event {
    Event::VolumeDeleted {
        id: "v-1".to_owned(),
        by: Actor::Publisher(central()),
    }
}

/// The creation of the PersistentVolume and the binding of the PVC.
pub(crate) fn bound() -> [Event; 2] {
    let volume = Volume {
        driver: DRIVER.to_owned(),
        class: CLASS.to_owned(),
        handle: "v-1".to_owned(),
        is_reclaimed: true,
        claim: Some(ClaimRef {
            claim: claim_key(),
            uid: "u-1".to_owned(),
        }),
        ..Volume::default()
    };
    let bound = Claim {
        volume: "pvc-u-1".to_owned(),
        ..claim(Some("n1"))
    };
    let saved = Change::Volume("pvc-u-1".to_owned(), Some(volume));
    [Event::Changed(saved), set_claim(Some(bound))]
}

fn immediate() -> World {
    let mut world = claimed(None);
    world.classes.get_mut(CLASS).unwrap().binding = VolumeBindingMode::Immediate;
    world
}

/// Replaces the central publisher by a distributed publisher on each of these nodes.
fn distributed(mut world: World, nodes: &[&str]) -> World {
    world.publishers.clear();
    for node in nodes {
        let own = Publisher {
            deployment: Deployment::Distributed(segment_of(node)),
            ..publisher()
        };
        world.publishers.insert(of_node(node), own);
    }
    world
}

#[test]
fn a_pvc_may_wait_for_a_node_for_capacity_and_for_a_provisioner() {
    assert_eq!(
        violated_rules_at_quiescence(claimed(Some("n1")), Some(2)),
        [rules::NOT_PROVISIONED]
    );
    assert_eq!(
        violated_rules_at_quiescence(immediate(), Some(2)),
        [rules::NOT_PROVISIONED]
    );
    assert_eq!(
        violated_rules_at_quiescence(claimed(None), Some(2)),
        NOTHING,
        "no node is selected"
    );
    assert_eq!(
        violated_rules_at_quiescence(claimed(Some("n1")), Some(1)),
        NOTHING,
        "there is no capacity"
    );
    assert_eq!(
        violated_rules_at_quiescence(claimed(Some("n1")), None),
        NOTHING,
        "the driver is down"
    );
    let mut copy = claimed(Some("n1"));
    copy.claims.get_mut(&claim_key()).unwrap().is_clone = true;
    assert_eq!(
        violated_rules_at_quiescence(copy, Some(2)),
        NOTHING,
        "cloning may be impossible"
    );
    assert_eq!(
        violated_rules_at_quiescence(claimed(Some("n9")), Some(2)),
        NOTHING,
        "the node has no driver"
    );
    let elsewhere = distributed(claimed(Some("n1")), &["n2"]);
    assert_eq!(
        violated_rules_at_quiescence(elsewhere, Some(2)),
        NOTHING,
        "no provisioner runs on that node"
    );
    let here = distributed(claimed(Some("n1")), &["n1"]);
    assert_eq!(
        violated_rules_at_quiescence(here, Some(2)),
        [rules::NOT_PROVISIONED]
    );
    let mut outside = claimed(Some("n1"));
    let only = ("disk.example.com/node".to_owned(), vec!["n2".to_owned()]);
    outside.classes.get_mut(CLASS).unwrap().allowed_topologies = vec![vec![only]];
    assert_eq!(
        violated_rules_at_quiescence(outside, Some(2)),
        NOTHING,
        "its class does not allow the node"
    );
}

#[test]
fn distributed_provisioners_take_a_pvc_only_if_get_capacity_suffices() {
    let nodes = ["n1", "n2"];
    let reported = |gib: i64| {
        let mut world = distributed(immediate(), &nodes);
        for node in nodes {
            set_response(&mut world, node, CapacityResponse::available(gib * GI));
        }
        world
    };
    assert_eq!(
        violated_rules_at_quiescence(reported(2), Some(2)),
        [rules::NOT_PROVISIONED]
    );
    assert_eq!(
        violated_rules_at_quiescence(reported(1), Some(2)),
        NOTHING,
        "GetCapacity returns too little"
    );
    let mut chosen = reported(1);
    chosen.claims.insert(claim_key(), claim(Some("n1")));
    chosen.classes.get_mut(CLASS).unwrap().binding = VolumeBindingMode::WaitForFirstConsumer;
    assert_eq!(
        violated_rules_at_quiescence(chosen, Some(2)),
        [rules::NOT_PROVISIONED],
        "with a selected node provisioning is attempted"
    );
}

#[test]
fn the_driver_chooses_the_segment_if_allowed_topologies_lack_a_key() {
    let mut vague = claimed(Some("n1"));
    let (zone, of_n1) = ("zone".to_owned(), "a".to_owned());
    let only = (zone.clone(), vec![of_n1.clone()]);
    vague.classes.get_mut(CLASS).unwrap().allowed_topologies = vec![vec![only]];
    vague
        .nodes
        .get_mut("n1")
        .unwrap()
        .labels
        .insert(zone.clone(), of_n1);
    let registered = vague.csi_nodes.get_mut("n1").unwrap();
    let keys = &mut registered.drivers.get_mut(DRIVER).unwrap().topology_keys;
    keys.push(zone.clone());
    assert_eq!(violated_rules_at_quiescence(vague.clone(), Some(2)), NOTHING);
    let registered = vague.csi_nodes.get_mut("n1").unwrap();
    registered.drivers.get_mut(DRIVER).unwrap().topology_keys = vec![zone];
    assert_eq!(
        violated_rules_at_quiescence(vague, Some(2)),
        [rules::NOT_PROVISIONED]
    );
}

#[test]
fn a_selected_node_may_remain_until_resource_exhausted_is_returned() {
    let exhausted = || Event::CreateVolume(creation("n1", CreateVolumeResult::Exhausted));
    let world = || claimed(Some("n1"));
    assert_eq!(
        broken(world(), [exhausted()], Some(0)),
        [rules::SELECTED_NODE_RETAINED]
    );
    let cleared = [exhausted(), set_claim(Some(claim(None)))];
    assert_eq!(broken(world(), cleared, Some(0)), NOTHING);
    let chosen_again = [
        exhausted(),
        set_claim(Some(claim(None))),
        set_claim(Some(claim(Some("n1")))),
    ];
    assert_eq!(broken(world(), chosen_again, Some(0)), NOTHING);
    let restarted = [
        exhausted(),
        Event::Changed(Change::Publisher(central(), Some(publisher()))),
    ];
    assert_eq!(
        broken(world(), restarted, Some(0)),
        NOTHING,
        "the program that received the error has exited"
    );
    let killed = [Event::Changed(Change::Publisher(central(), None)), exhausted()];
    assert_eq!(
        broken(world(), killed, Some(0)),
        NOTHING,
        "no program received the error"
    );
    let mut everywhere = world();
    let csi_node = everywhere.csi_nodes.get_mut("n1").unwrap();
    csi_node.drivers.get_mut(DRIVER).unwrap().topology_keys.clear();
    assert_eq!(
        broken(everywhere, [exhausted()], Some(0)),
        NOTHING,
        "no other node is better"
    );
}

#[test]
fn a_volume_without_a_pvc_must_be_deleted() {
    let made = || Event::CreateVolume(creation("n1", made_at("n1")));
    let gone = || set_claim(None);
    let world = || claimed(Some("n1"));
    assert_eq!(
        broken(world(), [made()], Some(0)),
        NOTHING,
        "its PVC waits for it"
    );
    assert_eq!(
        broken(world(), [made(), gone()], Some(0)),
        [rules::VOLUME_NOT_DELETED]
    );
    let deleted = [made(), gone(), deleted()];
    assert_eq!(broken(world(), deleted, Some(0)), NOTHING);
    let restarted = Event::Changed(Change::Publisher(central(), Some(publisher())));
    let forgotten = [made(), restarted.clone(), gone()];
    assert_eq!(
        broken(world(), forgotten, Some(0)),
        NOTHING,
        "no PersistentVolume refers to it"
    );
    let [saved, bound] = bound();
    let kept = [made(), saved.clone(), bound.clone()];
    assert_eq!(broken(world(), kept, Some(0)), NOTHING);
    let released = [made(), saved, bound, restarted, gone()];
    assert_eq!(
        broken(world(), released, Some(0)),
        [rules::VOLUME_NOT_DELETED],
        "the PersistentVolume outlives the program"
    );
}

#[test]
fn a_second_volume_for_a_pvc_leaks_the_first() {
    let mut lost = creation("n1", made_at("n1"));
    lost.name = "pvc-u-1-again".to_owned();
    let result = CreateVolumeResult::Created {
        id: "v-2".to_owned(),
        segment: segment_of("n1"),
        is_received: false,
    };
    lost.result = result;
    let [saved, bound] = bound();
    let events = [
        Event::CreateVolume(lost),
        Event::CreateVolume(creation("n1", made_at("n1"))),
        saved,
        bound,
    ];
    assert_eq!(
        broken(claimed(Some("n1")), events, Some(0)),
        [rules::VOLUME_NOT_DELETED]
    );
}

#[test]
fn create_volume_must_match_an_observed_state_of_the_pvc() {
    let violations_of =
        |world: World, creation: CreateVolumeCall| broken(world, [Event::CreateVolume(creation)], Some(0));
    assert_eq!(
        violations_of(claimed(None), creation("n1", CreateVolumeResult::Failed)),
        [rules::PROVISIONED_BEFORE_NODE_SELECTED]
    );
    assert_eq!(
        violations_of(immediate(), creation("n1", CreateVolumeResult::Failed)),
        NOTHING
    );
    let of_another = CreateVolumeCall {
        by: of_node("n2"),
        ..creation("n1", CreateVolumeResult::Failed)
    };
    let nodes = distributed(claimed(Some("n1")), &["n1", "n2"]);
    assert_eq!(
        violations_of(nodes, of_another),
        [rules::PROVISIONED_BEFORE_NODE_SELECTED]
    );
    let small = CreateVolumeCall {
        bytes: Some(GI),
        ..creation("n1", CreateVolumeResult::Failed)
    };
    assert_eq!(violations_of(claimed(Some("n1")), small), [rules::WRONG_SIZE]);
    // The provisioner may not have received the removal of the selected node yet.
    let late = [
        set_claim(Some(claim(None))),
        Event::CreateVolume(creation("n1", CreateVolumeResult::Failed)),
    ];
    assert_eq!(broken(claimed(Some("n1")), late, Some(0)), NOTHING);
    let unknown = CreateVolumeCall {
        name: "vol-7".to_owned(),
        bytes: Some(GI),
        ..creation("n1", CreateVolumeResult::Failed)
    };
    assert_eq!(
        violations_of(claimed(None), unknown),
        NOTHING,
        "the PVC of the volume is unknown"
    );
}

#[test]
fn a_volume_must_match_allowed_topologies_and_with_strict_topology_its_node() {
    let made = |world: World, node: &str| {
        let events = [Event::CreateVolume(creation(node, made_at(node)))];
        broken(world, events, Some(0))
    };
    assert_eq!(
        made(claimed(Some("n1")), "n2"),
        NOTHING,
        "the node is only preferred"
    );
    let mut strict = claimed(Some("n1"));
    strict.publishers.get_mut(&central()).unwrap().strict_topology = true;
    assert_eq!(made(strict.clone(), "n1"), NOTHING);
    assert_eq!(made(strict.clone(), "n2"), [rules::MISPLACED]);
    let among_several = |world: World| {
        let several = CreateVolumeCall {
            allows_other_segments: true,
            ..creation("n1", made_at("n1"))
        };
        broken(world, [Event::CreateVolume(several)], Some(0))
    };
    assert_eq!(among_several(strict.clone()), [rules::MISPLACED]);
    // An earlier state without a selected node does not allow a volume in another segment.
    let chosen = strict.claims.values().next().cloned();
    for claim in strict.claims.values_mut() {
        claim.selected_node = None;
    }
    let chosen_now = [
        set_claim(chosen),
        Event::CreateVolume(creation("n2", made_at("n2"))),
    ];
    assert_eq!(broken(strict, chosen_now, Some(0)), [rules::MISPLACED]);
    assert_eq!(among_several(claimed(Some("n1"))), NOTHING);
    let allowing = |key: &str| {
        let mut world = claimed(Some("n1"));
        let only = (key.to_owned(), vec!["n1".to_owned()]);
        world.classes.insert(
            CLASS.to_owned(),
            capacity_spec::world::StorageClass {
                allowed_topologies: vec![vec![only]],
                ..class()
            },
        );
        world
    };
    assert_eq!(made(allowing("disk.example.com/node"), "n2"), [rules::MISPLACED]);
    assert_eq!(
        made(allowing("kubernetes.io/hostname"), "n2"),
        NOTHING,
        "the driver does not know that key"
    );
}

#[test]
fn a_call_with_unknown_result_must_be_retried_in_the_same_topology() {
    let lost = CreateVolumeResult::Created {
        id: "v-1".to_owned(),
        segment: segment_of("n1"),
        is_received: false,
    };
    for (result, wrong) in [
        (
            CreateVolumeResult::Unknown,
            vec![rules::RETRIED_WITH_OTHER_TOPOLOGY],
        ),
        (lost, vec![rules::RETRIED_WITH_OTHER_TOPOLOGY]),
        (CreateVolumeResult::Failed, vec![]),
    ] {
        let again = |node: &str| {
            [
                Event::CreateVolume(creation("n1", result.clone())),
                Event::CreateVolume(creation(node, CreateVolumeResult::Failed)),
            ]
        };
        assert_eq!(broken(claimed(Some("n1")), again("n1"), Some(0)), NOTHING);
        assert_eq!(
            broken(claimed(Some("n1")), again("n2"), Some(0)),
            wrong,
            "{result:?}"
        );
    }
}

#[test]
fn a_volume_for_which_the_driver_returned_resource_exhausted_is_not_a_violation() {
    let lost = CreateVolumeResult::Created {
        id: "v-1".to_owned(),
        segment: segment_of("n1"),
        is_received: false,
    };
    let moved = |node| set_claim(Some(claim(node)));
    let story = |denied: CreateVolumeResult| {
        [
            Event::CreateVolume(creation("n1", lost.clone())),
            Event::CreateVolume(creation("n1", denied)),
            moved(None),
            moved(Some("n2")),
            Event::CreateVolume(creation("n2", CreateVolumeResult::Failed)),
        ]
    };
    assert_eq!(
        broken(claimed(Some("n1")), story(CreateVolumeResult::Exhausted), Some(9)),
        NOTHING
    );
    let refused = broken(claimed(Some("n1")), story(CreateVolumeResult::Failed), Some(9));
    assert!(refused.contains(&rules::NOT_PROVISIONED), "{refused:?}");
}

#[test]
fn an_immediate_pvc_taken_by_one_instance_is_not_provisioned_by_another() {
    let taken_by = |node: &str| {
        let mut world = distributed(immediate(), &["n2"]);
        world.claims.insert(claim_key(), claim(Some(node)));
        set_response(&mut world, "n2", CapacityResponse::available(10 * GI));
        violated_rules_at_quiescence(world, Some(9))
    };
    assert_eq!(taken_by("n1"), NOTHING);
    assert_eq!(taken_by("n2"), [rules::NOT_PROVISIONED]);
}
