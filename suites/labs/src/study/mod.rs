//! The arguments of the KEPs as experiments: KEP-1472 and KEP-4049 argue with measurements and with designs that were rejected, and each
//! study here repeats such an argument.
//!
//! A study follows from a [`Setup`]: no clock, no other source of chance than its seed. Two of them run the references in simulated time,
//! or other programs in real time. What a study says is a [`Study`]: tables, plots, and findings, each of which names a statement, has a
//! figure, and a bound that the figure must meet while the statement is true.

pub mod autoscaler;
mod burst;
mod cluster;
mod cost;
pub mod designs;
mod dice;
mod journal;
mod page;
mod picture;
mod result;
pub mod scoring;
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

/// How a study is made.
pub type Make = fn(Setup) -> Study;

/// Each study that needs no cluster, by its name.
pub const STUDIES: &[(&str, Make)] = &[
    ("autoscaler", autoscaler::run),
    ("designs", designs::run),
    ("scoring", scoring::run),
];

/// Arguments of `study`.
#[derive(Args)]
pub struct StudyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// An autoscaler with the recipe of the KEP, with parts of it, and without
    Autoscaler(Common),
    /// Pods with ephemeral volumes, as many as there is room for and all at once: with tracking and without
    Burst(BurstArgs),
    /// What publishing costs a cluster, measured for small ones and calculated for large ones
    Cost(CostArgs),
    /// The designs that were weighed: what each can say, what it costs, and whether it decides the same
    Designs(Common),
    /// Claims with and without scoring: what still finds a place, how even nodes are, and what can grow
    Scoring(Common),
}

/// Arguments of every study.
#[derive(Args)]
pub struct Common {
    /// As little as shows every statement
    #[arg(long)]
    small: bool,
    /// Decides every random choice
    #[arg(long, value_name = "SEED", default_value_t = SEED)]
    seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the result into that folder: as a page with plots, each plot as a picture, and as JSON
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Arguments of studies that run the references.
#[derive(Args)]
struct Broken {
    /// Break one of the references on purpose, to see which findings say so
    #[arg(long, value_parser = Defect::named)]
    defect: Option<Defect>,
}

/// The seed where none is given.
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
    /// The arguments that every study has.
    pub fn common(&self) -> &Common {
        match &self.what {
            What::Burst(args) => &args.common,
            What::Cost(args) => &args.common,
            What::Autoscaler(common) | What::Designs(common) | What::Scoring(common) => common,
        }
    }

    /// The defect of the references that it runs.
    pub fn defect(&self) -> Option<Defect> {
        match &self.what {
            What::Burst(args) => args.broken.defect,
            What::Cost(args) => args.broken.defect,
            What::Autoscaler(_) | What::Designs(_) | What::Scoring(_) => None,
        }
    }

    /// The manifest of the programs that it runs instead of the references.
    pub fn sut(&self) -> Option<&Path> {
        match &self.what {
            What::Burst(args) => args.sut.as_deref(),
            _ => None,
        }
    }

    /// Makes the study, with the programs of the manifest that [`StudyArgs::sut`] names.
    pub fn make(&self, manifest: Option<Manifest>) -> Result<Study, BoxError> {
        let setup = self.common().setup();
        match &self.what {
            What::Autoscaler(_) => Ok(autoscaler::run(setup)),
            What::Burst(args) => burst::study(setup, &args.runner(manifest), &args.burst()),
            What::Cost(args) => {
                let runner = Runner::simulated(setup.seed, args.broken.defect);
                cost::study(setup, &runner, args.cluster())
            }
            What::Designs(_) => Ok(designs::run(setup)),
            What::Scoring(_) => Ok(scoring::run(setup)),
        }
    }
}

/// The statements of which a study, at its small size, has a finding that holds; none if there is no such study.
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

/// Writes a study into a folder: as a page, each plot as a picture, and as JSON.
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
