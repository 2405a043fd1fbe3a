//! `scoring`: schedules the same streams of claims with different scoring shapes, until the cluster is more than full.
//!
//! KEP-4049 motivates scoring: volumes have room to grow, or fewer nodes are used. The study quantifies this. The reference scheduler
//! decides; capacity is published immediately, so that only the scoring shape distinguishes the policies.

mod claims;
mod fill;
mod mixed;

use capacity_scheduler::ShapePoint;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::shape::Shape;

use crate::study::result::{Axis, Bound, Cell, Finding, Line, Plot, Setup, Size, Study, Table, findings};
use crate::study::seeded_rng::SeededRng;
use claims::Sizes;
use fill::{ScheduledClaims, schedule_claims};

/// Capacity of equal and of unequal nodes, in GiB.
const EQUAL: [u64; 3] = [100; 3];
const DIFFERENT: [u64; 3] = [50, 100, 200];

/// Claims of at least this many GiB are large.
const LARGE: u64 = 20;
/// Number of points per plotted line.
const POINTS: usize = 60;

/// The compared scoring policies, as rules of the scheduler.
#[derive(Clone, Debug)]
pub struct Policies {
    /// No scoring.
    pub none: Rules,
    /// The default of KEP-4049: prefers nodes with more free capacity.
    pub room: Rules,
    /// The second example of KEP-4049: prefers nodes with less free capacity.
    pub tight: Rules,
    /// Prefers nodes that will be half full with the volume.
    pub half: Rules,
    /// Prefers more free capacity, but scores all nodes below half utilisation equally.
    pub flat: Rules,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            none: Rules::default(),
            room: rules_with_shape(&[(0, 10), (100, 0)]),
            tight: rules_with_shape(&[(0, 0), (100, 10)]),
            half: rules_with_shape(&[(0, 0), (50, 10), (100, 0)]),
            flat: rules_with_shape(&[(0, 10), (50, 10), (100, 0)]),
        }
    }
}

fn rules_with_shape(points: &[(i64, i64)]) -> Rules {
    let points: Vec<ShapePoint> = points
        .iter()
        .map(|(utilization, score)| ShapePoint {
            utilization: *utilization,
            score: *score,
        })
        .collect();
    Rules {
        shape: Shape::new(&points).ok(),
        ..Rules::default()
    }
}

/// Runs the study with the scoring policies of the KEP.
pub fn run(setup: Setup) -> Study {
    study(&Policies::default(), setup)
}

/// The results for one scoring policy and one distribution of claim sizes, with all streams of claims.
struct Outcome<'p> {
    nodes: [u64; 3],
    sizes: Sizes,
    policy: &'p str,
    filled: Vec<ScheduledClaims>,
}

/// Runs the study with these scoring policies.
pub fn study(policies: &Policies, setup: Setup) -> Study {
    let mut study = Study::new(
        "scoring",
        "The same claims with and without scoring: how many are scheduled, how even nodes are, and which can grow",
        setup,
    );
    let named = [
        ("no scoring", &policies.none),
        ("room", &policies.room),
        ("tight fit", &policies.tight),
        ("half full", &policies.half),
        ("room, from half on", &policies.flat),
    ];
    let (nodes, streams, sizes): (usize, u64, &[Sizes]) = match setup.size {
        Size::Small => (6, 2, &Sizes::ALL[1..3]),
        Size::Full => (30, 4, &Sizes::ALL),
    };
    let mut lines = Vec::new();
    let kinds = [EQUAL, DIFFERENT]
        .into_iter()
        .flat_map(|kind| sizes.iter().map(move |sizes| (kind, *sizes)));
    for (kind, sizes) in kinds {
        for (policy, rules) in named {
            let room: Vec<u64> = kind.iter().copied().cycle().take(nodes).collect();
            let stream = |number| schedule_stream(rules, sizes, &room, setup.seed.wrapping_add(number << 32));
            lines.push(Outcome {
                nodes: kind,
                sizes,
                policy,
                filled: (0..streams).map(stream).collect(),
            });
        }
    }
    study.tables.push(table(&lines));
    study.plots.push(plot(&lines));
    study.findings = findings(&lines);
    let pods = if setup.size == Size::Small { 100 } else { 2_000 };
    let mut rng = SeededRng::of(setup.seed);
    study
        .findings
        .extend(mixed::findings(&policies.room, pods, &mut rng));
    study.findings.sort_by_key(|finding| finding.sort_key());
    study
}

/// Schedules one stream of claims. With the same seed, the stream is the same for every policy.
fn schedule_stream(rules: &Rules, sizes: Sizes, room: &[u64], seed: u64) -> ScheduledClaims {
    let mut rng = SeededRng::of(seed);
    let claims = sizes.stream(&mut rng, room.iter().sum());
    schedule_claims(rules, room, &claims, &mut rng)
}

impl Outcome<'_> {
    fn mean(&self, of: impl Fn(&ScheduledClaims) -> f64) -> f64 {
        self.filled.iter().map(of).sum::<f64>() / self.filled.len() as f64
    }
}

/// The share of scheduled claims among the claims whose size satisfies the predicate; 1 if no claim does.
fn scheduled_share(filled: &ScheduledClaims, predicate: fn(&u64) -> bool) -> f64 {
    let count = |sizes: &[u64]| sizes.iter().filter(|size| predicate(size)).count() as f64;
    let (placed, refused) = (count(&filled.placed), count(&filled.refused));
    match placed + refused {
        0.0 => 1.0,
        all => placed / all,
    }
}

fn percent(share: f64) -> Cell {
    Cell::Real((share * 1000.0).round() / 10.0)
}

fn table(lines: &[Outcome<'_>]) -> Table {
    let columns = [
        "nodes",
        "claims in GiB",
        "policy",
        "placed, small %",
        "placed, large %",
        "utilisation at the end %",
        "nodes in use at 25 % utilisation",
        "deviation at 50 % utilisation, % of a node",
        "volumes that can double at 50 % utilisation, %",
    ];
    let title =
        "Claims for 1.5 times the total capacity, on nodes of 100 GiB, and on nodes of 50, 100 and 200 GiB";
    let mut table = Table::new(title, &columns);
    for line in lines {
        let nodes = if line.nodes == EQUAL { "equal" } else { "different" };
        table.row([
            nodes.into(),
            line.sizes.name().into(),
            line.policy.into(),
            percent(line.mean(|filled| scheduled_share(filled, |size| *size < LARGE))),
            percent(line.mean(|filled| scheduled_share(filled, |size| *size >= LARGE))),
            percent(line.mean(|filled| filled.course.last().copied().unwrap_or_default())),
            Cell::Real(line.mean(|filled| filled.nodes_used as f64)),
            percent(line.mean(|filled| filled.deviation)),
            percent(line.mean(|filled| filled.can_grow)),
        ]);
    }
    table
}

/// A plot of the utilisation of the cluster, with nodes of different sizes, during one stream of claims, of which four of five are small.
fn plot(lines: &[Outcome<'_>]) -> Plot {
    let is_drawn = |line: &&Outcome<'_>| line.sizes == Sizes::MostlySmall && line.nodes == DIFFERENT;
    let drawn = lines.iter().filter(is_drawn);
    let line = |line: &Outcome<'_>| {
        let course = line.filled.first().map_or(&[][..], |filled| &filled.course);
        let every = course.len().div_ceil(POINTS).max(1);
        let points = course.iter().enumerate().step_by(every);
        Line {
            name: line.policy.to_owned(),
            points: points
                .map(|(number, share)| ((number + 1) as f64, share * 100.0))
                .collect(),
        }
    };
    Plot {
        title: "Utilisation of the cluster after each claim; one of five claims is large".to_owned(),
        x: Axis::linear("claims created"),
        y: Axis::linear("% of the total capacity"),
        lines: drawn.map(line).collect(),
    }
}

fn findings(lines: &[Outcome<'_>]) -> Vec<Finding> {
    // The mean of a value over all distributions of sizes, on equal nodes only: on different nodes, a preference for free capacity fills
    // larger nodes first.
    let of = |policy: &str, value: fn(&ScheduledClaims) -> f64| {
        let of_policy: Vec<f64> = lines
            .iter()
            .filter(|line| line.policy == policy && line.nodes == EQUAL)
            .map(|line| line.mean(value))
            .collect();
        of_policy.iter().sum::<f64>() / of_policy.len() as f64
    };
    let all =
        |count: fn(&ScheduledClaims) -> usize| lines.iter().flat_map(|line| &line.filled).map(count).sum();
    let deviation = |policy| of(policy, |filled| filled.deviation);
    let can_grow = |policy| of(policy, |filled| filled.can_grow);
    let nodes = |policy| of(policy, |filled| filled.nodes_used as f64);
    findings![
        new "SCORE-29", "ratio of the deviation of equal nodes' utilisation in a half-full cluster: with preference for free capacity, to no scoring",
            deviation("room") / deviation("no scoring"), Bound::AtMost(0.9);
        new "SCORE-22", "ratio of volumes that can double in a half-full cluster: with preference for free capacity, to the tightest fit",
            can_grow("room") / can_grow("tight fit"), Bound::Above(1.0);
        new "SCORE-22", "ratio of volumes that can double in a half-full cluster: with preference for free capacity, to no scoring",
            can_grow("room") / can_grow("no scoring"), Bound::AtLeast(0.9);
        new "SCORE-23", "ratio of equal nodes in use at a quarter of the utilisation: with the tightest fit, to preference for free capacity",
            nodes("tight fit") / nodes("room"), Bound::AtMost(0.8);
        none "SCORE-20", "claims that were not scheduled with some policy although a node had enough capacity",
            all(|filled| filled.refused_with_room);
        none "SCORE-28", "claims for which some policy changes the set of feasible nodes",
            all(|filled| filled.other_nodes);
        count "SCORE-28", "claims for which the feasible nodes with and without scoring were compared", all(|filled| filled.compared), Bound::Above(0.0);
    ]
}
