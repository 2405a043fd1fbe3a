//! Experiments with node-local storage: without the configuration of the autoscaler in the KEP, with parts of it, and with all of it.

use capacity_types::Labels;

use super::input_cluster::{Driver, InputCluster, Pod, ReportedCapacity};
use super::iteration::{AutoscalerFeatures, Iteration};
use super::recipe::{Object, Readiness, Recipe, Rewrite};
use super::run::{SimulationResult, simulate, simulate_with_scale_down};
use super::setting::{HOSTPATH, NODE_CAPACITY, OTHER_NAMES, PODS};
use super::state::{State, feasible_nodes};
use crate::study::cluster;
use crate::study::result::{Bound, Finding, findings};

/// Round of the simulation in which all pods are deleted, long after they were scheduled.
const DELETION_ROUND: usize = 40;

pub(super) fn findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let mut findings = scale_up_findings(features);
    findings.extend(template_label_findings(features));
    findings.extend(capacity_object_findings(features));
    findings.extend(readiness_findings(features));
    findings.extend(volume_counting_findings(features));
    findings.push(misconfiguration_finding(features));
    findings
}

fn exactly(count: usize) -> Bound {
    Bound::Exactly(count as f64)
}

fn scale_up_findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let cluster = HOSTPATH.local();
    let run = |recipe: &Recipe| simulate(&cluster, recipe, features);
    let (without, with) = (run(&Recipe::default()), run(&HOSTPATH.recipe()));
    let cycle = simulate_with_scale_down(&cluster, &HOSTPATH.recipe(), features, DELETION_ROUND);
    let other = simulate(&OTHER_NAMES.local(), &OTHER_NAMES.recipe(), features);
    findings![
        none "AUTO-01", "nodes added without the KEP's configuration", without.added_nodes();
        count "AUTO-01", format!("pods, of {PODS}, that stay pending without the KEP's configuration"),
            without.pending_pods(), exactly(PODS);
        none "AUTO-03", "pods that stay pending with the KEP's configuration", with.pending_pods();
        count "AUTO-12", format!("rounds with a scale-up, for {PODS} pods that each fill a node"),
            with.scale_ups(), exactly(PODS);
        count "LIM-25", "maximum number of nodes added in one round", with.max_added(), exactly(1);
        count "AUTO-13", "pods that are scheduled with the KEP's configuration, one node at a time, but not without it",
            without.pending_pods() - with.pending_pods().min(without.pending_pods()), exactly(PODS);
        count "AUTO-16", "nodes after all pods were created, scheduled and deleted",
            cycle.nodes(), exactly(cluster.groups[0].min_size);
        count "AUTO-16", "capacity objects of the publisher after all pods were deleted",
            cycle.published, exactly(cluster.groups[0].min_size);
        count "AUTO-16", "nodes added before the pods were deleted", cycle.added_nodes(), exactly(PODS);
        none "AUTO-17", "rounds that differ if driver, label and pool have other names",
            different_rounds(&with, &other);
    ]
}

fn different_rounds(left: &SimulationResult, right: &SimulationResult) -> usize {
    let pairs = left.rounds.iter().zip(&right.rounds);
    let lengths = left.rounds.len().abs_diff(right.rounds.len());
    pairs.filter(|(left, right)| left != right).count() + lengths
}

/// Findings on the template node with and without its own segment, while the existing node is full, empty, or larger than a new one.
fn template_label_findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let cluster = HOSTPATH.local();
    let state = State::new(&cluster);
    let recipe = HOSTPATH.recipe();
    let iteration = Iteration::new(&cluster, &recipe, features, &state);
    let template = iteration.template_labels(0);
    let borrowed = state
        .published(&cluster)
        .iter()
        .filter(|object| object.topology.admits(&template))
        .count();
    let unconfigured = Recipe::default();
    let plain = Iteration::new(&cluster, &unconfigured, features, &state).template_labels(0);
    let wrong = |labels: &Labels| -> usize {
        let left = (0..=2).map(|times| times * NODE_CAPACITY);
        left.map(|left| wrong_predictions(&cluster, labels, left)).sum()
    };
    findings![
        none "AUTO-03", "objects of real nodes that match the template node with the KEP's configuration", borrowed;
        none "AUTO-04", "wrong predictions for a new node by the template node with the KEP's configuration", wrong(&template);
        count "AUTO-04", "wrong predictions without the KEP's configuration, from a node that is full or larger than a new one",
            wrong(&plain), Bound::AtLeast(2.0);
    ]
}

/// Number of volume sizes for which the template node wrongly predicts whether a volume fits a new node. `left`: free capacity of the
/// node from which the template is made.
fn wrong_predictions(cluster: &InputCluster, template: &Labels, left: u64) -> usize {
    let segment: Labels = [(HOSTPATH.key.to_owned(), format!("{}-0", HOSTPATH.group))].into();
    let real = cluster::capacity(
        "real",
        HOSTPATH.class,
        cluster::topology_with_labels(&segment),
        Some(left),
    );
    let template_segment = cluster::topology_with_labels(&HOSTPATH.template());
    let manual = cluster::capacity("manual", HOSTPATH.class, template_segment, Some(NODE_CAPACITY));
    let objects = [real, manual];
    let node = [("template".to_owned(), template.clone())];
    let is_wrong = |bytes: &u64| {
        let pod = Pod {
            class: HOSTPATH.class.to_owned(),
            bytes: *bytes,
        };
        feasible_nodes(cluster, &node, &objects, &pod).is_empty() == (*bytes <= NODE_CAPACITY)
    };
    (1..=2 * NODE_CAPACITY).filter(is_wrong).count()
}

fn capacity_object_findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let mut from_zero = HOSTPATH.local();
    from_zero.groups[0].min_size = 0;
    from_zero.pods.pop();
    let configured = simulate(&from_zero, &HOSTPATH.recipe(), features);
    let unlabelled = Recipe {
        pool_labels: Vec::new(),
        ..HOSTPATH.recipe()
    };
    let unlabelled = simulate(&from_zero, &unlabelled, features);
    // A second storage class, which has no capacity object for the template segment.
    let mut two = HOSTPATH.local();
    two.drivers[0].classes.push("other".to_owned());
    let of = |class: &str| {
        let mut cluster = two.clone();
        cluster
            .pods
            .iter_mut()
            .for_each(|pod| pod.class = class.to_owned());
        simulate(&cluster, &HOSTPATH.recipe(), features)
    };
    findings![
        count "AUTO-05", "nodes added to an empty pool whose configuration has the label",
            configured.added_nodes(), exactly(PODS);
        none "AUTO-05", "nodes added to an empty pool without the label", unlabelled.added_nodes();
        count "AUTO-06", "nodes added for pods of the class that has an object for the template segment",
            of(HOSTPATH.class).added_nodes(), exactly(PODS);
        none "AUTO-06", "nodes added for pods of the class that has no object for the template segment", of("other").added_nodes();
        none "AUTO-07", "volume sizes for which the scheduler's filter decides differently about template and real node",
            different_sizes(features);
    ]
}

/// Number of volume sizes for which the filter decides differently about the template node and the real node.
fn different_sizes(features: AutoscalerFeatures) -> usize {
    let cluster = HOSTPATH.local();
    let state = State::new(&cluster);
    let recipe = HOSTPATH.recipe();
    let iteration = Iteration::new(&cluster, &recipe, features, &state);
    let template = iteration.template_labels(0);
    let real = state
        .nodes
        .iter()
        .map(|node| (node.name.clone(), node.labels.clone()));
    let real: Vec<_> = real.collect();
    let published = state.published(&cluster);
    let differs = |bytes: &u64| {
        let pod = Pod {
            class: HOSTPATH.class.to_owned(),
            bytes: *bytes,
        };
        let on_real = !feasible_nodes(&cluster, &real, &published, &pod).is_empty();
        iteration.fits(&template, &pod) != on_real
    };
    (0..=2 * NODE_CAPACITY).filter(differs).count()
}

/// Findings on when a new node counts as ready: with a driver that starts late, and with two drivers of different delays.
fn readiness_findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let extra = |cluster: &InputCluster, readiness: Readiness| {
        let recipe = Recipe {
            readiness,
            objects: objects_for(cluster),
            ..HOSTPATH.recipe()
        };
        let course = simulate(cluster, &recipe, features);
        course.added_nodes() - PODS.min(course.added_nodes()) + course.pending_pods()
    };
    let late = |delay: usize| {
        let mut cluster = HOSTPATH.local();
        cluster.drivers[0].delay = delay;
        cluster
    };
    let waiting: usize = (0..5)
        .map(|delay| extra(&late(delay), Readiness::Counterparts))
        .sum();
    let two = two_drivers();
    findings![
        none "AUTO-08", "surplus nodes, or pods that stay pending, if drivers start 0 to 4 rounds after the node",
            waiting;
        count "AUTO-09", "surplus nodes if a node counts as ready without its objects, and its driver starts two rounds later",
            extra(&late(2), Readiness::Kubelet), Bound::AtLeast(1.0);
        none "AUTO-10", "surplus nodes for two drivers with two classes each, if each object of the template node needs a counterpart",
            extra(&two, Readiness::Counterparts);
        count "AUTO-10", "surplus nodes for two drivers with two classes each, if any object of the template node is enough",
            extra(&two, Readiness::AnyObject), Bound::AtLeast(1.0);
    ]
}

/// Capacity objects for the template segment, one per class of each driver. All drivers of the cluster use the same topology key.
fn objects_for(cluster: &InputCluster) -> Vec<Object> {
    let classes = cluster.drivers.iter().flat_map(|driver| &driver.classes);
    classes
        .map(|class| HOSTPATH.object(class, NODE_CAPACITY))
        .collect()
}

/// A cluster with two drivers, which use the same topology key. The pods need the driver with the longer delay.
fn two_drivers() -> InputCluster {
    let mut cluster = HOSTPATH.local();
    cluster.drivers[0].delay = 4;
    cluster.drivers[0].classes.push("local-2".to_owned());
    cluster.drivers.push(Driver {
        name: "quick.example.com".to_owned(),
        classes: ["quick-1", "quick-2"].map(str::to_owned).into(),
        delay: 1,
        ..HOSTPATH.driver()
    });
    cluster
}

/// Findings on subtracting the volumes of simulated pods from the template node's capacity, which saves iterations if the object contains
/// the total capacity, and is wrong if it contains the maximum volume size.
fn volume_counting_findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let counts = AutoscalerFeatures {
        counts_volumes: true,
        ..features
    };
    let mut disks = HOSTPATH.local();
    disks.drivers[0].disks = vec![NODE_CAPACITY; 4];
    disks.drivers[0].reports = ReportedCapacity::MaximumVolumeSize;
    disks.pods = HOSTPATH.pods(4 + 8, NODE_CAPACITY);
    let recipe = HOSTPATH.recipe();
    let total = HOSTPATH.local();
    findings![
        count "AUTO-18", format!("rounds with a scale-up for {PODS} pods, if the autoscaler subtracts volumes and drivers report the total capacity"),
            simulate(&total, &recipe, counts).scale_ups(), exactly(1);
        count "AUTO-18", "nodes added for eight volumes without subtracting them, if each node has four disks and its driver reports the largest",
            simulate(&disks, &recipe, features).added_nodes(), exactly(2);
        count "AUTO-18", "nodes added for eight volumes with subtracting them, if each node has four disks and its driver reports the largest",
            simulate(&disks, &recipe, counts).added_nodes(), Bound::AtLeast(4.0);
    ]
}

/// A finding on several misconfigurations of the autoscaler, each of which must leave pods pending.
fn misconfiguration_finding(features: AutoscalerFeatures) -> Finding {
    let cluster = HOSTPATH.local();
    let mut from_zero = cluster.clone();
    from_zero.groups[0].min_size = 0;
    let right = HOSTPATH.recipe();
    let replaced = |replacement: &str| {
        let rewrites = right.rewrites.iter().map(|rewrite| Rewrite {
            replacement: format!("{}={replacement}", HOSTPATH.key),
            ..rewrite.clone()
        });
        Recipe {
            rewrites: rewrites.collect(),
            ..right.clone()
        }
    };
    let runs = [
        (&cluster, replaced("aks-workerpool-templates")),
        (
            &cluster,
            Recipe {
                rewrites: OTHER_NAMES.rewrite(),
                ..right.clone()
            },
        ),
        (
            &cluster,
            Recipe {
                objects: Vec::new(),
                ..right.clone()
            },
        ),
        (
            &from_zero,
            Recipe {
                pool_labels: vec![(OTHER_NAMES.group.to_owned(), HOSTPATH.template())],
                ..right.clone()
            },
        ),
    ];
    let stuck = runs
        .iter()
        .filter(|(cluster, recipe)| simulate(cluster, recipe, features).pending_pods() > 0);
    let shows = "misconfigurations that leave pods pending: a wrong replacement, a pattern for another label, no object, the label on another pool";
    Finding::count("LIM-27", shows, stuck.count(), exactly(runs.len()))
}
