//! `bench placement`: how long pods take from their creation to their node, with and without capacity tracking, scoring and an extender.
//!
//! Each line is a scenario made here, run by the harness with the references, and read off its journal. Judges nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use suites::harness::journal::{Change, CommitFact, Fact, What};
use suites::harness::plan::resolve;
use suites::harness::scenario::parse;
use suites::harness::{RunOptions, run};

use crate::args::counted;
use crate::built_in::built_in;
use suites::harness::system::BoxError;

/// Bytes of each claim.
const CLAIM: u64 = 1 << 30;

/// Arguments of `bench placement`.
#[derive(Args)]
pub(super) struct PlacementArgs {
    /// Nodes, each with storage of its own
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = counted::<u64>())]
    nodes: u64,
    /// Pods that are created at once
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = counted::<u64>())]
    pods: u64,
    /// How long pods may take; those that have no node by then are counted as such
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = counted::<u64>())]
    budget: u64,
    /// Print the figures as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Measure this build as it is, even if it was built without optimisation
    #[arg(long)]
    pub(super) as_built: bool,
}

/// What differs from line to line.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    volumes: bool,
    tracked: bool,
    scored: bool,
    storage: Storage,
    extender: bool,
}

/// What each node has.
#[derive(Clone, Copy, PartialEq)]
enum Storage {
    /// More than is asked for.
    Plenty,
    /// Exactly what is asked for, all nodes together.
    Exact,
    /// Whole disks, twice as many as are asked for.
    Disks,
}

impl Kind {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            volumes: true,
            tracked: true,
            scored: false,
            storage: Storage::Plenty,
            extender: false,
        }
    }
}

/// All lines. The first two are about pods that have no volumes.
const KINDS: [Kind; 9] = [
    Kind {
        volumes: false,
        tracked: false,
        ..Kind::new("no volumes, untracked")
    },
    Kind {
        volumes: false,
        ..Kind::new("no volumes, tracked")
    },
    Kind {
        tracked: false,
        ..Kind::new("room for all, untracked")
    },
    Kind::new("room for all, tracked"),
    Kind {
        scored: true,
        ..Kind::new("room for all, tracked and scored")
    },
    Kind {
        tracked: false,
        storage: Storage::Exact,
        ..Kind::new("no room to spare, untracked")
    },
    Kind {
        storage: Storage::Exact,
        ..Kind::new("no room to spare, tracked")
    },
    Kind {
        storage: Storage::Disks,
        ..Kind::new("whole disks, tracked")
    },
    Kind {
        tracked: false,
        storage: Storage::Disks,
        extender: true,
        ..Kind::new("whole disks, reserving extender")
    },
];

/// One line.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Placed {
    kind: &'static str,
    nodes: u64,
    pods: u64,
    /// Pods that got a node in time.
    placed: usize,
    /// From the first pod's creation to the last placement.
    seconds: f64,
    /// From a pod's creation to its placement: the median, and what one in a hundred exceeds.
    median_milliseconds: f64,
    p99_milliseconds: f64,
    /// Requests of the scheduler to the API server since the first pod.
    scheduler_requests: u64,
    /// The same by verb and resource.
    scheduler_request_kinds: BTreeMap<String, u64>,
    /// Questions to the extender.
    extender_questions: u64,
    /// CreateVolume calls that failed.
    refused_volumes: u64,
    /// Published objects in the end, and their bytes as JSON.
    objects: usize,
    object_bytes: usize,
}

/// Measures every kind.
pub(super) async fn measure(args: &PlacementArgs) -> Result<Vec<Placed>, BoxError> {
    let mut lines = Vec::new();
    for kind in KINDS {
        let text = scenario(kind, args).to_string();
        let scenarios = parse("bench placement", &text)?;
        let scenario = scenarios.first().ok_or("the scenario of the bench is empty")?;
        let plan = Arc::new(resolve(scenario)?);
        // Polls would only make the publisher compete with what is measured.
        let options = RunOptions {
            refresh: Duration::from_secs(5),
            ..RunOptions::default()
        };
        let outcome = run(plan, &built_in(None), options).await?;
        lines.push(Placed {
            kind: kind.name,
            nodes: args.nodes,
            pods: args.pods,
            ..read(&outcome.journal.since(0))
        });
    }
    Ok(lines)
}

/// A row for each line.
pub(super) fn table(lines: &[Placed]) -> String {
    let mut text = format!(
        "{:<34}{:>8}{:>12}{:>11}{:>11}{:>10}{:>16}{:>17}{:>9}\n",
        "pods",
        "placed",
        "total time",
        "median",
        "p99",
        "requests",
        "extender calls",
        "failed attempts",
        "objects"
    );
    for line in lines {
        text.push_str(&format!(
            "{:<34}{:>8}{:>10.2} s{:>8.0} ms{:>8.0} ms{:>10}{:>16}{:>17}{:>9}\n",
            line.kind,
            format!("{}/{}", line.placed, line.pods),
            line.seconds,
            line.median_milliseconds,
            line.p99_milliseconds,
            line.scheduler_requests,
            line.extender_questions,
            line.refused_volumes,
            line.objects,
        ));
    }
    text.push_str(LEGEND);
    text
}

/// What the columns are.
const LEGEND: &str = "\
placed: pods that got a node within the budget. total time: from the first pod's creation to the last placement. median, p99: of the time
from a pod's creation to its placement. requests: of the scheduler to the API server. extender calls: of the scheduler to its extender.
failed attempts: CreateVolume calls that the driver refused, after each of which a pod is scheduled again. objects: CSIStorageCapacity
objects in the end.
";

fn scenario(kind: Kind, args: &PlacementArgs) -> Value {
    let names: Vec<String> = (0..args.nodes).map(|number| format!("n{number}")).collect();
    // Somewhat more than a node's share, except where it has to be exact.
    let share = args.pods.div_ceil(args.nodes);
    let storage = |node: u64| match kind.storage {
        Storage::Plenty => json!({"capacity": (args.pods + 1) * CLAIM}),
        Storage::Exact => {
            let mine = args.pods / args.nodes + u64::from(node < args.pods % args.nodes);
            json!({"capacity": mine * CLAIM})
        }
        Storage::Disks => {
            let disks = (0..share * 2).map(|number| (format!("d{number}"), CLAIM.into()));
            json!({"devices": disks.collect::<serde_json::Map<_, _>>()})
        }
    };
    let backend: serde_json::Map<_, _> = names.iter().cloned().zip((0..).map(storage)).collect();
    let claims = match kind.volumes {
        true => json!([{"class": "fast", "size": CLAIM}]),
        false => json!([]),
    };
    let pods: Vec<Value> = (0..args.pods)
        .map(|number| json!({"pod": {"name": format!("p{number}"), "claims": claims}}))
        .collect();
    let places: serde_json::Map<_, _> = (0..args.pods)
        .map(|number| (format!("p{number}"), "any".into()))
        .collect();
    let extenders = match kind.extender {
        true => json!([{"name": "reserver", "reserves": true}]),
        false => json!([]),
    };
    json!({
        "id": "bench/placement",
        "title": kind.name,
        "cluster": {
            "roles": ["publisher", "scheduler"],
            "driver": {"storageCapacity": kind.tracked},
            "publisher": {"metadata": kind.extender, "strictTopology": true},
            "scheduler": {"scoring": kind.scored},
            "extenders": extenders,
            "nodes": names,
            "classes": ["fast"],
            "backend": backend,
        },
        "steps": [
            {"id": "publish", "expect": [{
                "count": {"of": {"write": "create csistoragecapacities"}, "min": args.nodes},
                "within": "60s", "why": "what is measured starts with everything published",
            }]},
            {"id": "place", "do": pods, "expect": [{
                "placement": places, "within": format!("{}s", args.budget), "why": "this is what is measured",
            }]},
        ],
    })
}

/// What the journal says of the second step.
fn read(facts: &[Fact]) -> Placed {
    let mut line = Placed::default();
    let mut objects: BTreeMap<String, usize> = BTreeMap::new();
    let (mut created, mut took) = (BTreeMap::new(), BTreeMap::new());
    let mut last = Duration::ZERO;
    let started = |fact: &Fact| matches!(&fact.what, What::StepStarted(mark) if mark.step == 1);
    let began = facts.iter().position(started).unwrap_or(facts.len());
    for (place, fact) in facts.iter().enumerate() {
        match &fact.what {
            What::Commit(commit) if *commit.resource == *"csistoragecapacities" => {
                note_object(&mut objects, commit);
            }
            What::Commit(commit) if *commit.resource == *"pods" => {
                let is_new = commit.change == Change::Added;
                let since = *created.entry(commit.name.clone()).or_insert(fact.at());
                if !is_new && commit.object["spec"]["nodeName"].is_string() {
                    took.entry(commit.name.clone()).or_insert_with(|| {
                        last = fact.at();
                        fact.at().saturating_sub(since)
                    });
                }
            }
            What::Request(request) if place >= began && *request.client == *"scheduler" => {
                line.scheduler_requests += 1;
                let kind = format!("{} {}", request.verb, request.resource);
                *line.scheduler_request_kinds.entry(kind).or_default() += 1;
            }
            What::Extender(_) => line.extender_questions += 1,
            What::Call(call) if call.method == "CreateVolume" && call.code != "OK" => {
                line.refused_volumes += 1;
            }
            _ => {}
        }
    }
    let mut took: Vec<f64> = took.values().map(|time| time.as_secs_f64() * 1e3).collect();
    took.sort_by(f64::total_cmp);
    let share = |percent: usize| took.get((took.len() * percent / 100).min(took.len().saturating_sub(1)));
    let first = created.values().min().copied().unwrap_or_default();
    line.placed = took.len();
    line.seconds = last.saturating_sub(first).as_secs_f64();
    line.median_milliseconds = share(50).copied().unwrap_or_default();
    line.p99_milliseconds = share(99).copied().unwrap_or_default();
    line.objects = objects.len();
    line.object_bytes = objects.values().sum();
    line
}

fn note_object(objects: &mut BTreeMap<String, usize>, commit: &CommitFact) {
    match commit.change {
        Change::Deleted => drop(objects.remove(&commit.name)),
        _ => drop(objects.insert(commit.name.clone(), commit.object.to_string().len())),
    }
}
