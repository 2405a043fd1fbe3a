//! Experiments on the KEPs: KEP-1472 and KEP-4049 argue with measurements and rejected designs, and each study reproduces such an argument.
//!
//! A study is a function of a [`Setup`], without clock and with a seed as the only source of randomness. Two studies run the references in
//! simulated time; `burst` can also run other programs in real time. The result is a [`Study`]: tables, plots, and findings, each with a statement, a
//! measured value, and the bound for which the statement holds.

pub mod autoscaler;
mod burst;
mod cluster;
mod cost;
pub mod designs;
mod journal;
mod page;
mod picture;
mod result;
pub mod scoring;
mod seeded_rng;
mod svg;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use references::Defect;
use suites::harness::manifest::Manifest;
use suites::harness::system::BoxError;
use suites::report::write_file;

use burst::{Burst, BurstArgs};
use cost::CostArgs;
use journal::Runner;

pub use result::{Axis, Bound, Cell, Finding, Line, Plot, Setup, Size, Study, Table};
pub use text::text;

/// A function that runs a study on the inputs in `Setup`.
pub type RunStudy = fn(Setup) -> Study;

/// The studies that run no programs in a cluster, by name.
pub const STUDIES: &[(&str, RunStudy)] = &[
    ("autoscaler", autoscaler::run),
    ("designs", designs::run),
    ("scoring", scoring::run),
];

/// Arguments of `study`.
#[derive(Args)]
pub struct StudyArgs {
    #[command(subcommand)]
    what: StudyCommand,
}

#[derive(Subcommand)]
enum StudyCommand {
    /// Compare an autoscaler with and without the configuration of the KEP
    Autoscaler(Common),
    /// Create a burst of pods with ephemeral volumes that fills all nodes, with and without tracking
    Burst(BurstArgs),
    /// Measure the cost of publishing in small clusters and calculate it for large ones
    Cost(CostArgs),
    /// Compare the API designs that the KEP considered: expressiveness, cost and decisions
    Designs(Common),
    /// Compare scheduling with and without scoring: how many claims fit, how even the utilisation of nodes is, and how many volumes can
    /// grow
    Scoring(Common),
}

/// Arguments of every study.
#[derive(Args)]
pub struct Common {
    /// Use the smallest size with which every statement of the study can be checked
    #[arg(long)]
    small: bool,
    /// Seed of all random choices
    #[arg(long, value_name = "SEED", default_value_t = SEED)]
    seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the result into this folder: an HTML page with plots, each plot as SVG, and JSON
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Arguments of studies that run the reference implementations.
#[derive(Args)]
struct DefectArgs {
    /// Inject a defect into a reference implementation, to see which findings fail
    #[arg(long, value_parser = Defect::named)]
    defect: Option<Defect>,
}

const SEED: u64 = 1;

impl Common {
    fn setup(&self) -> Setup {
        Setup {
            size: if self.small { Size::Small } else { Size::Full },
            seed: self.seed,
        }
    }
}

impl StudyArgs {
    /// The arguments common to all studies.
    pub fn common(&self) -> &Common {
        match &self.what {
            StudyCommand::Burst(args) => &args.common,
            StudyCommand::Cost(args) => &args.common,
            StudyCommand::Autoscaler(common)
            | StudyCommand::Designs(common)
            | StudyCommand::Scoring(common) => common,
        }
    }

    /// The defect to inject into the references, if any.
    pub fn defect(&self) -> Option<Defect> {
        match &self.what {
            StudyCommand::Burst(args) => args.broken.defect,
            StudyCommand::Cost(args) => args.broken.defect,
            StudyCommand::Autoscaler(_) | StudyCommand::Designs(_) | StudyCommand::Scoring(_) => None,
        }
    }

    /// The manifest of the programs to run in place of the references.
    pub fn sut(&self) -> Option<&Path> {
        match &self.what {
            StudyCommand::Burst(args) => args.sut.as_deref(),
            _ => None,
        }
    }

    /// Runs the study that the arguments select, with the programs of the manifest from [`StudyArgs::sut`].
    pub fn run(&self, manifest: Option<Manifest>) -> Result<Study, BoxError> {
        let setup = self.common().setup();
        match &self.what {
            StudyCommand::Autoscaler(_) => Ok(autoscaler::run(setup)),
            StudyCommand::Burst(args) => burst::study(setup, &args.runner(manifest), &args.burst()),
            StudyCommand::Cost(args) => {
                let runner = Runner::simulated(setup.seed, args.broken.defect);
                cost::study(setup, &runner, args.cluster())
            }
            StudyCommand::Designs(_) => Ok(designs::run(setup)),
            StudyCommand::Scoring(_) => Ok(scoring::run(setup)),
        }
    }
}

/// The statements for which a study at its small size has a finding that holds; `None` if no study has this name.
pub fn statements(name: &str) -> Option<BTreeSet<&'static str>> {
    let setup = Setup {
        size: Size::Small,
        seed: SEED,
    };
    let healthy = || Runner::simulated(SEED, None);
    let study = match name {
        "autoscaler" => autoscaler::run(setup),
        "burst" => burst::study(setup, &healthy(), &Burst::of(setup.size)).ok()?,
        "cost" => cost::study(setup, &healthy(), None).ok()?,
        "designs" => designs::run(setup),
        "scoring" => scoring::run(setup),
        _ => return None,
    };
    let holding = study.findings.iter().filter(|finding| finding.holds());
    Some(holding.map(|finding| finding.statement()).collect())
}

/// Writes a study into a folder: an HTML page, each plot as SVG, and JSON.
pub fn write(folder: &Path, study: &Study, json: &str) -> Result<(), BoxError> {
    let file = |end: &str| format!("study-{}.{end}", study.name);
    write_file(folder, &file("html"), &page::page(study))?;
    write_file(folder, &file("json"), json)?;
    for (number, plot) in study.plots.iter().enumerate() {
        write_file(
            folder,
            &file(&format!("{}.svg", number + 1)),
            &picture::picture(plot),
        )?;
    }
    Ok(())
}
