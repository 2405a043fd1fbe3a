//! Storage shared by a zone: results with a zone label on the template node, and with an unknown zone.

use super::look::Abilities;
use super::recipe::{Readiness, Recipe};
use super::run::grow;
use super::setting::{ELSEWHERE, HERE, HOSTPATH, PODS, ZONAL, zonal, zone_label, zone_object};
use super::world::{Group, World};
use crate::study::result::{Bound, Finding};

/// The findings.
pub(super) fn findings(abilities: Abilities) -> Vec<Finding> {
    let nothing = Recipe {
        readiness: Readiness::Counterparts,
        ..Recipe::default()
    };
    // A node of another pool makes the zone known, and runs one pod.
    let mut beside = zonal(0, HERE);
    beside.groups.push(Group {
        least: 1,
        most: 1,
        slots: 1,
        ..Group::new("others", HERE)
    });
    beside.pods.extend(ZONAL.pods(1, 1));
    let elsewhere = zonal(0, ELSEWHERE);
    let course = |world: &World, recipe: &Recipe| grow(world, recipe, abilities);
    let unlabelled = course(&beside, &nothing);
    let copied = course(&zonal(1, HERE), &nothing);
    let object_alone = Recipe {
        pool_labels: Vec::new(),
        ..zone_object(ELSEWHERE)
    };
    let unknown = [
        course(&elsewhere, &zone_label(ELSEWHERE)),
        course(&elsewhere, &object_alone),
    ];
    let known = course(&elsewhere, &zone_object(ELSEWHERE));
    let pods = Bound::Exactly(PODS as f64);
    let stuck = unknown.iter().map(|course| course.stuck()).min();
    let mut findings = vec![
        Finding::none(
            "AUTO-02",
            "nodes that are added to a pool whose imagined node lacks the driver's label, in a zone with storage",
            unlabelled.grown(),
        ),
        Finding::none(
            "AUTO-02",
            "pods that are stuck once the pool's configuration has the label",
            course(&beside, &zone_label(HERE)).stuck(),
        ),
        Finding::count(
            "AUTO-14",
            "nodes that are added by the zone's own objects, with the label that a node of the pool has",
            copied.grown(),
            pods,
        ),
        Finding::count(
            "AUTO-15",
            "pods that are stuck for a zone without a node, where either the label or an object is there",
            stuck.unwrap_or_default(),
            pods,
        ),
        Finding::none("AUTO-15", "pods that are stuck where both are", known.stuck()),
        Finding::none(
            "LIM-26",
            "nodes that are added in a zone without a node, unless somebody writes an object",
            unknown.iter().map(|course| course.grown()).sum(),
        ),
    ];
    findings.extend(both(abilities));
    findings
}

/// Local and network storage combined.
pub(super) fn both_kinds() -> (World, Recipe) {
    let (local, network) = (HOSTPATH.local(), zonal(1, HERE));
    let mut world = local;
    world.groups.extend(network.groups);
    world.drivers.extend(network.drivers);
    world.pods.extend(network.pods);
    (world, HOSTPATH.recipe())
}

/// The local driver runs in both pools, but the configuration rewrites its label in one of them only.
fn both(abilities: Abilities) -> [Finding; 1] {
    let (world, recipe) = both_kinds();
    let course = grow(&world, &recipe, abilities);
    [Finding::none(
        "AUTO-10",
        "pods that are stuck with a local and a zonal driver at once",
        course.stuck(),
    )]
}
