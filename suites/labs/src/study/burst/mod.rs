//! `study burst`: the experiment of KEP-1472. Pods with generic ephemeral volumes are created as fast as possible until the nodes are full,
//! with and without tracking; with the references in simulated time, or with other programs in real time.

mod outcome;
mod variant;

use std::path::PathBuf;

use crate::study::{Finding, Setup, Size, Study};
use clap::Args;
use clap::builder::PossibleValuesParser;
use suites::harness::manifest::Manifest;
use suites::harness::on_all_cores;
use suites::harness::system::BoxError;

use super::journal::Runner;
use super::{Common, DefectArgs};
use crate::at_least_one;
use outcome::Outcome;
use variant::{VARIANTS, Variant};

/// Arguments of `study burst`.
#[derive(Args)]
pub(super) struct BurstArgs {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) broken: DefectArgs,
    /// Run the programs of this manifest in real time, instead of the references in simulated time
    #[arg(long, value_name = "FILE", conflicts_with = "defect")]
    pub(super) sut: Option<PathBuf>,
    /// Run in real time, on sockets [default: simulated time, unless --sut needs real time]
    #[arg(long)]
    pub(super) real_time: bool,
    /// Nodes, each with local storage [default: 10, 3 with --small]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<u64>())]
    nodes: Option<u64>,
    /// Volumes per node, all of which are requested [default: 100, 10 with --small]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<u64>())]
    slots: Option<u64>,
    /// Run only this variant; can be repeated. A finding that compares two variants requires both
    #[arg(long = "variant", value_name = "NAME", value_parser = PossibleValuesParser::new(VARIANTS.iter().map(|it| it.name)))]
    variants: Vec<String>,
    /// Time limit for all pods, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = BUDGET, value_parser = at_least_one::<u64>())]
    budget: u64,
}

/// Default time limit for all pods, in seconds.
const BUDGET: u64 = 120;

/// Size of the burst: number of nodes, and of volumes per node.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    nodes: u64,
    slots: u64,
    budget: u64,
    variants: Vec<Variant>,
}

impl BurstArgs {
    pub(super) fn burst(&self) -> Burst {
        let usual = Burst::of(self.common.setup().size);
        Burst {
            nodes: self.nodes.unwrap_or(usual.nodes),
            slots: self.slots.unwrap_or(usual.slots),
            budget: self.budget,
            variants: VARIANTS
                .iter()
                .copied()
                .filter(|variant| self.wants(variant))
                .collect(),
        }
    }

    /// Creates the runner for the scenarios of the burst: in real time if a manifest is given, else in simulated time by default.
    pub(super) fn runner(&self, manifest: Option<Manifest>) -> Runner {
        match manifest {
            None if !self.real_time => Runner::simulated(self.common.setup().seed, self.broken.defect),
            manifest => Runner::real(manifest, self.broken.defect),
        }
    }

    fn wants(&self, variant: &Variant) -> bool {
        self.variants.is_empty() || self.variants.iter().any(|name| name == variant.name)
    }
}

impl Burst {
    /// Returns the burst with the default numbers of nodes and volumes for a size of the study, and with all variants.
    pub(super) fn of(size: Size) -> Self {
        let (nodes, slots) = match size {
            Size::Small => (3, 10),
            Size::Full => (10, 100),
        };
        Self {
            nodes,
            slots,
            budget: BUDGET,
            variants: VARIANTS.to_vec(),
        }
    }

    fn pods(&self) -> u64 {
        self.nodes * self.slots
    }
}

pub(super) fn study(setup: Setup, runner: &Runner, burst: &Burst) -> Result<Study, BoxError> {
    let mut study = Study::new(
        "burst",
        "A burst of pods whose ephemeral volumes use all storage: with and without capacity tracking",
        setup,
    );
    let runs = outcomes(runner, burst)?;
    study.tables.push(outcome::legend(burst));
    study.tables.push(outcome::table(&runs, burst));
    study.plots.push(outcome::plot(&runs));
    study.findings = outcome::findings(&runs, burst, runner.is_simulated());
    study.findings.sort_by_key(Finding::sort_key);
    Ok(study)
}

/// Runs all variants: in simulated time one variant per core; in real time sequentially, because concurrent variants slow each other down.
fn outcomes(runner: &Runner, burst: &Burst) -> Result<Vec<Outcome>, BoxError> {
    let run_variant = |variant: &Variant| {
        let scenario = variant::scenario(*variant, burst);
        if let Some(why) = runner.skips(&scenario)? {
            anstream::eprintln!("skip  {}: {why}", variant.name);
            return Ok(None);
        }
        let run = runner.run_ignoring_failures(&scenario, variant.poll)?;
        Ok(Some(Outcome::of(variant.name, &run)))
    };
    let outcomes: Result<Vec<_>, BoxError> = match runner.is_simulated() {
        true => on_all_cores(&burst.variants, run_variant).into_iter().collect(),
        false => burst.variants.iter().map(run_variant).collect(),
    };
    Ok(outcomes?.into_iter().flatten().collect())
}
