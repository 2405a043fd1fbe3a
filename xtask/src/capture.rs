//! `capture`: the situation of a cluster as a scenario that reproduces it.
//!
//! Thin: where the objects come from, and where the text goes. What belongs to the situation is the harness's to say.

use std::path::{Path, PathBuf};

use capacity_scheduler::Options;
use capacity_scheduler::explain::{self, Detail};
use capacity_scheduler::inventory::Inventory;
use capacity_scheduler::objects::{ObjectKey, PodVolume};
use capacity_scheduler::rules::Rules;
use clap::Args;
use suites::harness::capture::{CaptureError, CaptureOptions, capture};
use suites::harness::invocation::program;

use crate::Exit;
use crate::out::{eprintln, print};
use crate::reach::{self, BoxError, ReachArgs};
use crate::runtime::runtime;
use crate::snapshot::Snapshot;
use suites::quoted;

/// Arguments of `capture`.
#[derive(Args)]
pub(crate) struct CaptureArgs {
    #[command(flatten)]
    pub(crate) what: SituationArgs,
    /// Write the scenario into that file, which must not exist yet; else to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long, requires = "output")]
    force: bool,
}

/// What is captured.
#[derive(Args)]
pub(crate) struct SituationArgs {
    #[command(flatten)]
    reach: ReachArgs,
    /// What `kubectl get nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods,volumeattachments,namespaces -A -o yaml`
    /// printed, or `-o json`; `-` is standard input. Several files together are one cluster. Without -A objects of other namespaces are
    /// missing
    #[arg(short, long, value_name = "FILE", num_args = 1.., conflicts_with = "reach")]
    file: Vec<PathBuf>,
    /// The pod that it is about, as NAME or NAMESPACE/NAME; else all that wait for a volume of the driver
    #[arg(long, value_name = "[NAMESPACE/]NAME", value_parser = pod)]
    pod: Option<PodName>,
    /// The namespace of a pod that is named without one; else that of the context, or `default`
    #[arg(short, long)]
    namespace: Option<String>,
    /// The driver that it is about; else that of the pod's claims, or the only one
    #[arg(long, value_name = "NAME")]
    driver: Option<String>,
    /// A publisher is to run: what the capacity objects say becomes the storage behind the driver
    #[arg(long)]
    publisher: bool,
    /// Replace all names, and the keys and values of labels and class parameters, by neutral ones
    #[arg(long)]
    scrub: bool,
}

/// A namespace, where one is given, and a name in it.
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

/// Captures.
pub(crate) fn run(args: &CaptureArgs) -> Exit {
    if let Some(file) = args.output.as_ref().filter(|file| !args.force && file.exists()) {
        eprintln!(
            "error: {} exists; name another file, or write over it with --force",
            file.display()
        );
        return Exit::Usage;
    }
    let text = match args.what.text() {
        Ok(text) => text,
        Err(exit) => return exit,
    };
    match &args.output {
        None => print!("{text}"),
        Some(file) => {
            if let Err(error) = write(file, &text) {
                eprintln!(
                    "error: {}: {error}; name a file that can be written",
                    file.display()
                );
                return Exit::Environment;
            }
            eprintln!(
                "run it: {program} repro {}",
                quoted(&file.display().to_string()),
                program = program()
            );
        }
    }
    Exit::Passed
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, text)
}

impl SituationArgs {
    /// The scenario. The error is reported already.
    pub(crate) fn text(&self) -> Result<String, Exit> {
        let snapshot = runtime()?.block_on(self.snapshot());
        snapshot
            .and_then(|snapshot| self.scenario(&snapshot))
            .map_err(|error| {
                eprintln!("error: {error}");
                reach::exit_of(&error)
            })
    }

    async fn snapshot(&self) -> Result<Snapshot, BoxError> {
        if !self.file.is_empty() {
            return Snapshot::of_files(&self.file);
        }
        Snapshot::of_cluster(&self.reach.client().await?).await
    }

    fn scenario(&self, snapshot: &Snapshot) -> Result<String, BoxError> {
        let rules: Rules = Options::default().rules()?;
        let fits = |namespace: &str, name: &str| has_node(&snapshot.inventory, &rules, namespace, name);
        let pod = self.pod.as_ref().map(|(namespace, name)| {
            let given = namespace.as_deref().or(self.namespace.as_deref());
            (snapshot.namespace(given).to_owned(), name.clone())
        });
        let options = CaptureOptions {
            pod,
            driver: self.driver.clone(),
            publisher: self.publisher,
            scrub: self.scrub,
        };
        snapshot.warn();
        capture(&snapshot.objects, &fits, &options).map_err(|error| match &error {
            CaptureError::NoPod(namespace, _) => format!("{error}{}", snapshot.hint_at(namespace)).into(),
            _ => error.into(),
        })
    }
}

/// Whether there is a node for a pod, once volumes are made that wait for no consumer.
fn has_node(inventory: &Inventory, rules: &Rules, namespace: &str, name: &str) -> bool {
    let Some(pod) = inventory.pods.get(&ObjectKey::namespaced(namespace, name)) else {
        return false;
    };
    let snapshot = &inventory.snapshot;
    let waits_for_pod = |volume: &PodVolume| {
        let claim = snapshot.claims.stored(&volume.claim);
        let class = claim
            .filter(|claim| claim.volume.is_none())
            .and_then(|claim| snapshot.class(&claim.class));
        class.is_none_or(|class| class.delayed)
    };
    let mut pod = (**pod).clone();
    pod.volumes.retain(waits_for_pod);
    let detail = Detail {
        node: None,
        objects: 0,
    };
    // What can't even be explained, such as a claim that is missing, is no place for a pod.
    explain::pod(snapshot, rules, &pod, &detail).is_ok_and(|told| told.nodes.iter().any(|node| node.fits))
}
