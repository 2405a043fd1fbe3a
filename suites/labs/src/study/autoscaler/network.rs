//! Experiments with storage that all nodes of a zone share: with a zone label on the template node, and with a zone without nodes.

use super::input_cluster::{Group, InputCluster};
use super::iteration::AutoscalerFeatures;
use super::recipe::{Readiness, Recipe};
use super::run::simulate;
use super::setting::{EMPTY_ZONE, FIRST_ZONE, HOSTPATH, PODS, ZONAL, zonal, zone_label, zone_object};
use crate::study::result::{Bound, Finding, findings};

pub(super) fn findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let nothing = Recipe {
        readiness: Readiness::Counterparts,
        ..Recipe::default()
    };
    // A node of a second node group, with one pod, makes the zone known to the autoscaler.
    let mut beside = zonal(0, FIRST_ZONE);
    beside.groups.push(Group {
        min_size: 1,
        max_size: 1,
        slots: 1,
        ..Group::new("others", FIRST_ZONE)
    });
    beside.pods.extend(ZONAL.pods(1, 1));
    let elsewhere = zonal(0, EMPTY_ZONE);
    let course = |cluster: &InputCluster, recipe: &Recipe| simulate(cluster, recipe, features);
    let unlabelled = course(&beside, &nothing);
    let copied = course(&zonal(1, FIRST_ZONE), &nothing);
    let object_alone = Recipe {
        pool_labels: Vec::new(),
        ..zone_object(EMPTY_ZONE)
    };
    let unknown = [
        course(&elsewhere, &zone_label(EMPTY_ZONE)),
        course(&elsewhere, &object_alone),
    ];
    let known = course(&elsewhere, &zone_object(EMPTY_ZONE));
    let pods = Bound::Exactly(PODS as f64);
    let stuck = unknown.iter().map(|course| course.pending_pods()).min();
    let mut findings = findings![
        none "AUTO-02", "nodes added to a pool whose template node lacks the driver's label, in a zone with storage",
            unlabelled.added_nodes();
        none "AUTO-02", "pods that stay pending once the pool's configuration has the label",
            course(&beside, &zone_label(FIRST_ZONE)).pending_pods();
        count "AUTO-14", "nodes added because of the zone's own objects, if a node of the pool has the label",
            copied.added_nodes(), pods;
        count "AUTO-15", "pods that stay pending for a zone without nodes, if only the label or only an object exists",
            stuck.unwrap_or_default(), pods;
        none "AUTO-15", "pods that stay pending for a zone without nodes, if label and object exist", known.pending_pods();
        none "LIM-26", "nodes added in a zone without nodes, if the administrator creates no object",
            unknown.iter().map(|course| course.added_nodes()).sum();
    ];
    findings.extend(combined_findings(features));
    findings
}

/// A cluster with a local and a zonal driver, and the KEP's configuration for the local driver.
pub(super) fn local_and_zonal() -> (InputCluster, Recipe) {
    let (local, network) = (HOSTPATH.local(), zonal(1, FIRST_ZONE));
    let mut cluster = local;
    cluster.groups.extend(network.groups);
    cluster.drivers.extend(network.drivers);
    cluster.pods.extend(network.pods);
    (cluster, HOSTPATH.recipe())
}

/// A finding on a cluster with a local and a zonal driver, if the autoscaler is configured only for the local driver.
fn combined_findings(features: AutoscalerFeatures) -> Vec<Finding> {
    let (cluster, recipe) = local_and_zonal();
    let course = simulate(&cluster, &recipe, features);
    findings![
        none "AUTO-10", "pods that stay pending with a local and a zonal driver at once", course.pending_pods();
    ]
}
