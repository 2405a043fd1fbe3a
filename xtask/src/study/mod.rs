//! `study`: the experiments with which the documents argue, repeated. Thin: which one, how large, and where its result goes.

mod burst;
mod cost;
mod journal;
mod page;
mod picture;
mod svg;
mod terminal;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use capacity_study::{Setup, Size, Study, autoscaler, designs, scoring};
use clap::{Args, Subcommand};
use suites::harness::report::Paint;
use suites::harness::system::BoxError;
use suites::report::write_file;

use crate::defect::Defect;
use crate::out::{eprintln, println};
use crate::runtime::calculate;
use crate::{Exit, mutants, preflight};
use burst::{Burst, BurstArgs};
use cost::CostArgs;
use journal::Runner;

/// Arguments of `study`.
#[derive(Args)]
pub(crate) struct StudyArgs {
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
struct Common {
    /// As little as shows every statement
    #[arg(long)]
    small: bool,
    /// Decides every random choice
    #[arg(long, value_name = "SEED", default_value_t = SEED)]
    seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Write the result into that folder: as a page with plots, each plot as a picture, and as JSON
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
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

impl What {
    fn common(&self) -> &Common {
        match self {
            What::Burst(args) => &args.common,
            What::Cost(args) => &args.common,
            What::Autoscaler(common) | What::Designs(common) | What::Scoring(common) => common,
        }
    }
}

impl Common {
    fn setup(&self) -> Setup {
        Setup {
            size: if self.small { Size::Small } else { Size::Full },
            seed: self.seed,
        }
    }
}

/// Makes a study, and says what it found.
pub(crate) fn run(args: StudyArgs) -> Exit {
    let study = move || attempt(&args).unwrap_or_else(|exit| exit);
    calculate(
        study,
        "a study says what it found once all of it has run, so nothing is said; --small is a shorter one",
    )
}

fn attempt(args: &StudyArgs) -> Result<Exit, Exit> {
    let common = args.what.common();
    common.output.as_deref().map(preflight::output).transpose()?;
    let made = match &args.what {
        What::Autoscaler(_) => Ok(autoscaler::run(common.setup())),
        What::Burst(args) => burst::study(common.setup(), &args.runner()?, &args.burst()),
        What::Cost(args) => {
            mutants::at_hand(args.broken.defect)?;
            let setup = common.setup();
            let runner = Runner::simulated(setup.seed, args.broken.defect);
            cost::study(setup, &runner, args.cluster())
        }
        What::Designs(_) => Ok(designs::run(common.setup())),
        What::Scoring(_) => Ok(scoring::run(common.setup())),
    };
    let told = made.and_then(|study| tell(common, &study).map(|()| study.holds()));
    Ok(match told {
        Ok(true) => Exit::Passed,
        Ok(false) => Exit::Failed,
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    })
}

/// The statements of which a study, at its small size, has a finding that holds; none if there is no such study.
pub fn statements_of_study(name: &str) -> Option<BTreeSet<&'static str>> {
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

fn tell(args: &Common, study: &Study) -> Result<(), BoxError> {
    let json = serde_json::to_string_pretty(study)?;
    if let Some(folder) = &args.output {
        write(folder, study, &json)?;
    }
    match args.json {
        true => println!("{json}"),
        false => println!("{}", terminal::text(study, Paint::of(&std::io::stdout()))),
    }
    Ok(())
}

fn write(folder: &Path, study: &Study, json: &str) -> Result<(), BoxError> {
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
