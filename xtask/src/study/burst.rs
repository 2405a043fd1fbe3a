//! `study burst`: the experiment of KEP-1472. Pods with generic ephemeral volumes are created as fast as possible, and fill the nodes to the
//! last slot, with tracking and without, in simulated time.

use std::time::Duration;

use capacity_study::{Axis, Bound, Cell, Finding, Line, Plot, Setup, Size, Study, Table};
use clap::Args;
use serde_json::{Map, Value, json};
use suites::harness::system::BoxError;

use super::journal::{CAPACITIES, Run, Runner};
use super::{Broken, Common};
use crate::args::counted;
use crate::defect::Defect;

/// Bytes of each volume.
const CLAIM: u64 = 1 << 30;
/// Points of a drawn line, about.
const POINTS: usize = 60;

/// Arguments of `study burst`.
#[derive(Args)]
pub(super) struct BurstArgs {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) broken: Broken,
    /// Nodes, each with storage of its own [default: 10, and 3 with --small]
    #[arg(long, value_name = "COUNT", value_parser = counted::<u64>())]
    nodes: Option<u64>,
    /// Volumes that a node has room for, all of which are asked for [default: 100, and 10 with --small]
    #[arg(long, value_name = "COUNT", value_parser = counted::<u64>())]
    slots: Option<u64>,
    /// How long the pods may take, in seconds of simulated time
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = counted::<u64>())]
    budget: u64,
}

/// How large the burst is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    nodes: u64,
    slots: u64,
    budget: u64,
}

impl BurstArgs {
    pub(super) fn burst(&self) -> Burst {
        let usual = Burst::of(self.common.setup().size);
        Burst {
            nodes: self.nodes.unwrap_or(usual.nodes),
            slots: self.slots.unwrap_or(usual.slots),
            budget: self.budget,
        }
    }
}

impl Burst {
    /// The burst where nothing else is said.
    pub(super) fn of(size: Size) -> Self {
        let (nodes, slots) = match size {
            Size::Small => (3, 10),
            Size::Full => (10, 100),
        };
        Self {
            nodes,
            slots,
            budget: 120,
        }
    }

    fn pods(self) -> u64 {
        self.nodes * self.slots
    }
}

/// What differs from run to run.
#[derive(Clone, Copy, Debug)]
struct Variant {
    name: &'static str,
    tracked: bool,
    scored: bool,
    extender: bool,
    /// Slots of each node for every slot that is asked for.
    room: u64,
    poll: Duration,
    /// How long figures take from the API server to the scheduler.
    lag: Option<&'static str>,
}

impl Variant {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            tracked: true,
            scored: false,
            extender: false,
            room: 1,
            poll: Duration::from_secs(60),
            lag: None,
        }
    }
}

const TRACKED: &str = "tracked";
const UNTRACKED: &str = "untracked";
const LATE: &str = "tracked, figures two seconds late";
const ROOMY: &str = "tracked, room for twice as many";
const ROOMY_UNTRACKED: &str = "untracked, room for twice as many";

/// All of them. The first two are those of the KEP.
const VARIANTS: [Variant; 8] = [
    Variant::new(TRACKED),
    Variant {
        tracked: false,
        ..Variant::new(UNTRACKED)
    },
    Variant {
        scored: true,
        ..Variant::new("tracked and scored")
    },
    Variant {
        tracked: false,
        extender: true,
        ..Variant::new("untracked, reserving extender")
    },
    Variant {
        poll: Duration::from_secs(1),
        ..Variant::new("tracked, polls every second")
    },
    Variant {
        lag: Some("2s"),
        ..Variant::new(LATE)
    },
    Variant {
        room: 2,
        ..Variant::new(ROOMY)
    },
    Variant {
        tracked: false,
        room: 2,
        ..Variant::new(ROOMY_UNTRACKED)
    },
];

/// What became of the pods.
#[derive(Debug, Default)]
struct Burnt {
    placed: usize,
    /// Volumes that the driver refused to make.
    refused: usize,
    requests: usize,
    questions: usize,
    writes: usize,
    /// When each got its node, in simulated seconds since the first was created.
    times: Vec<f64>,
}

impl Burnt {
    /// From the first pod to the last placement.
    fn seconds(&self) -> f64 {
        self.times.last().copied().unwrap_or_default()
    }

    /// Pods that have their node, over time.
    fn course(&self) -> Vec<(f64, f64)> {
        let every = self.times.len().div_ceil(POINTS).max(1);
        let points = self
            .times
            .iter()
            .enumerate()
            .map(|(number, at)| (*at, (number + 1) as f64));
        points
            .clone()
            .step_by(every)
            .chain(points.clone().next_back())
            .collect()
    }
}

/// The study.
pub(super) fn study(setup: Setup, defect: Option<Defect>, burst: Burst) -> Result<Study, BoxError> {
    let mut study = Study::new(
        "burst",
        "Pods with ephemeral volumes, as many as there is room for and all at once: with tracking and without",
        setup,
    );
    let runner = Runner {
        seed: setup.seed,
        defect,
    };
    let mut runs = Vec::new();
    for variant in VARIANTS {
        let run = runner.play(&scenario(variant, burst), variant.poll)?;
        runs.push((variant, burnt(&run)));
    }
    study.tables.push(table(&runs, burst));
    study.plots.push(plot(&runs));
    study.findings = findings(&runs, burst);
    study.findings.sort_by_key(Finding::order);
    Ok(study)
}

fn scenario(variant: Variant, burst: Burst) -> Value {
    let nodes: Vec<String> = (0..burst.nodes).map(|number| format!("n{number}")).collect();
    let room = variant.room * burst.slots;
    let storage = |node: &String| {
        let disks = (0..room).map(|number| (format!("d{number}"), CLAIM.into()));
        let storage = match variant.extender {
            // What an extender reserves is a disk.
            true => json!({"devices": disks.collect::<Map<_, _>>()}),
            false => json!({"capacity": room * CLAIM}),
        };
        (node.clone(), storage)
    };
    let backend: Map<_, _> = nodes.iter().map(storage).collect();
    let pods = (0..burst.pods()).map(|number| {
        json!({"pod": {"name": format!("p{number}"), "ephemeral": [{"class": "fast", "size": CLAIM}]}})
    });
    let slow = variant
        .lag
        .map(|lag| json!({"fault": {"api": format!("watch {CAPACITIES}"), "by": "scheduler", "lag": lag}}));
    let extenders = match variant.extender {
        true => json!([{"name": "reserver", "reserves": true}]),
        false => json!([]),
    };
    json!({
        "id": "study/burst",
        "title": variant.name,
        "cluster": {
            "roles": ["publisher", "scheduler"],
            "driver": {"storageCapacity": variant.tracked},
            "publisher": {"metadata": variant.extender, "strictTopology": true},
            "scheduler": {"scoring": variant.scored},
            "extenders": extenders,
            "nodes": nodes,
            "classes": ["fast"],
            "backend": backend,
        },
        "steps": [
            {"id": "published", "expect": [{
                "count": {"of": {"write": format!("create {CAPACITIES}")}, "min": burst.nodes},
                "within": "60s", "why": "the burst begins with everything published",
            }]},
            {"id": "burst", "do": slow.into_iter().chain(pods).collect::<Vec<_>>(), "expect": [{
                "count": {"of": {"request": "create pods/binding", "code": "201"}, "min": burst.pods()},
                "within": format!("{}s", burst.budget), "why": "to the last pod",
            }]},
        ],
    })
}

/// What the journal says of the burst.
fn burnt(run: &Run) -> Burnt {
    let tally = run.step(1);
    let times = run.placements(1);
    Burnt {
        placed: times.len(),
        refused: tally.refused("CreateVolume"),
        requests: tally.of_client("scheduler"),
        questions: tally.questions,
        writes: tally.writes(),
        times,
    }
}

fn table(runs: &[(Variant, Burnt)], burst: Burst) -> Table {
    let columns = [
        "variant",
        "placed",
        "stuck",
        "refused volumes",
        "refused for each pod",
        "requests of the scheduler",
        "extender calls",
        "writes of objects",
        "simulated seconds",
    ];
    let title = format!(
        "{} pods at once on {} nodes with room for {} volumes each",
        burst.pods(),
        burst.nodes,
        burst.slots
    );
    let mut table = Table::new(title, &columns);
    for (variant, burnt) in runs {
        table.row([
            Cell::from(variant.name),
            burnt.placed.into(),
            (burst.pods() as usize - burnt.placed).into(),
            burnt.refused.into(),
            (burnt.refused as f64 / burst.pods() as f64).into(),
            burnt.requests.into(),
            burnt.questions.into(),
            burnt.writes.into(),
            burnt.seconds().into(),
        ]);
    }
    table
}

fn plot(runs: &[(Variant, Burnt)]) -> Plot {
    let lines = runs.iter().map(|(variant, burnt)| Line {
        name: variant.name.to_owned(),
        points: burnt.course(),
    });
    Plot {
        title: "Pods that have their node".to_owned(),
        x: Axis::even("simulated seconds since the first pod"),
        y: Axis::even("pods"),
        lines: lines.collect(),
    }
}

fn findings(runs: &[(Variant, Burnt)], burst: Burst) -> Vec<Finding> {
    let pods = burst.pods() as f64;
    let of = |name: &str, figure: &dyn Fn(&Burnt) -> f64| {
        let found = runs.iter().find(|(variant, _)| variant.name == name);
        found.map_or(f64::NAN, |(_, burnt)| figure(burnt))
    };
    let left = |name| pods - of(name, &|burnt| burnt.placed as f64);
    let refused = |name| of(name, &|burnt| burnt.refused as f64);
    let seconds = |name| of(name, &|burnt| burnt.seconds());
    let until = seconds(TRACKED);
    let meanwhile = |burnt: &Burnt| burnt.times.iter().filter(|at| **at <= until).count() as f64;
    vec![
        Finding::new(
            "SCALE-15",
            format!("pods of {pods} that are left behind with tracking"),
            left(TRACKED),
            Bound::Exactly(0.0),
        ),
        Finding::new(
            "SCALE-16",
            "pods that have no node without tracking, when the last one with tracking has its node",
            pods - of(UNTRACKED, &meanwhile),
            Bound::Above(0.0),
        ),
        Finding::new(
            "SCALE-16",
            "volumes that are refused without tracking, for each with it and one more",
            refused(UNTRACKED) / (refused(TRACKED) + 1.0),
            Bound::Above(1.0),
        ),
        Finding::new(
            "PROV-17",
            "volumes that are refused with tracking, where figures come late",
            refused(LATE),
            Bound::Above(0.0),
        ),
        Finding::new(
            "PROV-17",
            "pods that are left behind there",
            left(LATE),
            Bound::Exactly(0.0),
        ),
        Finding::new(
            "PROV-12",
            "simulated time with tracking, for each second without, where there is room for twice as many",
            seconds(ROOMY) / seconds(ROOMY_UNTRACKED),
            Bound::AtMost(1.1),
        ),
    ]
}
