//! `study cost`: what publishing costs. Small clusters are run in simulated time with the references, and what was counted is held against
//! what is calculated; large ones are calculated.

use std::collections::BTreeMap;
use std::time::Duration;

use capacity_study::cost::{Cluster, Load, Mode, Unit, break_even, load, looked_at, plot, table};
use capacity_study::{Bound, Cell, Finding, Setup, Size, Study, Table};
use clap::Args;
use serde_json::{Map, Value, json};
use suites::harness::system::BoxError;

use super::journal::{CAPACITIES, Run, Runner, Tally};
use super::{Broken, Common};
use crate::args::counted;

/// The publisher's poll interval in what is run.
const REFRESH: Duration = Duration::from_millis(100);
/// GetCapacity calls per second of one publisher, where nothing else is said: what the reference has without `--get-capacity-qps`.
const ASKS_PER_SECOND: f64 = 50.0;
const ZONE: &str = "topology.kubernetes.io/zone";
const GIBI: u64 = 1 << 30;

/// Arguments of `study cost`.
#[derive(Args)]
pub(super) struct CostArgs {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) broken: Broken,
    /// Say what a cluster with so many nodes costs
    #[arg(long, value_name = "COUNT", value_parser = counted::<u64>())]
    nodes: Option<u64>,
    /// Its storage classes
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = counted::<u64>(), requires = "nodes")]
    classes: u64,
    /// The segments that a central publisher tells apart in it [default: one for each node]
    #[arg(long, value_name = "COUNT", value_parser = counted::<u64>(), requires = "nodes")]
    segments: Option<u64>,
    /// The poll interval of its publishers, such as 1m
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = seconds, requires = "nodes")]
    poll: f64,
    /// Segments in which capacity changes per minute
    #[arg(long, value_name = "COUNT", default_value_t = 60.0, requires = "nodes")]
    changes: f64,
    /// GetCapacity calls per second that a publisher makes at most
    #[arg(long, value_name = "COUNT", default_value_t = ASKS_PER_SECOND, requires = "nodes")]
    asks: f64,
}

/// A time with its unit, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let end = text
        .find(|letter: char| letter.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(format!(
                "`{text}` has no unit of time; write 500ms, 10s, 1m or 1h"
            ));
        }
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number * factor),
        _ => Err(format!(
            "`{number}` is no time above zero; write 500ms, 10s, 1m or 1h"
        )),
    }
}

impl CostArgs {
    /// The cluster that is asked about.
    pub(super) fn cluster(&self) -> Option<Cluster> {
        let nodes = self.nodes?;
        Some(Cluster {
            nodes,
            classes: self.classes,
            segments: self.segments.unwrap_or(nodes),
            poll_seconds: self.poll,
            changes_per_minute: self.changes,
            asks_per_second: self.asks,
        })
    }
}

/// What is run: nodes and classes, deployed in one of these ways.
#[derive(Clone, Copy, Debug)]
struct Sample {
    deployed: Deployed,
    nodes: u64,
    classes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Deployed {
    /// A publisher on each node.
    Distributed,
    /// One publisher, and storage on each node.
    Central,
    /// One publisher, and storage in two zones.
    Zones,
}

/// The steps of what is run, by their places.
#[derive(Clone, Copy)]
enum Step {
    Published,
    Polled,
    Changed,
    ClassCame,
    ClassWent,
    Placed,
    NodeWent,
}

/// Pods with a volume each in that step.
const PODS: u64 = 3;
/// Polls that are waited for in that step.
const POLLS: usize = 10;

/// The study, with an answer for one cluster if there is a question.
pub(super) fn study(setup: Setup, runner: &Runner, asked: Option<Cluster>) -> Result<Study, BoxError> {
    let mut study = Study::new(
        "cost",
        "What publishing costs: objects, bytes, calls, writes and watches, and when one publisher is not enough",
        setup,
    );
    let samples = samples(setup.size);
    let mut runs = Vec::new();
    for sample in samples {
        runs.push((sample, runner.run(&sample.scenario(), REFRESH)?));
    }
    let unit = unit(&runs);
    study.tables.push(measured(&runs));
    if let Some(cluster) = asked {
        study
            .tables
            .insert(0, table("The cluster that was asked about", &[cluster], &unit));
    }
    let clusters = clusters();
    study.tables.push(table(
        "Clusters with local storage, a poll each minute and 60 changes per minute",
        &clusters,
        &unit,
    ));
    study.plots.push(plot(
        "Seconds from one figure of a node to the next",
        "seconds",
        &clusters,
        &unit,
        |load: &Load| load.age_seconds,
    ));
    study.plots.push(plot(
        "Watches of publishers that the API server keeps open",
        "watches",
        &clusters,
        &unit,
        |load: &Load| load.watches as f64,
    ));
    study.findings.extend(counted_as_calculated(&runs));
    study.findings.extend(of_scheduler(runner)?);
    study.findings.extend(of_unused(runner)?);
    study.findings.extend(of_redundancy(runner)?);
    study.findings.extend(of_break_even(&clusters[0], &unit));
    study.findings.push(of_scan());
    study.findings.sort_by_key(Finding::order);
    Ok(study)
}

fn samples(size: Size) -> Vec<Sample> {
    let (nodes, classes): (&[u64], &[u64]) = match size {
        Size::Small => (&[3], &[2]),
        Size::Full => (&[2, 8, 24], &[1, 3]),
    };
    let deployed = [Deployed::Distributed, Deployed::Central, Deployed::Zones];
    let mut samples = Vec::new();
    for deployed in deployed {
        for nodes in nodes {
            samples.extend(classes.iter().map(|classes| Sample {
                deployed,
                nodes: *nodes,
                classes: *classes,
            }));
        }
    }
    samples
}

fn clusters() -> Vec<Cluster> {
    let nodes = [10, 100, 1_000, 3_000, 5_000];
    let cluster = |nodes: u64| Cluster {
        nodes,
        classes: 4,
        segments: nodes,
        poll_seconds: 60.0,
        changes_per_minute: 60.0,
        asks_per_second: ASKS_PER_SECOND,
    };
    nodes.map(cluster).into()
}

impl Sample {
    fn segments(&self) -> u64 {
        match self.deployed {
            Deployed::Zones => self.nodes.min(2),
            _ => self.nodes,
        }
    }

    fn objects(&self) -> usize {
        (self.segments() * self.classes) as usize
    }

    /// Nodes, or zones.
    fn segment(&self, number: u64) -> String {
        match self.deployed {
            Deployed::Zones => format!("{ZONE}=z{number}"),
            _ => format!("n{number}"),
        }
    }

    fn scenario(&self) -> Value {
        let nodes = (0..self.nodes).map(
            |number| json!({"name": format!("n{number}"), "labels": {ZONE: format!("z{}", number % 2)}}),
        );
        let classes: Vec<String> = (0..self.classes)
            .map(|number| format!("class-{number}"))
            .collect();
        let segments =
            (0..self.segments()).map(|number| (self.segment(number), json!({"capacity": 100 * GIBI})));
        let keys = match self.deployed {
            Deployed::Zones => json!({"topologyKeys": [ZONE], "storageCapacity": true}),
            _ => json!({"storageCapacity": true}),
        };
        let mode = if self.deployed == Deployed::Distributed {
            "distributed"
        } else {
            "central"
        };
        json!({
            "id": "study/cost",
            "title": "what publishing costs",
            "cluster": {
                "roles": ["publisher", "scheduler", "cleaner"],
                "mode": mode,
                "driver": keys,
                "nodes": nodes.collect::<Vec<_>>(),
                "classes": classes,
                "backend": segments.collect::<Map<_, _>>(),
            },
            "steps": self.steps(),
        })
    }

    /// In the order of [`Step`].
    fn steps(&self) -> Vec<Value> {
        let last = format!("n{}", self.nodes - 1);
        let pods = (0..PODS).map(|number| {
            json!({"pod": {"name": format!("p{number}"), "claims": [{"class": "class-0", "size": GIBI}]}})
        });
        let step =
            |id: &str, actions: Vec<Value>| json!({"id": id, "do": actions, "expect": "specification"});
        vec![
            step("published", Vec::new()),
            json!({"id": "polled", "expect": [{
                "count": {"of": {"call": "GetCapacity"}, "min": POLLS * self.objects()},
                "within": "60s", "why": "each poll asks for each figure",
            }]}),
            step(
                "changed",
                vec![json!({"backend": {self.segment(0): {"capacity": 50 * GIBI}}})],
            ),
            step(
                "class-came",
                vec![json!({"class": {"create": {"name": "another"}}})],
            ),
            step("class-went", vec![json!({"class": {"delete": "another"}})]),
            step("placed", pods.collect()),
            step("node-went", vec![json!({"node": {"leave": last}})]),
        ]
    }
}

/// A run, with what it is of.
type Sampled = (Sample, Run);

/// What one of each costs.
fn unit(runs: &[Sampled]) -> Unit {
    let watches = |deployed: Deployed| {
        let of_deployed = runs.iter().find(|(sample, _)| sample.deployed == deployed);
        of_deployed.map_or(0, |(sample, run)| {
            let watches = run
                .step(Step::Published as usize)
                .requested("publisher", "watch", "") as u64;
            match deployed {
                Deployed::Distributed => watches.div_ceil(sample.nodes),
                _ => watches,
            }
        })
    };
    let bytes = runs.iter().map(|(_, run)| run.largest_object()).max();
    Unit {
        object_bytes: bytes.unwrap_or_default() as u64,
        central_watches: watches(Deployed::Central),
        node_watches: watches(Deployed::Distributed),
    }
}

fn at(run: &Run, step: Step) -> Tally {
    run.step(step as usize)
}

fn measured(runs: &[Sampled]) -> Table {
    let columns = [
        "publishers",
        "nodes",
        "segments",
        "classes",
        "objects",
        "bytes of the largest",
        "writes for a change",
        "for a new class",
        "for three volumes",
        "for a node that goes",
        "calls per object and poll",
    ];
    let mut table = Table::new("Counted in clusters that were run", &columns);
    for (sample, run) in runs {
        let name = match sample.deployed {
            Deployed::Distributed => "one on each node",
            Deployed::Central => "one for all nodes",
            Deployed::Zones => "one for two zones",
        };
        table.row([
            Cell::from(name),
            sample.nodes.into(),
            sample.segments().into(),
            sample.classes.into(),
            at(run, Step::Published).objects("create").into(),
            run.largest_object().into(),
            at(run, Step::Changed).writes().into(),
            at(run, Step::ClassCame).writes().into(),
            at(run, Step::Placed).writes().into(),
            at(run, Step::NodeWent).writes().into(),
            asked_per_poll(sample, run).into(),
        ]);
    }
    table
}

/// GetCapacity calls for each object and poll interval.
fn asked_per_poll(sample: &Sample, run: &Run) -> f64 {
    let polled = at(run, Step::Polled);
    let polls = polled.took.as_secs_f64() / REFRESH.as_secs_f64();
    polled.calls("GetCapacity") as f64 / sample.objects() as f64 / polls
}

/// What was counted differs from what is calculated by so much, in all clusters together.
fn counted_as_calculated(runs: &[Sampled]) -> Vec<Finding> {
    let differ = |meant: &dyn Fn(&Sample) -> bool,
                  counted: &dyn Fn(&Run) -> usize,
                  wanted: &dyn Fn(&Sample) -> usize| {
        let meant = runs.iter().filter(|(sample, _)| meant(sample));
        meant
            .map(|(sample, run)| counted(run).abs_diff(wanted(sample)))
            .sum::<usize>()
    };
    let all = |_: &Sample| true;
    let distributed = |sample: &Sample| sample.deployed == Deployed::Distributed;
    let zones = |sample: &Sample| sample.deployed == Deployed::Zones;
    let published = |run: &Run| at(run, Step::Published).objects("create");
    let segments = |sample: &Sample| sample.segments() as usize;
    let classes = |sample: &Sample| sample.classes as usize;
    // With a node goes its segment, unless another node of its zone is left.
    let gone = |sample: &Sample| {
        if sample.segments() == sample.nodes {
            classes(sample)
        } else {
            0
        }
    };
    let most = |of: &dyn Fn(&Sample, &Run) -> f64| {
        runs.iter()
            .map(|(sample, run)| of(sample, run))
            .fold(0.0, f64::max)
    };
    let per_volume =
        most(&|sample, run| at(run, Step::Placed).writes() as f64 / (PODS * sample.classes) as f64);
    vec![
        Finding::none(
            "SCALE-01",
            "objects more or less than classes × segments",
            differ(&all, &published, &Sample::objects),
        ),
        Finding::none(
            "SCALE-02",
            "objects more or less than nodes × classes, with a publisher on each node",
            differ(&distributed, &published, &|sample| {
                (sample.nodes * sample.classes) as usize
            }),
        ),
        Finding::none(
            "SCALE-03",
            "objects more or less than two for each class, with many nodes in two zones",
            differ(&zones, &published, &|sample| 2 * classes(sample)),
        ),
        Finding::none(
            "SCALE-07",
            "deletions more or less than one for each object of a node that goes",
            differ(&all, &|run| at(run, Step::NodeWent).objects("delete"), &gone),
        ),
        Finding::none(
            "SCALE-08",
            "writes more or less than one for each segment, for a class that comes and goes",
            differ(&all, &|run| at(run, Step::ClassCame).writes(), &segments)
                + differ(&all, &|run| at(run, Step::ClassWent).writes(), &segments),
        ),
        Finding::new(
            "SCALE-09",
            "writes for each volume and class, at most",
            per_volume,
            Bound::AtMost(1.0),
        ),
        Finding::none(
            "SCALE-10",
            "writes more or less than one for each object that a silent change affects",
            differ(&all, &|run| at(run, Step::Changed).writes(), &classes),
        ),
        Finding::new(
            "SCALE-12",
            "calls for each object and poll, at most",
            most(&|sample, run| asked_per_poll(sample, run)),
            Bound::AtMost(1.1),
        ),
    ]
}

/// A cluster of two nodes in which some pods are placed.
fn placing(pods: u64, tracked: bool, published: bool, scoring: bool) -> Value {
    let pods = (0..pods).map(|number| {
        json!({"pod": {"name": format!("p{number}"), "claims": [{"class": "class-0", "size": GIBI}]}})
    });
    json!({
        "id": "study/placing",
        "title": "what placing costs",
        "cluster": {
            "roles": ["publisher", "scheduler"],
            "publisher": {"publish": published},
            "scheduler": {"scoring": scoring},
            "driver": {"storageCapacity": tracked},
            "nodes": ["n0", "n1"],
            "classes": ["class-0"],
            "backend": {"n0": {"capacity": 100 * GIBI}, "n1": {"capacity": 100 * GIBI}},
        },
        "steps": [
            {"id": "published", "expect": "specification"},
            {"id": "placed", "do": pods.collect::<Vec<_>>(), "expect": "specification"},
        ],
    })
}

/// What the scheduler asks the API server for, by number of pods, and with and without scoring.
fn of_scheduler(runner: &Runner) -> Result<Vec<Finding>, BoxError> {
    let run = |pods, scoring| runner.run(&placing(pods, true, true, scoring), REFRESH);
    let (few, many, scored) = (run(1, false)?, run(8, false)?, run(8, true)?);
    let reads = |run: &Run| {
        let verbs = ["get", "list", "watch"];
        let of_step = |step: usize| verbs.map(|verb| run.step(step).requested("scheduler", verb, CAPACITIES));
        of_step(0).iter().chain(&of_step(1)).sum::<usize>()
    };
    let kinds = |run: &Run| {
        let keys = run.step(1).requests.into_keys();
        // What a pod that waits is told depends on how the tries fall, and not on the score.
        let meant = keys.filter(|(client, verb, resource)| {
            client == "scheduler" && resource != "events" && verb != "patch"
        });
        meant.collect::<Vec<_>>()
    };
    let largest = |run: &Run| run.largest_object();
    Ok(vec![
        Finding::count(
            "SCALE-11",
            "lists and watches of capacity objects by the scheduler",
            reads(&few),
            Bound::AtMost(2.0),
        ),
        Finding::none(
            "SCALE-11",
            "such reads more for eight pods than for one",
            reads(&many).abs_diff(reads(&few)),
        ),
        Finding::none(
            "SCALE-21",
            "kinds of requests that the scheduler makes with scoring and not without, or bytes by which an object is larger",
            kinds(&scored)
                .iter()
                .filter(|kind| !kinds(&many).contains(kind))
                .count()
                + largest(&scored).saturating_sub(largest(&many)),
        ),
    ])
}

/// The same cluster with tracking, and without it and without a publisher of capacity.
fn of_unused(runner: &Runner) -> Result<Vec<Finding>, BoxError> {
    let unused = runner.run(&placing(3, false, false, false), REFRESH)?;
    let used = runner.run(&placing(3, true, true, false), REFRESH)?;
    let spent = |step: usize| unused.step(step).writes() + unused.step(step).calls("GetCapacity");
    let field = |run: &Run| {
        let mut driver = run.last("csidrivers").cloned().unwrap_or_default();
        let with = driver.to_string().len();
        driver["spec"]
            .as_object_mut()
            .and_then(|spec| spec.remove("storageCapacity"));
        with - driver.to_string().len()
    };
    let (before, after) = (unused.bytes(), used.bytes());
    let others = ["nodes", "csinodes", "storageclasses"];
    let grown = others.iter().map(|resource| {
        let all = |bytes: &BTreeMap<String, Vec<usize>>| {
            bytes.get(*resource).map_or(0, |it| it.iter().sum::<usize>())
        };
        all(&after).abs_diff(all(&before))
    });
    Ok(vec![
        Finding::none(
            "SCALE-14",
            "GetCapacity calls, and writes of capacity objects, while no driver uses it",
            spent(0) + spent(1),
        ),
        Finding::count(
            "SCALE-13",
            "bytes of a CSIDriver that are its boolean",
            field(&used),
            Bound::AtMost(25.0),
        ),
        Finding::none(
            "SCALE-13",
            "bytes by which nodes, CSINodes and classes grow with tracking",
            grown.sum(),
        ),
    ])
}

/// Ten classes whose parameters make no difference, and one.
fn of_redundancy(runner: &Runner) -> Result<[Finding; 2], BoxError> {
    let run = |classes| {
        let sample = Sample {
            deployed: Deployed::Central,
            nodes: 2,
            classes,
        };
        runner.run(&sample.scenario(), REFRESH)
    };
    let (one, ten) = (run(1)?, run(10)?);
    let objects = |run: &Run| at(run, Step::Published).objects("create") as f64;
    let rate = |run: &Run| {
        let polled = at(run, Step::Polled);
        polled.calls("GetCapacity") as f64 / polled.took.as_secs_f64()
    };
    Ok([
        Finding::new(
            "SCALE-23",
            "objects for ten classes that are alike, for each of one",
            objects(&ten) / objects(&one),
            Bound::Exactly(10.0),
        ),
        Finding::new(
            "LIM-15",
            "GetCapacity calls in a poll for ten classes that are alike, for each of one",
            rate(&ten) / rate(&one),
            Bound::AtLeast(9.0),
        ),
    ])
}

/// Below the break-even both modes have figures of the same age, and above it one publisher has older ones.
fn of_break_even(cluster: &Cluster, unit: &Unit) -> [Finding; 2] {
    let edge = break_even(cluster);
    let age = |nodes: u64, mode| {
        let cluster = Cluster {
            nodes,
            segments: nodes,
            ..*cluster
        };
        load(&cluster, mode, unit).age_seconds
    };
    let ratio = |nodes| age(nodes, Mode::Central) / age(nodes, Mode::Distributed);
    [
        Finding::new(
            "SCALE-12",
            format!(
                "age of figures of one publisher, for each of one on every node, at {} nodes",
                edge - 1
            ),
            ratio(edge - 1),
            Bound::Exactly(1.0),
        ),
        Finding::new(
            "SCALE-12",
            format!(
                "the same at ten times as many, as a limit keeps its calls at {} per second",
                cluster.asks_per_second
            ),
            ratio(10 * edge),
            Bound::AtLeast(5.0),
        ),
    ]
}

fn of_scan() -> Finding {
    let ratio = |nodes| {
        let (scanned, indexed) = looked_at(nodes);
        scanned as f64 / indexed as f64
    };
    Finding::new(
        "SCALE-22",
        "growth of the objects that a scan looks at, for each that an index does, from 10 to 100 nodes",
        ratio(100) / ratio(10),
        Bound::AtLeast(9.0),
    )
}
