//! `capture`: writes the state of a cluster as a scenario that reproduces it.
//!
//! Only reads the objects and writes the text. The crate `diagnose` decides which objects belong to the scenario.

use std::path::{Path, PathBuf};

use capacity_diagnose::capture::{CaptureOptions, Captured, capture_cluster, differences};
use capacity_diagnose::snapshot::Snapshot;
use clap::Args;
use serde_json::Value;
use suites::harness::invocation::program;
use suites::harness::plan::{Plan, resolve};
use suites::harness::scenario;
use suites::{CaseOutcome, Session, quoted};

use crate::Exit;
use crate::config_flags::{self, BoxError, ConfigFlags};
use crate::out::{eprintln, print};
use crate::runner::options;
use crate::runtime::runtime;
use crate::why::warn;
use references::built_in;

/// Arguments of `capture`.
#[derive(Args)]
pub(crate) struct CaptureArgs {
    #[command(flatten)]
    pub(crate) what: CaptureSource,
    /// Write the scenario into this file, which must not exist yet [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

/// What to capture, and from which cluster.
#[derive(Args)]
pub(crate) struct CaptureSource {
    #[command(flatten)]
    config_flags: ConfigFlags,
    /// Output of `kubectl get
    /// nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods,volumeattachments,namespaces,pdb,leases -A -o yaml` (or
    /// `-o json`); `-` is standard input. Several files form one cluster. Without -A objects of other namespaces are missing
    #[arg(short, long, value_name = "FILE", num_args = 1.., conflicts_with = "config_flags")]
    file: Vec<PathBuf>,
    /// The pod to capture, as NAME or NAMESPACE/NAME [default: all pods that wait for a volume of the driver]
    #[arg(long, value_name = "[NAMESPACE/]NAME", value_parser = pod)]
    pod: Option<PodName>,
    /// Namespace for --pod without a namespace [default: that of the context, or `default`]
    #[arg(short, long)]
    namespace: Option<String>,
    /// The CSI driver [default: the driver of the pod's claims, or the only driver]
    #[arg(long, value_name = "NAME")]
    driver: Option<String>,
    /// Run a publisher in the scenario: the capacity objects become the storage backend of the driver
    #[arg(long)]
    publisher: bool,
    /// Replace names, label keys and values, and class parameters by neutral ones
    #[arg(long)]
    scrub: bool,
}

/// Optional namespace, and name of a pod.
type PodName = (Option<String>, String);

fn pod(text: &str) -> Result<PodName, String> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, text),
    };
    match namespace == Some("") || name.is_empty() || name.contains('/') {
        true => Err("write NAME or NAMESPACE/NAME".to_owned()),
        false => Ok((namespace.map(str::to_owned), name.to_owned())),
    }
}

pub(crate) fn run(args: &CaptureArgs) -> Result<Exit, Exit> {
    if let Some(file) = args.output.as_ref().filter(|file| !args.force && file.exists()) {
        eprintln!(
            "error: {} exists; name another file, or overwrite it with --force",
            file.display()
        );
        return Err(Exit::Usage);
    }
    let text = args.what.text()?;
    verify(&text);
    match &args.output {
        None => print!("{text}"),
        Some(file) => {
            if let Err(error) = write(file, &text) {
                eprintln!(
                    "error: {}: {error}; name a file that can be written",
                    file.display()
                );
                return Err(Exit::Environment);
            }
            eprintln!(
                "run it: {program} repro {}",
                quoted(&file.display().to_string()),
                program = program()
            );
        }
    }
    Ok(Exit::Passed)
}

/// Runs the captured scenario, and reports on standard error whether the outcome matches that of the cluster.
fn verify(text: &str) {
    let ran = runtime().ok().map(|runtime| runtime.block_on(run_once(text)));
    match ran {
        None => {}
        Some(Ok(CaseOutcome::Passed | CaseOutcome::UnexpectedPass(_))) => {
            eprintln!("the scenario was run: its result matches the cluster's");
        }
        Some(Ok(
            CaseOutcome::Failed(explained)
            | CaseOutcome::Flaky(_, explained)
            | CaseOutcome::KnownFailure(_, explained),
        )) => {
            eprintln!(
                "warning: the scenario was run, and its result differs from the cluster's: {}; first missing: {} {}",
                explained.failure_text.verdict, explained.failure_text.link, explained.failure_text.note
            );
        }
        Some(Ok(CaseOutcome::Inconclusive(_))) => {
            eprintln!("warning: the host was too slow to compare the scenario's result with the cluster's");
        }
        Some(Ok(CaseOutcome::Skipped(why))) => {
            eprintln!("warning: the scenario's result could not be compared with the cluster's: {why}");
        }
        Some(Ok(CaseOutcome::NotRun(error))) => eprintln!("warning: the scenario cannot be run: {error}"),
        Some(Err(error)) => eprintln!("warning: the scenario cannot be run: {error}"),
    }
}

/// A captured scenario with more nodes than this is not run automatically.
const MAX_VERIFIED_NODES: usize = 1000;

fn plan_of(text: &str) -> Result<Plan, String> {
    let cases = scenario::parse("captured.yaml", text).map_err(|error| error.to_string())?;
    match cases.as_slice() {
        [only] => resolve(only).map_err(|error| error.to_string()),
        _ => Err("the file has more than one case".to_owned()),
    }
}

async fn run_once(text: &str) -> Result<CaseOutcome, String> {
    let plan = plan_of(text)?;
    let is_node = |object: &&Value| object["kind"] == "Node";
    let nodes = plan.objects.iter().filter(is_node).count();
    if nodes > MAX_VERIFIED_NODES {
        return Ok(CaseOutcome::Skipped(format!(
            "the scenario has {} nodes; run it with `{} repro FILE`",
            nodes,
            program()
        )));
    }
    let rerun = format!("{} repro", program());
    let session = Session::new(built_in(None), options(1.0, None, None), None, 1, rerun);
    Ok(session.run_one(plan).await.outcome)
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, text)
}

impl CaptureSource {
    /// The captured scenario as YAML text. Prints its own errors.
    pub(crate) fn text(&self) -> Result<String, Exit> {
        let snapshot = runtime()?.block_on(self.snapshot());
        snapshot
            .and_then(|snapshot| {
                let captured = self.scenario(&snapshot)?;
                let different = match plan_of(&captured.text) {
                    // A publisher creates the capacity objects during the run, so they are not compared.
                    _ if self.publisher => Vec::new(),
                    Ok(plan) => differences(&snapshot, &captured, plan.case.objects),
                    // `verify` reports that the scenario cannot be run.
                    Err(_) => Vec::new(),
                };
                for sentence in captured.omissions.iter().chain(&different) {
                    eprintln!("warning: {sentence}");
                }
                Ok(captured.text)
            })
            .map_err(|error| config_flags::exit_of(&error).with_error(error))
    }

    async fn snapshot(&self) -> Result<Snapshot, BoxError> {
        if !self.file.is_empty() {
            return Snapshot::of_files(&self.file);
        }
        Snapshot::of_cluster(&self.config_flags.client().await?).await
    }

    fn scenario(&self, snapshot: &Snapshot) -> Result<Captured, BoxError> {
        let pod = self.pod.as_ref().map(|(namespace, name)| {
            let given = namespace.as_deref().or(self.namespace.as_deref());
            (snapshot.namespace(given).to_owned(), name.clone())
        });
        warn(snapshot);
        let options = CaptureOptions {
            pod,
            driver: self.driver.clone(),
            publisher: self.publisher,
            program: program(),
            scrub: self.scrub,
        };
        capture_cluster(snapshot, &options)
    }
}
