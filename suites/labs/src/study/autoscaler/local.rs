//! Node-local storage: results without the KEP's configuration, with parts of it, and with all of it.

use capacity_types::Labels;

use super::look::{Abilities, Look};
use super::recipe::{Object, Readiness, Recipe, Rewrite};
use super::run::{Course, grow, grow_and_shrink};
use super::setting::{HOSTPATH, OTHERS, PODS, WHOLE};
use super::state::{State, feasible};
use super::world::{Driver, Pod, Tells, World};
use crate::study::cluster;
use crate::study::result::{Bound, Finding};

/// Round in which all pods are deleted: long after all of them were scheduled.
const DELETED: usize = 40;

/// The findings.
pub(super) fn findings(abilities: Abilities) -> Vec<Finding> {
    let mut findings = growing(abilities);
    findings.extend(labels(abilities));
    findings.extend(objects(abilities));
    findings.extend(readiness(abilities));
    findings.extend(counting(abilities));
    findings.push(mistakes(abilities));
    findings
}

fn exactly(count: usize) -> Bound {
    Bound::Exactly(count as f64)
}

fn growing(abilities: Abilities) -> Vec<Finding> {
    let world = HOSTPATH.local();
    let run = |recipe: &Recipe| grow(&world, recipe, abilities);
    let (without, with) = (run(&Recipe::default()), run(&HOSTPATH.recipe()));
    let cycle = grow_and_shrink(&world, &HOSTPATH.recipe(), abilities, DELETED);
    let other = grow(&OTHERS.local(), &OTHERS.recipe(), abilities);
    vec![
        Finding::none(
            "AUTO-01",
            "nodes that are added without the recipe",
            without.grown(),
        ),
        Finding::count(
            "AUTO-01",
            format!("pods of {PODS} that are stuck for ever without it"),
            without.stuck(),
            exactly(PODS),
        ),
        Finding::none("AUTO-03", "pods that are stuck with the recipe", with.stuck()),
        Finding::count(
            "AUTO-12",
            format!("rounds in which it grows, for {PODS} pods that fill a node each"),
            with.growths(),
            exactly(PODS),
        ),
        Finding::count(
            "LIM-25",
            "the most nodes that are added in one round",
            with.most(),
            exactly(1),
        ),
        Finding::count(
            "AUTO-13",
            "pods that are placed with the recipe, one node at a time, and not without",
            without.stuck() - with.stuck().min(without.stuck()),
            exactly(PODS),
        ),
        Finding::count(
            "AUTO-16",
            "nodes at the end of a cycle: pods come, all are placed, all are deleted",
            cycle.nodes(),
            exactly(world.groups[0].least),
        ),
        Finding::count(
            "AUTO-16",
            "capacity objects of the publisher then",
            cycle.published,
            exactly(world.groups[0].least),
        ),
        Finding::count(
            "AUTO-16",
            "nodes that were added in it",
            cycle.grown(),
            exactly(PODS),
        ),
        Finding::none(
            "AUTO-17",
            "rounds that differ for a driver, a label and a pool of other names",
            different_rounds(&with, &other),
        ),
    ]
}

fn different_rounds(left: &Course, right: &Course) -> usize {
    let pairs = left.rounds.iter().zip(&right.rounds);
    let lengths = left.rounds.len().abs_diff(right.rounds.len());
    pairs.filter(|(left, right)| left != right).count() + lengths
}

/// The template node with and without a segment of its own, while the real node is full, empty, or larger than a new one.
fn labels(abilities: Abilities) -> Vec<Finding> {
    let world = HOSTPATH.local();
    let state = State::new(&world);
    let recipe = HOSTPATH.recipe();
    let look = Look::new(&world, &recipe, abilities, &state);
    let template = look.imagined(0);
    let borrowed = state
        .published(&world)
        .iter()
        .filter(|object| object.topology.admits(&template))
        .count();
    let unconfigured = Recipe::default();
    let plain = Look::new(&world, &unconfigured, abilities, &state).imagined(0);
    let wrong = |labels: &Labels| -> usize {
        let left = (0..=2).map(|times| times * WHOLE);
        left.map(|left| wrong_verdicts(&world, labels, left)).sum()
    };
    vec![
        Finding::none(
            "AUTO-03",
            "objects of real nodes that are for the imagined one with the recipe",
            borrowed,
        ),
        Finding::none(
            "AUTO-04",
            "wrong verdicts about a new node, by the imagined one with the recipe",
            wrong(&template),
        ),
        Finding::count(
            "AUTO-04",
            "wrong verdicts without the recipe, by the storage of a node that is full, or larger",
            wrong(&plain),
            Bound::AtLeast(2.0),
        ),
    ]
}

/// Wrong predictions for volumes of each size on a new node, if the node that is copied has this much free capacity.
fn wrong_verdicts(world: &World, template: &Labels, left: u64) -> usize {
    let segment: Labels = [(HOSTPATH.key.to_owned(), format!("{}-0", HOSTPATH.group))].into();
    let real = cluster::capacity("real", HOSTPATH.class, cluster::labelled(&segment), Some(left));
    let imagined = cluster::labelled(&HOSTPATH.template());
    let manual = cluster::capacity("manual", HOSTPATH.class, imagined, Some(WHOLE));
    let objects = [real, manual];
    let node = [("template".to_owned(), template.clone())];
    let is_wrong = |bytes: &u64| {
        let pod = Pod {
            class: HOSTPATH.class.to_owned(),
            bytes: *bytes,
        };
        feasible(world, &node, &objects, &pod).is_empty() == (*bytes <= WHOLE)
    };
    (1..=2 * WHOLE).filter(is_wrong).count()
}

fn objects(abilities: Abilities) -> Vec<Finding> {
    let mut from_zero = HOSTPATH.local();
    from_zero.groups[0].least = 0;
    from_zero.pods.pop();
    let configured = grow(&from_zero, &HOSTPATH.recipe(), abilities);
    let unlabelled = Recipe {
        pool_labels: Vec::new(),
        ..HOSTPATH.recipe()
    };
    let unlabelled = grow(&from_zero, &unlabelled, abilities);
    // Two classes, one of which has an object for the template segment.
    let mut two = HOSTPATH.local();
    two.drivers[0].classes.push("other".to_owned());
    let of = |class: &str| {
        let mut world = two.clone();
        world.pods.iter_mut().for_each(|pod| pod.class = class.to_owned());
        grow(&world, &HOSTPATH.recipe(), abilities)
    };
    vec![
        Finding::count(
            "AUTO-05",
            "nodes that are added to an empty pool whose configuration has the label",
            configured.grown(),
            exactly(PODS),
        ),
        Finding::none(
            "AUTO-05",
            "nodes that are added to one without",
            unlabelled.grown(),
        ),
        Finding::count(
            "AUTO-06",
            "nodes for pods of the class with an object for the imagined segment",
            of(HOSTPATH.class).grown(),
            exactly(PODS),
        ),
        Finding::none(
            "AUTO-06",
            "nodes for pods of the class without",
            of("other").grown(),
        ),
        Finding::none(
            "AUTO-07",
            "sizes about which imagined and real node differ in the scheduler's own filter",
            different_sizes(abilities),
        ),
    ]
}

/// Sizes that fit the template node but not a new node, or vice versa.
fn different_sizes(abilities: Abilities) -> usize {
    let world = HOSTPATH.local();
    let state = State::new(&world);
    let recipe = HOSTPATH.recipe();
    let look = Look::new(&world, &recipe, abilities, &state);
    let template = look.imagined(0);
    let real = state
        .nodes
        .iter()
        .map(|node| (node.name.clone(), node.labels.clone()));
    let real: Vec<_> = real.collect();
    let published = state.published(&world);
    let differs = |bytes: &u64| {
        let pod = Pod {
            class: HOSTPATH.class.to_owned(),
            bytes: *bytes,
        };
        let on_real = !feasible(&world, &real, &published, &pod).is_empty();
        look.fits(&template, &pod) != on_real
    };
    (0..=2 * WHOLE).filter(differs).count()
}

/// A driver that starts late, and two drivers with different delays.
fn readiness(abilities: Abilities) -> Vec<Finding> {
    let extra = |world: &World, readiness: Readiness| {
        let recipe = Recipe {
            readiness,
            objects: objects_for(world),
            ..HOSTPATH.recipe()
        };
        let course = grow(world, &recipe, abilities);
        course.grown() - PODS.min(course.grown()) + course.stuck()
    };
    let late = |delay: usize| {
        let mut world = HOSTPATH.local();
        world.drivers[0].delay = delay;
        world
    };
    let waiting: usize = (0..5)
        .map(|delay| extra(&late(delay), Readiness::Counterparts))
        .sum();
    let two = two_drivers();
    vec![
        Finding::none(
            "AUTO-08",
            "nodes too many, or pods that are stuck, for drivers that start at once to four rounds later",
            waiting,
        ),
        Finding::count(
            "AUTO-09",
            "nodes too many where a node counts as ready without its objects, and its driver is two rounds late",
            extra(&late(2), Readiness::Kubelet),
            Bound::AtLeast(1.0),
        ),
        Finding::none(
            "AUTO-10",
            "nodes too many for two drivers of two classes each, where each object needs a counterpart",
            extra(&two, Readiness::Counterparts),
        ),
        Finding::count(
            "AUTO-10",
            "nodes too many for them, where any object is enough",
            extra(&two, Readiness::AnyObject),
            Bound::AtLeast(1.0),
        ),
    ]
}

/// An object for each class of each driver in the template segment. All drivers here use the same label.
fn objects_for(world: &World) -> Vec<Object> {
    let classes = world.drivers.iter().flat_map(|driver| &driver.classes);
    classes.map(|class| HOSTPATH.object(class, WHOLE)).collect()
}

/// The pods need the driver with the longer delay. Both drivers use the same topology key.
fn two_drivers() -> World {
    let mut world = HOSTPATH.local();
    world.drivers[0].delay = 4;
    world.drivers[0].classes.push("local-2".to_owned());
    world.drivers.push(Driver {
        name: "quick.example.com".to_owned(),
        classes: ["quick-1", "quick-2"].map(str::to_owned).into(),
        delay: 1,
        ..HOSTPATH.driver()
    });
    world
}

/// Subtracting volumes of simulated pods: faster if the object has the total capacity, wrong if it has the maximum volume size.
fn counting(abilities: Abilities) -> Vec<Finding> {
    let counts = Abilities {
        counts_volumes: true,
        ..abilities
    };
    let mut disks = HOSTPATH.local();
    disks.drivers[0].disks = vec![WHOLE; 4];
    disks.drivers[0].tells = Tells::Largest;
    disks.pods = HOSTPATH.pods(4 + 8, WHOLE);
    let recipe = HOSTPATH.recipe();
    let total = HOSTPATH.local();
    vec![
        Finding::count(
            "AUTO-18",
            format!(
                "rounds in which it grows for {PODS} pods, if it counts volumes and drivers tell what is left"
            ),
            grow(&total, &recipe, counts).growths(),
            exactly(1),
        ),
        Finding::count(
            "AUTO-18",
            "nodes for eight volumes, by not counting, where each node has four disks and its driver tells the largest",
            grow(&disks, &recipe, abilities).grown(),
            exactly(2),
        ),
        Finding::count(
            "AUTO-18",
            "nodes for them by counting",
            grow(&disks, &recipe, counts).grown(),
            Bound::AtLeast(4.0),
        ),
    ]
}

/// Misconfigurations, each of which leaves pods pending.
fn mistakes(abilities: Abilities) -> Finding {
    let world = HOSTPATH.local();
    let mut from_zero = world.clone();
    from_zero.groups[0].least = 0;
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
        (&world, replaced("aks-workerpool-templates")),
        (
            &world,
            Recipe {
                rewrites: OTHERS.rewrite(),
                ..right.clone()
            },
        ),
        (
            &world,
            Recipe {
                objects: Vec::new(),
                ..right.clone()
            },
        ),
        (
            &from_zero,
            Recipe {
                pool_labels: vec![(OTHERS.group.to_owned(), HOSTPATH.template())],
                ..right.clone()
            },
        ),
    ];
    let stuck = runs
        .iter()
        .filter(|(world, recipe)| grow(world, recipe, abilities).stuck() > 0);
    let shows = "mistakes that leave pods stuck: a wrong replacement, a pattern for another label, no object, the label at another pool";
    Finding::count("LIM-27", shows, stuck.count(), exactly(runs.len()))
}
