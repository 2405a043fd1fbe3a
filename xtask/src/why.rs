//! `why`: why a pod, or a claim that somebody thinks of, fits which nodes, and which objects can never help.
//!
//! Thin: where the cluster comes from, and how the answer is printed. The answer is the scheduler library's.

use std::path::PathBuf;
use std::sync::Arc;

use capacity_scheduler::Options;
use capacity_scheduler::explain::{self, Detail};
use capacity_scheduler::inventory::Inventory;
use capacity_scheduler::lint::{self, Finding};
use capacity_scheduler::objects::ObjectKey;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::shape::parse_points;
use clap::{Args, Subcommand};
use suites::harness::journal::{Change, Fact, What};
use suites::harness::plan::resolve;
use suites::harness::{RunOptions, record, run, scenario};

use crate::Exit;
use crate::built_in::built_in;
use crate::out::{eprintln, println};
use crate::snapshot::{self, BoxError, Snapshot};

/// Arguments of `why`.
#[derive(Args)]
pub(crate) struct WhyArgs {
    #[command(subcommand)]
    what: Subject,
}

#[derive(Subcommand)]
enum Subject {
    /// Why a pod fits which nodes
    Pod {
        /// Its name
        name: String,
        /// Its namespace
        #[arg(short, long, default_value = "default")]
        namespace: String,
        #[command(flatten)]
        common: Common,
    },
    /// Where a claim would fit that does not exist
    Claim {
        /// Its class
        #[arg(long)]
        class: String,
        /// Its size, such as 10Gi
        #[arg(long, value_parser = size)]
        size: String,
        #[command(flatten)]
        common: Common,
    },
    /// Which capacity objects, classes and claims can never help
    Objects {
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    source: Source,
    /// Only that node
    #[arg(long)]
    node: Option<String>,
    /// So many capacity objects for each node and claim
    #[arg(long, default_value_t = Detail::default().objects)]
    objects: usize,
    /// Score nodes, as with the gate StorageCapacityScoring
    #[arg(long)]
    scoring: bool,
    /// Scoring function as UTILIZATION=SCORE points, such as 0=10,100=0
    #[arg(long, value_name = "POINTS", requires = "scoring")]
    shape: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Where the cluster comes from. Without any of these it is the cluster that kubectl would use.
#[derive(Args)]
#[group(multiple = false)]
struct Source {
    /// The cluster of that kubeconfig's current context
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// What `kubectl get nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods -A -o yaml` printed; several files
    /// together are one cluster. Without -A objects of other namespaces are missing
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    file: Vec<PathBuf>,
    /// A case by its id, or a file that holds one: it is run, and its last state is explained
    #[arg(long, value_name = "CASE")]
    scenario: Option<String>,
    /// The folder of a stored run: its last state is explained
    #[arg(long, value_name = "FOLDER")]
    run: Option<PathBuf>,
}

/// Reads the size of a claim that somebody thinks of.
fn size(text: &str) -> Result<String, String> {
    let size = scenario::Size::parse(text)?;
    match (1..=i128::from(i64::MAX)).contains(&size.bytes()) {
        true => Ok(size.text().to_owned()),
        false => Err("a claim has a size from 1 to 2^63-1 bytes; write one such as 10Gi".to_owned()),
    }
}

/// Explains.
pub(crate) fn run_why(args: &WhyArgs) -> Exit {
    let (Subject::Pod { common, .. } | Subject::Claim { common, .. } | Subject::Objects { common }) =
        &args.what;
    let answered = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(BoxError::from)
        .and_then(|runtime| runtime.block_on(common.source.snapshot()))
        .and_then(|snapshot| {
            snapshot.warn();
            answer(&args.what, &snapshot)
        });
    match answered {
        Ok(text) => {
            println!("{}", text.trim_end());
            Exit::Passed
        }
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Usage
        }
    }
}

fn answer(what: &Subject, cluster: &Snapshot) -> Result<String, BoxError> {
    let inventory = &cluster.inventory;
    let snapshot = &inventory.snapshot;
    let (mut explanation, common) = match what {
        Subject::Pod {
            name,
            namespace,
            common,
        } => {
            let Some(pod) = inventory.pods.get(&ObjectKey::namespaced(namespace, name)) else {
                let hint = cluster.hint_at(namespace);
                return Err(no_pod(inventory, namespace, name, &hint).into());
            };
            let told = explain::pod(snapshot, &common.rules()?, pod, &common.detail())?;
            (told, common)
        }
        Subject::Claim { class, size, common } => {
            let told = explain::claim(snapshot, &common.rules()?, class, size, &common.detail())?;
            (told, common)
        }
        Subject::Objects { common } => {
            let mut findings = lint::lint(snapshot);
            doubt(cluster, &mut findings);
            if common.json {
                return Ok(serde_json::to_string_pretty(&findings)?);
            }
            if findings.is_empty() {
                let count = snapshot.capacities.len();
                return Ok(format!("nothing is wrong with the {count} capacity objects"));
            }
            return Ok(findings.iter().map(ToString::to_string).collect());
        }
    };
    doubt(cluster, &mut explanation.findings);
    if common.json {
        return Ok(serde_json::to_string_pretty(&explanation)?);
    }
    Ok(explanation.to_string())
}

/// Where a dump has no capacity objects at all, it is the dump that has to be looked at first, not the driver.
fn doubt(cluster: &Snapshot, findings: &mut [Finding]) {
    if cluster.lacks_capacities() {
        let doubtful = findings
            .iter_mut()
            .filter(|it| it.code == "class-without-objects");
        doubtful.for_each(|it| it.advice = "no CSIStorageCapacity objects: was the dump made with -A?");
    }
}

/// Names the pods that there are, where they are few.
fn no_pod(inventory: &Inventory, namespace: &str, name: &str, hint: &str) -> String {
    const FEW: usize = 8;
    let pods: Vec<String> = inventory.pods.keys().map(ToString::to_string).collect();
    let known = match pods.len() {
        0 => "there are no pods".to_owned(),
        1..=FEW => format!("name one of {}", pods.join(", ")),
        _ => "name one that exists, and its namespace with -n".to_owned(),
    };
    format!("no pod is named {namespace}/{name}; {known}{hint}")
}

impl Common {
    fn rules(&self) -> Result<Rules, BoxError> {
        let options = Options {
            scoring: self.scoring,
            shape: self.shape.as_deref().map(parse_points).transpose()?,
            ..Options::default()
        };
        Ok(options.rules()?)
    }

    fn detail(&self) -> Detail {
        Detail {
            node: self.node.clone(),
            objects: self.objects,
        }
    }
}

impl Source {
    async fn snapshot(&self) -> Result<Snapshot, BoxError> {
        if !self.file.is_empty() {
            return Snapshot::of_files(&self.file);
        }
        let inventory = if let Some(folder) = &self.run {
            let (_, facts) = record::load(folder)?;
            last_state(&facts)?
        } else if let Some(case) = &self.scenario {
            last_state(&run_case(case).await?)?
        } else {
            let client = snapshot::client(self.kubeconfig.as_deref(), None).await?;
            Inventory::list(&client).await?
        };
        Ok(Snapshot {
            inventory,
            ..Snapshot::default()
        })
    }
}

/// Runs a case with the built-in systems.
async fn run_case(case: &str) -> Result<Vec<Fact>, BoxError> {
    let path = PathBuf::from(case);
    let plan = if path.exists() {
        match scenario::load_file(&path)?.as_slice() {
            [only] => resolve(only)?,
            several => {
                let ids: Vec<_> = several.iter().map(|scenario| scenario.id.as_str()).collect();
                return Err(format!(
                    "{case} holds several cases; name one by its id: {}",
                    ids.join(", ")
                )
                .into());
            }
        }
    } else {
        suites::plan(&suites::cases_folder(), case)?
            .ok_or_else(|| format!("no case is named {case}; `cargo xtask list` has them all"))?
    };
    let outcome = run(Arc::new(plan), &built_in(None), RunOptions::default()).await?;
    Ok(outcome.journal.since(0))
}

/// The objects that existed when the last fact was written down.
fn last_state(facts: &[Fact]) -> Result<Inventory, BoxError> {
    let mut objects = std::collections::BTreeMap::new();
    for fact in facts {
        let What::Commit(commit) = &fact.what else {
            continue;
        };
        let key = (
            commit.resource.clone(),
            commit.namespace.clone(),
            commit.name.clone(),
        );
        match commit.change {
            Change::Deleted => drop(objects.remove(&key)),
            Change::Added | Change::Modified => drop(objects.insert(key, commit.object.clone())),
        }
    }
    let mut inventory = Inventory::default();
    for object in objects.into_values() {
        inventory.add((*object).clone())?;
    }
    Ok(inventory)
}
