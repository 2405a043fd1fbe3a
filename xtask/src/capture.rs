//! `capture`: the situation of a cluster as a scenario that reproduces it.
//!
//! Thin: where the objects come from, and where the text goes. What belongs to the situation is the harness's to say.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capacity_diagnose::explain::{self, Detail, NodeView};
use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::Options;
use capacity_scheduler::objects::{Claim, Object, ObjectKey, PodVolume};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::store::Collection;
use capacity_types::ephemeral_claim_name;
use clap::Args;
use serde_json::{Value, json};
use suites::harness::capture::{CaptureError, CaptureOptions, Captured, capture};
use suites::harness::invocation::program;
use suites::harness::plan::{Plan, WORKLOADS, resolve};
use suites::harness::scenario;
use suites::{Ended, Session, Turns, quoted};

use crate::Exit;
use crate::out::{eprintln, print};
use crate::reach::{self, BoxError, ReachArgs};
use crate::runner::options;
use crate::runtime::runtime;
use crate::snapshot::Snapshot;
use references::built_in;

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
    /// What `kubectl get nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods,volumeattachments,namespaces,pdb,leases
    /// -A -o yaml` printed, or `-o json`; `-` is standard input. Several files together are one cluster. Without -A objects of other namespaces are
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
    prove(&text);
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

/// Runs the scenario, and tells on standard error whether it comes to what the cluster showed.
fn prove(text: &str) {
    let ran = runtime().ok().map(|runtime| runtime.block_on(run_once(text)));
    match ran {
        None => {}
        Some(Ok(Ended::Passed | Ended::Surprising(_))) => {
            eprintln!("it was run: what it expects, which is what the cluster showed, comes true");
        }
        Some(Ok(Ended::Failed(explained) | Ended::Flaky(_, explained) | Ended::Known(_, explained))) => {
            eprintln!(
                "warning: it was run, and does not come to what the cluster showed: {}; first missing: {} {}",
                explained.said.verdict, explained.said.link, explained.said.note
            );
        }
        Some(Ok(Ended::Inconclusive(_))) => {
            eprintln!(
                "warning: the machine was too slow to tell whether it comes to what the cluster showed"
            );
        }
        Some(Ok(Ended::Skipped(why))) => {
            eprintln!("warning: whether it comes to what the cluster showed is not known: {why}");
        }
        Some(Ok(Ended::Broken(error))) => eprintln!("warning: it cannot be run: {error}"),
        Some(Err(error)) => eprintln!("warning: it cannot be run: {error}"),
    }
}

/// So many nodes are too many for a run by the way.
const MANY: usize = 1000;

fn plan_of(text: &str) -> Result<Plan, String> {
    let cases = scenario::parse("captured.yaml", text).map_err(|error| error.to_string())?;
    match cases.as_slice() {
        [only] => resolve(only).map_err(|error| error.to_string()),
        _ => Err("it is no single case".to_owned()),
    }
}

async fn run_once(text: &str) -> Result<Ended, String> {
    let plan = plan_of(text)?;
    let is_node = |object: &&Value| object["kind"] == "Node";
    let nodes = plan.objects.iter().filter(is_node).count();
    if nodes > MANY {
        return Ok(Ended::Skipped(format!(
            "it has {} nodes; run it with `{} repro FILE`",
            nodes,
            program()
        )));
    }
    let session = Session {
        systems: built_in(None),
        options: options(1.0, None, None),
        manifest: None,
        turns: Arc::new(Turns::of(1)),
        attempts: 1,
        keep: None,
        keep_passed: false,
        rerun: format!("{} repro", program()),
    };
    Ok(session.run_one(plan).await.ended)
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
            .and_then(|snapshot| {
                let captured = self.scenario(&snapshot)?;
                for sentence in captured
                    .left_out
                    .iter()
                    .chain(&self.differences(&snapshot, &captured))
                {
                    eprintln!("warning: {sentence}");
                }
                Ok(captured.text)
            })
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

    /// Differences between the scheduler's verdicts in the file and in the cluster: for each pod the first node whose verdict differs. None
    /// with `--publisher`, whose objects are not published yet.
    fn differences(&self, snapshot: &Snapshot, captured: &Captured) -> Vec<String> {
        if self.publisher {
            return Vec::new();
        }
        // `prove` reports a file that cannot be run.
        let Ok(plan) = plan_of(&captured.text) else {
            return Vec::new();
        };
        let Ok(file) = Snapshot::of_objects(with_priorities(plan.case.objects)) else {
            return Vec::new();
        };
        let differing = |((namespace, name), own): &((String, String), String)| {
            let before = nodes(&snapshot.inventory, &ObjectKey::namespaced(namespace, name))?;
            let after = nodes(&file.inventory, &ObjectKey::namespaced(WORKLOADS, own))?;
            let after: BTreeMap<&String, &NodeView> = after.iter().map(|node| (&node.node, node)).collect();
            let mut pairs = before.iter().filter_map(|node| {
                let own = captured.nodes.get(&node.node)?;
                Some((node, *after.get(own)?))
            });
            let (node, other) = pairs.find(|(one, other)| one.fits != other.fits)?;
            let verdict = |view: &NodeView| match view.fits {
                true => "fits".to_owned(),
                false => format!("does not fit ({})", view.reasons.join(", ")),
            };
            Some(format!(
                "pod {namespace}/{name} {} node {} in the cluster, and {} in the file",
                verdict(node),
                node.node,
                verdict(other)
            ))
        };
        captured.pods.iter().filter_map(differing).collect()
    }

    fn scenario(&self, snapshot: &Snapshot) -> Result<Captured, BoxError> {
        let rules: Rules = Options::default().rules()?;
        let objects = snapshot.objects();
        let fits =
            |namespace: &str, name: &str| has_node(&objects, &snapshot.inventory, &rules, namespace, name);
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
        capture(&objects, &fits, &options).map_err(|error| match &error {
            CaptureError::NoPod(namespace, _) => format!("{error}{}", snapshot.hint_at(namespace)).into(),
            _ => error.into(),
        })
    }
}

/// The verdict about each node, sorted by node name; none: the pod cannot be explained.
fn nodes(inventory: &Inventory, pod: &ObjectKey) -> Option<Vec<NodeView>> {
    let rules = Options::default().rules().ok()?;
    let detail = Detail {
        node: None,
        objects: 0,
    };
    let explained = explain::pod(&inventory.snapshot, &rules, inventory.pods.get(pod)?, &detail);
    Some(explained.ok()?.nodes)
}

/// The objects, with the priority and preemption policy that the admission plugin Priority sets in pods.
fn with_priorities(mut objects: Vec<Value>) -> Vec<Value> {
    let is_class = |object: &&Value| object["kind"] == "PriorityClass";
    let classes: Vec<Value> = objects.iter().filter(is_class).cloned().collect();
    for pod in objects.iter_mut().filter(|object| object["kind"] == "Pod") {
        let named = |class: &&Value| class["metadata"]["name"] == pod["spec"]["priorityClassName"];
        if let Some(class) = classes.iter().find(named) {
            pod["spec"]["priority"] = class["value"].clone();
            pod["spec"]["preemptionPolicy"] = class["preemptionPolicy"].clone();
        }
    }
    objects
}

/// The claims that the ephemeral volume controller has not created for a pod yet.
fn ephemeral_claims(pod: &Value, inventory: &Inventory) -> Vec<Arc<Claim>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &pod["metadata"];
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let claim = |volume: &Value| {
        let template = &volume["ephemeral"]["volumeClaimTemplate"];
        let name = ephemeral_claim_name(&text(&metadata["name"]), &text(&volume["name"]));
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": text(&metadata["uid"]), "controller": true});
        let claim = json!({
            "metadata": {"name": name, "namespace": metadata["namespace"], "ownerReferences": [owner]}, "spec": template["spec"],
        });
        let claim = Claim::read(&serde_json::from_value(claim).ok()?).ok()?;
        let is_missing = !template.is_null() && inventory.snapshot.claims.stored(claim.key()).is_none();
        is_missing.then(|| Arc::new(claim))
    };
    volumes.filter_map(claim).collect()
}

/// Whether a node fits a pod, with preemption if needed, once its ephemeral claims and its volumes of immediate classes exist.
fn has_node(objects: &[Value], inventory: &Inventory, rules: &Rules, namespace: &str, name: &str) -> bool {
    let Some(pod) = inventory.pods.get(&ObjectKey::namespaced(namespace, name)) else {
        return false;
    };
    let mut snapshot = Cow::Borrowed(&inventory.snapshot);
    if pod.volumes.iter().any(|volume| volume.ephemeral) {
        let source = objects.iter().find(|object| {
            let metadata = &object["metadata"];
            object["kind"] == "Pod"
                && metadata["name"] == name
                && metadata["namespace"].as_str().unwrap_or("default") == namespace
        });
        for claim in source
            .into_iter()
            .flat_map(|pod| ephemeral_claims(pod, inventory))
        {
            snapshot.to_mut().claims.put(claim);
        }
    }
    let snapshot = &*snapshot;
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
    explain::pod(snapshot, rules, &pod, &detail)
        .is_ok_and(|told| told.preemption.is_some() || told.nodes.iter().any(|node| node.fits))
}
