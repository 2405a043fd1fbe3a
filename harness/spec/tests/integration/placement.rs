//! Rules for the nodes of pods, in situations that recorded decisions and cases do not cover.

use std::collections::BTreeSet;

use capacity_spec::placement::{
    Decision, IndexedWorld, NodeVerdict, PodRejection, Reason, pending_violations,
};
use capacity_spec::world::{
    Api, CapacityObject, Change, Effect, Extender, NamespacedName, PodVolume, Release, Reservations,
    ShapePoint, Taint, Toleration,
};
use capacity_spec::{World, rules};
use serde_json::json;

use super::build::{CLASS, DRIVER, KEY, add_pod, by_hand, key, object, published, quantity};

fn decide(world: &World, pod: &NamespacedName) -> Decision {
    IndexedWorld::new(world).decide(pod)
}

/// Why the node is not feasible; empty if it is.
fn reasons(world: &World, pod: &NamespacedName, node: &str) -> Vec<Reason> {
    match decide(world, pod) {
        Decision::Rejected(rejection) => panic!("{rejection}"),
        Decision::Nodes(nodes) => match &nodes[node] {
            NodeVerdict::Feasible(_) => Vec::new(),
            NodeVerdict::Infeasible(reasons) => reasons.iter().cloned().collect(),
        },
    }
}

fn scores(world: &World, pod: &NamespacedName, node: &str) -> Vec<i64> {
    let decision = decide(world, pod);
    let found = decision.scores().find(|(name, _)| *name == node);
    found
        .map(|(_, scores)| scores.iter().copied().collect())
        .unwrap_or_default()
}

fn put(world: &mut World, resource: &str, object: serde_json::Value) {
    world.apply(Change::of_object(resource, object).unwrap().unwrap());
}

#[test]
fn taints_selectors_and_cordons_exclude_nodes() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["1Gi"]);
    let taint = Taint {
        key: "gpu".to_owned(),
        value: "yes".to_owned(),
        effect: Effect::NoSchedule,
    };
    world.nodes.get_mut("n1").unwrap().taints = vec![taint];
    assert_eq!(reasons(&world, &pod, "n1"), [Reason::Tainted("gpu".to_owned())]);
    for (key, operator, value, is_tolerated) in [
        ("", "Exists", "", true),
        ("gpu", "Exists", "", true),
        ("gpu", "Equal", "yes", true),
        ("gpu", "", "yes", true),
        ("gpu", "Equal", "no", false),
        ("", "Equal", "yes", false),
        ("disk", "Exists", "", false),
    ] {
        let [key, operator, value] = [key, operator, value].map(str::to_owned);
        let toleration = Toleration {
            key,
            operator,
            value,
            effect: None,
        };
        world.pods.get_mut(&pod).unwrap().tolerations = vec![toleration.clone()];
        assert_eq!(
            reasons(&world, &pod, "n1").is_empty(),
            is_tolerated,
            "{toleration:?}"
        );
    }
    world.pods.get_mut(&pod).unwrap().tolerations.clear();
    world.nodes.get_mut("n1").unwrap().taints[0].effect = Effect::PreferNoSchedule;
    assert_eq!(reasons(&world, &pod, "n1"), []);
    world.pods.get_mut(&pod).unwrap().node_selector = [(KEY.to_owned(), "n2".to_owned())].into();
    assert_eq!(reasons(&world, &pod, "n1"), [Reason::NotSelected]);
    assert_eq!(reasons(&world, &pod, "n2"), []);
}

#[test]
fn a_pod_may_select_nodes_by_terms() {
    let mut world = published();
    for (terms, on_n1) in [
        (
            json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]),
            true,
        ),
        (
            json!([{"matchExpressions": [{"key": KEY, "operator": "NotIn", "values": ["n1"]}]}]),
            false,
        ),
        (json!([{}]), false),
        (
            json!([{"matchExpressions": [{"key": KEY, "operator": "Exists"}, {"key": KEY, "operator": "Like", "values": ["n"]}]}]),
            false,
        ),
        (
            json!([{}, {"matchExpressions": [{"key": KEY, "operator": "Exists"}]}]),
            true,
        ),
    ] {
        let required =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        let pod = json!({
            "metadata": {"name": "app", "namespace": "default"},
            "spec": {"affinity": {"nodeAffinity": required}},
        });
        put(&mut world, "pods", pod);
        let pod = NamespacedName::new("default", "app");
        assert_eq!(reasons(&world, &pod, "n1").is_empty(), on_n1, "{terms}");
    }
}

#[test]
fn the_volume_limit_of_a_driver_excludes_a_node() {
    let mut world = published();
    let node = world.csi_nodes.get_mut("n1").unwrap();
    node.drivers.get_mut(DRIVER).unwrap().volumes_max = Some(2);
    let first = add_pod(&mut world, "first", &["1Gi", "1Gi"]);
    assert_eq!(reasons(&world, &first, "n1"), []);
    world.pods.get_mut(&first).unwrap().node = Some("n1".to_owned());
    let second = add_pod(&mut world, "second", &["1Gi"]);
    assert_eq!(
        reasons(&world, &second, "n1"),
        [Reason::TooManyVolumes(DRIVER.to_owned())]
    );
    assert_eq!(reasons(&world, &second, "n2"), []);
    // A volume that is already in use on the node does not count twice.
    world.pods.get_mut(&second).unwrap().volumes = vec![PodVolume::Claim("first-0".to_owned())];
    assert_eq!(reasons(&world, &second, "n1"), []);
}

#[test]
fn pvcs_are_checked_before_nodes() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["1Gi"]);
    let claim = NamespacedName::new("default", "app-0");
    let name = || "app-0".to_owned();
    let good = world.claims[&claim].clone();
    let with = |world: &mut World, change: fn(&mut capacity_spec::world::Claim)| {
        let mut claim_now = good.clone();
        change(&mut claim_now);
        world.claims.insert(claim.clone(), claim_now);
        decide(world, &pod)
    };
    assert_eq!(
        with(&mut world, |it| it.is_deleted = true),
        Decision::Rejected(PodRejection::ClaimTerminating(name()))
    );
    assert_eq!(
        with(&mut world, |it| it.is_lost = true),
        Decision::Rejected(PodRejection::ClaimTerminating(name()))
    );
    assert_eq!(
        with(&mut world, |it| it.class.clear()),
        Decision::Rejected(PodRejection::ClaimUnbound(name()))
    );
    assert_eq!(
        with(&mut world, |it| it.volume = "v".to_owned()),
        Decision::Rejected(PodRejection::ClaimUnbound(name()))
    );
    with(&mut world, |_| {});
    world.pods.get_mut(&pod).unwrap().volumes = vec![PodVolume::Ephemeral(name())];
    assert_eq!(
        decide(&world, &pod),
        Decision::Rejected(PodRejection::ClaimNotOwned(name()))
    );
    world.claims.clear();
    assert_eq!(
        decide(&world, &pod),
        Decision::Rejected(PodRejection::ClaimMissing(name()))
    );
    world.pods.clear();
    assert_eq!(decide(&world, &pod), Decision::Rejected(PodRejection::NoPod));
}

#[test]
fn a_selected_node_or_a_bound_volume_determines_the_node() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["1Gi"]);
    let claim = NamespacedName::new("default", "app-0");
    world.claims.get_mut(&claim).unwrap().selected_node = Some("n2".to_owned());
    assert_eq!(
        reasons(&world, &pod, "n1"),
        [Reason::SelectedElsewhere("app-0".to_owned())]
    );
    assert_eq!(reasons(&world, &pod, "n2"), []);
    let bound = world.claims.get_mut(&claim).unwrap();
    bound.volume = "v".to_owned();
    bound.is_bound = true;
    assert_eq!(
        reasons(&world, &pod, "n2"),
        [Reason::VolumeMissing("app-0".to_owned())]
    );
    let terms = json!([{"matchExpressions": [{"key": KEY, "operator": "In", "values": ["n1"]}]}]);
    let volume = json!({
        "metadata": {"name": "v"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
    });
    put(&mut world, "persistentvolumes", volume);
    assert_eq!(
        reasons(&world, &pod, "n2"),
        [Reason::VolumeElsewhere("app-0".to_owned())]
    );
    // A PVC that is bound needs no capacity.
    world.objects.clear();
    assert_eq!(reasons(&world, &pod, "n1"), []);
}

#[test]
fn a_volume_reserved_for_the_pvc_wins_over_a_smaller_one() {
    let mut world = published();
    world.objects.clear();
    let pod = add_pod(&mut world, "app", &["5Gi"]);
    let volume = |name: &str, size: &str, node: &str, claim: Option<&str>| {
        let terms = json!([{"matchExpressions": [{"key": KEY, "operator": "In", "values": [node]}]}]);
        json!({
            "metadata": {"name": name}, "status": {"phase": "Available"},
            "spec": {
                "capacity": {"storage": size}, "storageClassName": CLASS,
                "claimRef": claim.map(|name| json!({"namespace": "default", "name": name})),
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
        })
    };
    for (name, size, node, claim, fits) in [
        ("small", "4Gi", "n1", None, false),
        ("enough", "5Gi", "n1", None, true),
        ("elsewhere", "5Gi", "n2", None, false),
        ("meant", "50Gi", "n1", Some("app-0"), true),
        ("of-another", "50Gi", "n1", Some("other"), false),
    ] {
        world.volumes.clear();
        put(&mut world, "persistentvolumes", volume(name, size, node, claim));
        assert_eq!(reasons(&world, &pod, "n1").is_empty(), fits, "{name}");
    }
    // If the volume reserved for the PVC is not accessible from the node, no other volume may be used.
    world.volumes.clear();
    put(
        &mut world,
        "persistentvolumes",
        volume("enough", "5Gi", "n1", None),
    );
    put(
        &mut world,
        "persistentvolumes",
        volume("meant", "5Gi", "n2", Some("app-0")),
    );
    assert_eq!(
        reasons(&world, &pod, "n1"),
        [Reason::NotEnoughCapacity("app-0".to_owned())]
    );
    assert_eq!(reasons(&world, &pod, "n2"), []);
    let mut going = volume("enough", "5Gi", "n1", None);
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    world.volumes.clear();
    put(&mut world, "persistentvolumes", going);
    assert_eq!(
        reasons(&world, &pod, "n1"),
        [Reason::NotEnoughCapacity("app-0".to_owned())]
    );
    world.scheduler.scoring = Some(true);
    put(
        &mut world,
        "persistentvolumes",
        volume("enough", "5Gi", "n1", None),
    );
    put(
        &mut world,
        "persistentvolumes",
        volume("meant", "50Gi", "n1", Some("app-0")),
    );
    // The volume of 50Gi is reserved for the PVC, so the utilization is 5 of 50 instead of 5 of 5.
    assert_eq!(scores(&world, &pod, "n1"), [90]);
}

#[test]
fn with_device_reservations_only_reserved_nodes_are_feasible() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["1Gi"]);
    let nodes = [(pod.clone(), BTreeSet::from(["n2".to_owned()]))].into();
    world.reservations = Some(Reservations {
        driver: DRIVER.to_owned(),
        nodes,
    });
    assert_eq!(reasons(&world, &pod, "n1"), [Reason::NotReserved]);
    assert_eq!(reasons(&world, &pod, "n2"), []);
    // Pods without volumes of the driver need no reservation.
    let plain = add_pod(&mut world, "plain", &[]);
    assert_eq!(reasons(&world, &plain, "n1"), []);
}

#[test]
fn release_and_feature_gate_determine_the_compared_field() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["5Gi"]);
    let object = CapacityObject {
        maximum: Some(quantity("1Gi")),
        ..object("n1", "10Gi")
    };
    world.objects = [(key("a"), object)].into();
    for (minor, gate, fits) in [
        (19, None, true),
        (20, Some(true), true),
        (21, None, false),
        (21, Some(false), true),
        (24, Some(false), false),
        (36, None, false),
    ] {
        world.scheduler.release = Release::new(minor);
        world.scheduler.capacity_gate = gate;
        assert_eq!(reasons(&world, &pod, "n1").is_empty(), fits, "1.{minor} {gate:?}");
    }
    // The scheduler retains CSIStorageCapacity objects while the API server does not serve them; v1alpha1 contains no maximum.
    (world.scheduler.release, world.scheduler.capacity_gate) = (Release::new(36), None);
    for (gate, fits) in [(None, false), (Some(true), true)] {
        let release = Release::new(20);
        world.api = Api { release, gate };
        assert_eq!(reasons(&world, &pod, "n1").is_empty(), fits, "server {gate:?}");
    }
}

#[test]
fn several_objects_allow_several_scores_and_a_maximum_alone_is_not_an_error() {
    let mut world = published();
    world.scheduler.scoring = Some(true);
    let pod = add_pod(&mut world, "app", &["10Gi"]);
    world.objects.insert(key("by-hand"), by_hand("n1", "100Gi"));
    assert_eq!(scores(&world, &pod, "n1"), [0, 90]);
    assert_eq!(scores(&world, &pod, "n2"), [50]);
    let best: Vec<String> = decide(&world, &pod)
        .best()
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(best, ["n1", "n2"]);
    let only_maximum = CapacityObject {
        capacity: None,
        maximum: Some(quantity("20Gi")),
        ..by_hand("n1", "0")
    };
    world.objects = [(key("a"), only_maximum)].into();
    assert_eq!(scores(&world, &pod, "n1"), [0, 50]);
}

#[test]
fn each_scoring_gate_has_a_default_shape_and_a_shape_can_be_configured() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["5Gi"]);
    assert_eq!(scores(&world, &pod, "n2"), [0]);
    world.scheduler.release = Release::new(37);
    assert_eq!(scores(&world, &pod, "n2"), [75]);
    world.scheduler.scoring = Some(false);
    assert_eq!(scores(&world, &pod, "n2"), [0]);
    world.scheduler.scoring = Some(true);
    let point = |utilization, score| ShapePoint { utilization, score };
    world.scheduler.shape = Some(vec![point(0, 0), point(50, 10)]);
    assert_eq!(scores(&world, &pod, "n2"), [50]);
    // The feature gate VolumeCapacityPriority ignores PVCs that would be provisioned.
    world.scheduler.release = Release::new(32);
    world.scheduler.volume_capacity_priority = Some(true);
    assert_eq!(scores(&world, &pod, "n2"), [0]);
}

#[test]
fn an_allowed_topology_term_without_expressions_matches_no_node() {
    let mut world = published();
    let pod = add_pod(&mut world, "app", &["1Gi"]);
    let condition = |value: &str| (KEY.to_owned(), vec![value.to_owned()]);
    for (terms, on_n1) in [
        (vec![], true),
        (vec![vec![]], false),
        (vec![vec![condition("n1")]], true),
        (vec![vec![condition("n2")]], false),
        (vec![vec![condition("n2")], vec![condition("n1")]], true),
        (vec![vec![condition("n1"), condition("n2")]], false),
    ] {
        world.classes.get_mut(CLASS).unwrap().allowed_topologies = terms.clone();
        assert_eq!(reasons(&world, &pod, "n1").is_empty(), on_n1, "{terms:?}");
    }
}

#[test]
fn the_smallest_pvc_gets_the_existing_volume() {
    let mut world = published();
    world.objects = [(key("a"), object("n1", "6Gi"))].into();
    let pod = add_pod(&mut world, "app", &["8Gi", "5Gi"]);
    let volume = json!({
        "metadata": {"name": "v"}, "status": {"phase": "Available"},
        "spec": {"capacity": {"storage": "8Gi"}, "storageClassName": CLASS},
    });
    put(&mut world, "persistentvolumes", volume);
    assert_eq!(
        reasons(&world, &pod, "n1"),
        [Reason::NotEnoughCapacity("app-0".to_owned())]
    );
}

#[test]
fn classes_have_equal_weight_and_half_points_round_up() {
    let mut world = published();
    world.scheduler.scoring = Some(true);
    let pod = add_pod(&mut world, "app", &["30", "30"]);
    world.classes.insert("slow".to_owned(), super::build::class());
    let second = NamespacedName::new("default", "app-1");
    world.claims.get_mut(&second).unwrap().class = "slow".to_owned();
    let slow = CapacityObject {
        class: "slow".to_owned(),
        ..object("n1", "90")
    };
    world.objects = [(key("a"), object("n1", "100")), (key("b"), slow)].into();
    // The mean of 70 and 67 is 68.5, which is rounded up.
    assert_eq!(scores(&world, &pod, "n1"), [69]);
}

#[test]
fn at_quiescence_a_pod_may_only_wait_for_capacity_or_its_volume() {
    let mut world = published();
    add_pod(&mut world, "too-large", &["21Gi"]);
    assert_eq!(pending_violations(&world), []);
    let pod = add_pod(&mut world, "app", &["20Gi"]);
    let rules: Vec<_> = pending_violations(&world).iter().map(|it| it.rule).collect();
    assert_eq!(rules, [rules::WRONGLY_REFUSED]);
    let claim = NamespacedName::new("default", "app-0");
    world.claims.get_mut(&claim).unwrap().selected_node = Some("n2".to_owned());
    assert_eq!(pending_violations(&world), []);
    world.claims.get_mut(&claim).unwrap().selected_node = None;
    world.pods.get_mut(&pod).unwrap().node = Some("n2".to_owned());
    assert_eq!(pending_violations(&world), []);
}

#[test]
fn extenders_filter_nodes_and_add_to_scores() {
    let mut world = published();
    world.scheduler.scoring = Some(true);
    let pod = add_pod(&mut world, "app", &["1Gi"]);
    // By capacity, n2 is the best node: score 95 against 90 of n1.
    let extender = |change: &dyn Fn(&mut Extender)| {
        let mut extender = Extender {
            name: "e".to_owned(),
            weight: 1,
            ..Extender::default()
        };
        change(&mut extender);
        extender
    };
    let best = |world: &mut World, extenders: Vec<Extender>| -> Vec<String> {
        world.extenders = extenders;
        let decision = decide(world, &pod);
        decision.best().into_iter().map(str::to_owned).collect()
    };
    let prefers = |it: &mut Extender| it.scores = [("n1".to_owned(), 1)].into();
    assert_eq!(best(&mut world, vec![]), ["n2"]);
    assert_eq!(best(&mut world, vec![extender(&prefers)]), ["n1"], "10 points");
    let unconcerned = extender(&|it| {
        prefers(it);
        it.has_managed_resources = true;
        it.rejects = ["n2".to_owned()].into();
    });
    assert_eq!(best(&mut world, vec![unconcerned]), ["n2"]);
    let refusing = extender(&|it| it.rejects = ["n2".to_owned()].into());
    assert_eq!(best(&mut world, vec![refusing]), ["n1"]);
    assert_eq!(reasons(&world, &pod, "n2"), [Reason::Extender("e".to_owned())]);
    let ignorable = extender(&|it| {
        prefers(it);
        (it.fails, it.is_ignorable) = (true, true);
    });
    assert_eq!(best(&mut world, vec![ignorable]), ["n2"]);
    let failing = extender(&|it| it.fails = true);
    assert_eq!(best(&mut world, vec![failing]), [""; 0]);
    assert_eq!(
        reasons(&world, &pod, "n1"),
        [Reason::ExtenderFails("e".to_owned())]
    );
}
