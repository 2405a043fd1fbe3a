//! `repro`: the cases of one file, wherever it is, against the built-in systems or those of a manifest.
//!
//! Thin: reads the file and chooses the systems. Comparing two of them is `side_by_side`'s.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use suites::harness::Standing;
use suites::harness::manifest::Manifest;
use suites::harness::plan::Plan;
use suites::harness::scenario::{self, ScenarioError};
use suites::harness::system::Systems;
use suites::report::{CaseRecord, SystemRecord};
use suites::{Session, Turns};

use crate::built_in::{Defect, built_in};
use crate::command::{RunArgs, default_jobs};
use crate::drive::{Cases, Drive, announce, drive, exit_of_verdicts, options, runtime};
use crate::interrupt::interrupted;
use crate::keep::Keep;
use crate::mutants;
use crate::out::{self, eprintln, println};
use crate::serve::{self, Place, Refusal};
use crate::{Exit, conformance, e2e, side_by_side, surroundings};

/// Arguments of `repro`.
#[derive(Args)]
pub(crate) struct ReproArgs {
    /// The scenario: a case file, anywhere
    pub(crate) file: PathBuf,
    /// Only these cases of it: ids, or names of its table's rows
    rows: Vec<String>,
    /// Run it against the programs of that manifest instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    sut: Option<PathBuf>,
    /// Break one of the references on purpose
    #[arg(long, value_parser = Defect::named, conflicts_with = "sut")]
    defect: Option<Defect>,
    /// Run it against another manifest too, and show both side by side; `built-in` means the references. Of --output only the
    /// runs are written
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keep", "shard", "keep_passed"])]
    compare: Option<PathBuf>,
    /// Leave the cluster up after the verdict, until Ctrl-C
    #[arg(long, conflicts_with_all = ["attempts", "shard", "output", "apiserver"])]
    keep: bool,
    /// With --keep: where to write the kubeconfig
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/up/kubeconfig",
        requires = "keep"
    )]
    kubeconfig: PathBuf,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Systems to run against, and what is known of them.
pub(crate) struct Chosen {
    pub(crate) systems: Systems,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) defect: Option<Defect>,
    pub(crate) record: SystemRecord,
}

impl Chosen {
    fn built_in(defect: Option<Defect>) -> Self {
        Chosen {
            systems: built_in(defect),
            defect,
            manifest: None,
            record: e2e::record(defect),
        }
    }

    fn of_manifest(path: &Path) -> Result<Self, Exit> {
        let manifest = conformance::manifest(path)?;
        let mut systems = built_in(None);
        manifest.install(&mut systems);
        Ok(Chosen {
            systems,
            defect: None,
            record: conformance::record(&manifest),
            manifest: Some(manifest),
        })
    }

    /// A session that keeps its runs in that folder.
    pub(crate) fn session(self, args: &ReproArgs, keep: PathBuf, keep_passed: bool) -> Session {
        Session {
            options: options(args.run.patience, self.manifest.as_ref(), self.defect),
            systems: self.systems,
            manifest: self.manifest,
            turns: Arc::new(Turns::of(1)),
            attempts: args.run.attempts,
            keep: Some(keep),
            keep_passed,
            rerun: format!(
                "cargo xtask {}",
                out::command(args.command().iter().chain(&args.run.words()))
            ),
        }
    }
}

impl ReproArgs {
    fn command(&self) -> Vec<String> {
        let mut words = e2e::defect_words(self.defect, "repro");
        words.extend(self.sut.as_ref().map(|sut| format!("--sut={}", sut.display())));
        words.push(self.file.display().to_string());
        words
    }

    fn chosen(&self) -> Result<Chosen, Exit> {
        mutants::at_hand(self.defect)?;
        match &self.sut {
            Some(path) => Chosen::of_manifest(path),
            None => Ok(Chosen::built_in(self.defect)),
        }
    }
}

/// Runs what is meant.
pub(crate) fn run(args: &ReproArgs) -> Exit {
    attempt(args).unwrap_or_else(|exit| exit)
}

fn attempt(args: &ReproArgs) -> Result<Exit, Exit> {
    let plans = plans(&args.file, &args.rows).map_err(|why| {
        eprintln!("error: {why}");
        Exit::Usage
    })?;
    let chosen = args.chosen()?;
    if let Some(other) = &args.compare {
        let other = match other.to_str() {
            Some("built-in") => Chosen::built_in(None),
            _ => Chosen::of_manifest(other)?,
        };
        return Ok(side_by_side::run(args, plans, [chosen, other]));
    }
    if args.keep {
        return keep(args, plans, chosen);
    }
    Ok(drive(Drive {
        cases: Cases::These(plans, format!("only the cases of {}", args.file.display())),
        run: &args.run,
        jobs: default_jobs(&args.run),
        systems: chosen.systems,
        manifest: chosen.manifest,
        defect: chosen.defect,
        record: chosen.record,
        accept: None,
        command: args.command(),
    }))
}

/// The cases of a file that are meant.
pub(crate) fn plans(file: &Path, rows: &[String]) -> Result<Vec<Plan>, String> {
    let told = |error: ScenarioError| error.to_string();
    let all = scenario::load_file(file).map_err(told)?;
    let is_meant = |id: &str, row: &String| id == row || id.rsplit('/').next() == Some(row);
    if let Some(unknown) = rows
        .iter()
        .find(|row| !all.iter().any(|scenario| is_meant(&scenario.id, row)))
    {
        let ids: Vec<&str> = all.iter().map(|scenario| scenario.id.as_str()).collect();
        return Err(format!(
            "{} has no case `{unknown}`; its cases: {}",
            file.display(),
            ids.join(", ")
        ));
    }
    let meant = all
        .iter()
        .filter(|scenario| rows.is_empty() || rows.iter().any(|row| is_meant(&scenario.id, row)));
    suites::lowered(meant).map_err(told)
}

/// Runs one case, and serves its cluster after the verdict.
fn keep(args: &ReproArgs, plans: Vec<Plan>, chosen: Chosen) -> Result<Exit, Exit> {
    let Ok([plan]) = <[Plan; 1]>::try_from(plans) else {
        eprintln!(
            "error: --keep keeps one cluster; name one case of {}",
            args.file.display()
        );
        return Err(Exit::Usage);
    };
    surroundings::temporary_files()?;
    let (runtime, keep) = (runtime()?, Keep::claim(None)?);
    let session = Arc::new(chosen.session(args, keep.cases(), false));
    let scope = serve::scope(Some(&plan));
    runtime.block_on(async {
        let (result, standing) = tokio::select! {
            ended = session.run_and_keep(plan) => ended,
            () = interrupted() => return Err(Exit::Interrupted),
        };
        announce(&result, true);
        let exit = exit_of_verdicts(&[CaseRecord::new(&result)]);
        let Some(standing) = standing else { return Ok(exit) };
        match serve_until_stopped(&args.kubeconfig, scope, standing).await {
            Ok(()) => Ok(exit),
            Err(Refusal(exit, why)) => {
                eprintln!("error: {why}");
                Err(exit)
            }
        }
    })
}

async fn serve_until_stopped(
    kubeconfig: &Path,
    scope: [String; 2],
    standing: Standing,
) -> Result<(), Refusal> {
    standing.forget_old_facts();
    let place = Place {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        kubeconfig,
        plain_http: false,
        scope,
    };
    println!("\nThe cluster stays up as it is now, until Ctrl-C.");
    let sockets = serve::sockets(&standing);
    let served = match standing.api() {
        Some(api) => tokio::select! {
            served = serve::serve(api, &sockets, &place) => served,
            () = serve::tell_unattended(standing.unattended()) => Ok(()),
        },
        // It is reachable as it is.
        None => Ok(()),
    };
    standing.stop().await;
    served
}

/// Where one of two systems keeps its runs.
pub(crate) fn folder_of(args: &ReproArgs, keep: &Keep, number: usize) -> PathBuf {
    let root = match &args.run.output {
        Some(_) => keep.cases(),
        None => keep.cases().join("compare"),
    };
    root.join(number.to_string())
}
