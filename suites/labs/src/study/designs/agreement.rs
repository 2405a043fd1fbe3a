//! Whether the designs lead to the same decisions, on random clusters and on the examples of the KEP.

use std::collections::BTreeMap;

use super::documents::Documents;
use super::draw;
use super::examples;
use super::filter;
use super::lookup::{self, Entry};
use super::selector::NodeSelector;
use super::shape::{Objects, Shape};
use super::words::{by_hostname, length};
use super::world::{Figure, HOSTNAME, Node, Of, Pool, Question, Reach, World};
use crate::study::dice::Dice;
use crate::study::result::{Bound, Cell, Finding, Setup, Size, Table};

/// Counts of a comparison.
#[derive(Default)]
struct Counts {
    /// Clusters that the design can express.
    said: usize,
    unsaid: BTreeMap<String, usize>,
    decisions: usize,
    /// Decisions that differ from the correct ones.
    differ: usize,
    /// Decisions of the scheduler's own filter, for the flat design.
    filtered: usize,
    filter_differs: usize,
}

/// The findings, and a table of what each design cannot express.
pub(super) fn study(documents: &Documents, setup: Setup) -> (Table, Vec<Finding>) {
    let worlds = match setup.size {
        Size::Small => 60,
        Size::Full => 2_000,
    };
    let mut dice = Dice::of(setup.seed);
    let worlds: Vec<World> = (0..worlds).map(|_| draw::world(&mut dice)).collect();
    let counts = Shape::ALL.map(|shape| {
        let mut counts = Counts::default();
        for world in &worlds {
            counts.compare(documents, shape, world);
        }
        (shape, counts)
    });
    let mut findings = of_random(&counts);
    findings.extend(of_examples(documents));
    findings.extend(of_node_lists(documents, &worlds));
    findings.extend(of_terms(documents));
    (table(&counts), findings)
}

impl Counts {
    fn compare(&mut self, documents: &Documents, shape: Shape, world: &World) {
        let objects = match shape.publish(world) {
            Ok(objects) => objects,
            Err(unsayable) => {
                *self.unsaid.entry(unsayable.to_string()).or_default() += 1;
                return;
            }
        };
        self.said += 1;
        let entries = lookup::entries(documents, &objects, &world.classes);
        for question in draw::questions(world) {
            let wanted = world.reached(&question);
            // Designs that cannot express inline volumes do not restrict them.
            if question.class.is_none() && !matches!(shape, Shape::DriverStatus | Shape::PoolOf2019) {
                continue;
            }
            self.decisions += world.nodes.len();
            let found = lookup::reached(documents, world, &entries, &question);
            self.differ += found.symmetric_difference(&wanted).count();
        }
        if let Objects::FlatCapacity(objects) = &objects {
            let snapshot = filter::snapshot(world, objects);
            for question in draw::questions(world) {
                let wanted = world.reached(&question);
                for node in &world.nodes {
                    if let Some(admitted) = filter::admits(&snapshot, &question, node) {
                        self.filtered += 1;
                        self.filter_differs += usize::from(admitted != wanted.contains(node.name.as_str()));
                    }
                }
            }
        }
    }
}

fn table(counts: &[(Shape, Counts)]) -> Table {
    let columns = [
        "design",
        "worlds said",
        "decisions",
        "that differ",
        "no words for",
    ];
    let mut table = Table::new("Random worlds, written in each design and read again", &columns);
    for (shape, counts) in counts {
        let unsaid = counts
            .unsaid
            .iter()
            .map(|(what, times)| format!("{what} ({times})"));
        table.row([
            shape.name().into(),
            counts.said.into(),
            (counts.decisions + counts.filtered).into(),
            (counts.differ + counts.filter_differs).into(),
            Cell::Text(unsaid.collect::<Vec<_>>().join(", ")),
        ]);
    }
    table
}

fn of_random(counts: &[(Shape, Counts)]) -> Vec<Finding> {
    let sum = |of: fn(&Counts) -> usize| counts.iter().map(|(_, counts)| of(counts)).sum::<usize>();
    let decisions = sum(|counts| counts.decisions + counts.filtered);
    let least = counts.iter().map(|(_, counts)| counts.said).min();
    vec![
        Finding::none(
            "ALT-30",
            format!(
                "decisions of five designs, and of the scheduler's filter for the flat one, that differ from the storage, of {decisions}"
            ),
            sum(|counts| counts.differ + counts.filter_differs),
        ),
        Finding::count(
            "ALT-30",
            "random worlds that the design with the fewest words can say",
            least.unwrap_or_default(),
            Bound::Above(0.0),
        ),
    ]
}

fn differences(documents: &Documents, world: &World, entries: &[Entry]) -> usize {
    let differ = |question: &Question| {
        let found = lookup::reached(documents, world, entries, question);
        found != world.reached(question)
    };
    examples::questions(world)
        .iter()
        .filter(|question| differ(question))
        .count()
}

/// The examples of the KEP, with current and deprecated label keys, in every design.
fn of_examples(documents: &Documents) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, key) in [("ALT-30", examples::REGION), ("ALT-40", examples::OLD_REGION)] {
        let worlds = examples::worlds(key);
        let mut wrong = 0;
        for (world, shape) in worlds
            .iter()
            .flat_map(|world| Shape::ALL.map(|shape| (world, shape)))
        {
            wrong += match shape.publish(world) {
                Ok(objects) => {
                    let entries = lookup::entries(documents, &objects, &world.classes);
                    differences(documents, world, &entries)
                }
                Err(_) => 1,
            };
        }
        let shows = format!("decisions of five designs about the three examples with {key} that differ");
        findings.push(Finding::none(id, shows, wrong));
    }
    findings.push(Finding::none(
        "ALT-31",
        "decisions of the form with spec and status about the three examples that differ from the flat form",
        early_against_flat(documents),
    ));
    findings
}

fn early_against_flat(documents: &Documents) -> usize {
    let reached = |shape: Shape, world: &World, question: &Question| {
        let objects = shape.publish(world).ok()?;
        let entries = lookup::entries(documents, &objects, &world.classes);
        let found = lookup::reached(documents, world, &entries, question);
        Some(found.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let worlds = examples::worlds(examples::REGION);
    let asked = worlds.iter().flat_map(|world| {
        let questions = examples::questions(world).into_iter();
        questions.map(move |question| (world, question))
    });
    let differs = |(world, question): &(&World, Question)| {
        reached(Shape::EarlyCapacity, world, question) != reached(Shape::FlatCapacity, world, question)
    };
    asked.filter(differs).count()
}

/// Pools with a node list, compared with a selector on host names.
fn of_node_lists(documents: &Documents, worlds: &[World]) -> Vec<Finding> {
    let (mut differ, mut lists, mut selectors) = (0, 0, 0);
    for world in worlds {
        let mut rewritten = world.clone();
        for pool in &mut rewritten.pools {
            if let Reach::Nodes(names) = &pool.reach {
                lists += length(names);
                let selector = by_hostname(names);
                selectors += length(&selector);
                pool.reach = Reach::Terms(selector);
            }
        }
        let Ok(objects) = Shape::DriverStatus.publish(&rewritten) else {
            continue;
        };
        let entries = lookup::entries(documents, &objects, &world.classes);
        for question in draw::questions(world) {
            let found = lookup::reached(documents, world, &entries, &question);
            differ += usize::from(found != world.reached(&question));
        }
    }
    vec![
        Finding::none(
            "ALT-07",
            "decisions that a selector by host name in the place of a list of nodes changes",
            differ,
        ),
        Finding::new(
            "ALT-07",
            "bytes of the selectors for each byte of the lists",
            selectors as f64 / lists as f64,
            Bound::Above(1.0),
        ),
    ]
}

/// Two node selector terms in the flat design.
fn of_terms(documents: &Documents) -> Vec<Finding> {
    let mut world = examples::local();
    let names = ["node-1", "node-2"].map(str::to_owned);
    let terms = names
        .iter()
        .flat_map(|name| NodeSelector::of(HOSTNAME, "In", &[name]).node_selector_terms);
    world.nodes.push(Node::new("node-3", &[]));
    world.pools = vec![Pool {
        name: "both".to_owned(),
        driver: world.drivers[0].name.clone(),
        reach: Reach::Terms(NodeSelector {
            node_selector_terms: terms.collect(),
        }),
        figures: vec![Figure::new(Of::Others, 1 << 30)],
    }];
    let Ok(Objects::FlatCapacity(mut objects)) = Shape::FlatCapacity.publish(&world) else {
        return Vec::new();
    };
    if !documents.terms_become_objects {
        objects.truncate(1);
    }
    let count = objects.len();
    let entries = lookup::entries(documents, &Objects::FlatCapacity(objects), &world.classes);
    vec![
        Finding::count(
            "ALT-32",
            "flat objects for a selector of two terms",
            count,
            Bound::Exactly(2.0),
        ),
        Finding::none(
            "ALT-32",
            "decisions by these objects that differ from the selector's",
            differences(documents, &world, &entries),
        ),
    ]
}
