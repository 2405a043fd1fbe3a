//! `why`: explains which nodes a pod or a hypothetical claim fits, and lists objects that can never match.
//!
//! Only reads the cluster and prints the result. The crate `diagnose` does the analysis.

use std::path::PathBuf;
use std::sync::Arc;

use capacity_diagnose::explain::{self, ExplainOptions, Explanation};
use capacity_diagnose::inventory::Inventory;
use capacity_diagnose::lint::{self, Finding};
use capacity_diagnose::snapshot::{DUMP_COMMAND, Snapshot};
use capacity_scheduler::Options;
use capacity_scheduler::objects::ObjectKey;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::shape::parse_points;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use suites::harness::invocation::program;
use suites::harness::journal::Fact;
use suites::harness::plan::Plan;
use suites::harness::renamed::current_case_id;
use suites::harness::{RunOptions, record, run, scenario};

use crate::Exit;
use crate::config_flags::{self, BoxError, ConfigFlags};
use crate::health::{self, ClusterHealth, last_objects};
use crate::out::{eprintln, println};
use crate::repro;
use crate::runtime::runtime;
use references::built_in;

/// Arguments of `why`.
#[derive(Args)]
pub(crate) struct WhyArgs {
    #[command(subcommand)]
    pub(crate) what: Subject,
}

/// Subcommands of `why`.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// Explain which nodes a pod fits
    #[command(aliases = ["pods", "po"])]
    Pod {
        /// Name of the pod
        name: String,
        /// Namespace of the pod [default: the namespace of the context, or `default`]
        #[arg(short, long)]
        namespace: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Explain which nodes a hypothetical claim would fit
    #[command(alias = "pvc")]
    Claim {
        /// Storage class of the claim
        #[arg(long)]
        class: String,
        /// Size of the claim, such as 10Gi
        #[arg(long, value_parser = size)]
        size: String,
        #[command(flatten)]
        common: Common,
    },
    /// List capacity objects, classes and claims that can never match
    Objects {
        #[command(flatten)]
        common: Common,
    },
    /// Check whether storage capacity tracking is in use and works, whether pods are rejected although storage is free, and whether the API
    /// server is overloaded; exit code 1 if an indicator is bad
    Health {
        #[command(flatten)]
        source: Source,
        /// Files with metrics of publishers and of the API server; with a kubeconfig, the metrics of the API server are read from there
        #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["scenario", "run"])]
        metrics: Vec<PathBuf>,
        /// Print the indicators as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Options common to all subcommands.
#[derive(Args)]
pub(crate) struct Common {
    #[command(flatten)]
    source: Source,
    /// Explain only this node
    #[arg(long)]
    node: Option<String>,
    /// Maximum number of capacity objects shown per node and claim
    #[arg(long, default_value_t = ExplainOptions::default().objects)]
    objects: usize,
    /// Score nodes, as with the feature gate StorageCapacityScoring
    #[arg(long)]
    scoring: bool,
    /// Scoring function as UTILIZATION=SCORE points, such as 0=10,100=0
    #[arg(long, value_name = "POINTS", requires = "scoring")]
    shape: Option<String>,
    /// Output format: JSON or YAML, or text with each node and all capacity objects of each claim
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
    Yaml,
    Wide,
}

/// Source of the cluster's objects.
#[derive(Args)]
pub(crate) struct Source {
    #[command(flatten)]
    config_flags: ConfigFlags,
    /// Output of `kubectl get
    /// nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods,volumeattachments,namespaces,pdb,leases -A -o yaml` (or
    /// `-o json`); `-` is standard input. Several files form one cluster. Without -A objects of other namespaces are missing
    #[arg(short, long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["config_flags", "scenario", "run"])]
    file: Vec<PathBuf>,
    /// A case id or case file: runs the case and uses its final state
    #[arg(long, value_name = "CASE", conflicts_with_all = ["config_flags", "run"])]
    scenario: Option<String>,
    /// Row of the case file's table
    #[arg(long, requires = "scenario")]
    row: Option<String>,
    /// Folder of a stored run: uses its final state
    #[arg(long, value_name = "FOLDER", conflicts_with = "config_flags")]
    run: Option<PathBuf>,
}

/// Parses the size of a hypothetical claim.
fn size(text: &str) -> Result<String, String> {
    let size = scenario::Size::parse(text)?;
    match (1..=i128::from(i64::MAX)).contains(&size.bytes()) {
        true => Ok(size.text().to_owned()),
        false => Err("a claim has a size from 1 to 2^63-1 bytes; write a size such as 10Gi".to_owned()),
    }
}

pub(crate) fn run_why(what: &Subject) -> Result<Exit, Exit> {
    let explained = runtime()?.block_on(explain(what));
    explained.map_err(|error| config_flags::exit_of(&error).with_error(error))
}

async fn explain(what: &Subject) -> Result<Exit, BoxError> {
    let text = match what {
        Subject::Health {
            source,
            metrics,
            json,
        } => return source.health(metrics).await?.report(*json),
        Subject::Pod {
            name,
            namespace,
            common,
        } => {
            let cluster = common.source.snapshot().await?;
            // The name may be written as pod/NAME, which kubectl accepts too.
            let name = name.rsplit_once('/').map_or(name.as_str(), |(_, name)| name);
            let key = ObjectKey::namespaced(cluster.namespace(namespace.as_deref()), name);
            let explanation = of_pod(&cluster, common, &key)?;
            common.text(explanation, &cluster)?
        }
        Subject::Claim { class, size, common } => {
            let cluster = common.source.snapshot().await?;
            let snapshot = &cluster.inventory.snapshot;
            let explanation = explain::claim(snapshot, &common.rules()?, class, size, &common.detail())?;
            common.text(explanation, &cluster)?
        }
        Subject::Objects { common } => format_findings(&common.source.snapshot().await?, common)?,
    };
    println!("{}", text.trim_end());
    Ok(Exit::Passed)
}

fn of_pod(cluster: &Snapshot, common: &Common, key: &ObjectKey) -> Result<Explanation, BoxError> {
    let inventory = &cluster.inventory;
    let Some(pod) = inventory.pods.get(key) else {
        let hint = cluster.missing_pod_hint(&key.namespace);
        return Err(missing_pod_error(inventory, key, &hint).into());
    };
    Ok(explain::pod(
        &inventory.snapshot,
        &common.rules()?,
        pod,
        &common.detail(),
    )?)
}

/// What is wrong with capacity objects, classes and claims, as text.
fn format_findings(cluster: &Snapshot, common: &Common) -> Result<String, BoxError> {
    let mut findings = lint::lint(&cluster.inventory.snapshot);
    hint_at_incomplete_dump(cluster, &mut findings);
    if let Some(text) = common.encoded(&findings)? {
        return Ok(text);
    }
    let count = cluster.inventory.snapshot.capacities.len();
    Ok(match findings.is_empty() {
        true => format!("nothing is wrong with the {count} capacity objects"),
        false => findings.iter().map(ToString::to_string).collect(),
    })
}

/// If a dump contains no capacity object at all, replaces the advice by the suspicion that the dump is incomplete.
fn hint_at_incomplete_dump(cluster: &Snapshot, findings: &mut [Finding]) {
    if cluster.lacks_capacities() {
        let doubtful = findings
            .iter_mut()
            .filter(|it| it.code == "class-without-objects");
        doubtful.for_each(|it| it.advice = "no CSIStorageCapacity objects: was the dump made with -A?");
    }
}

/// The error for an unknown pod, with the names of existing pods if there are few.
fn missing_pod_error(inventory: &Inventory, key: &ObjectKey, hint: &str) -> String {
    const FEW: usize = 8;
    let pods: Vec<String> = inventory.pods.keys().map(ToString::to_string).collect();
    let known = match pods.len() {
        0 => "there are no pods".to_owned(),
        1..=FEW => format!("name one of {}", pods.join(", ")),
        _ => "name a pod that exists, and its namespace with -n".to_owned(),
    };
    format!("no pod is named {key}; {known}{hint}")
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

    /// An explanation in the selected output format.
    fn text(&self, mut explanation: Explanation, cluster: &Snapshot) -> Result<String, BoxError> {
        hint_at_incomplete_dump(cluster, &mut explanation.findings);
        let text = self.encoded(&explanation)?;
        Ok(text.unwrap_or_else(|| match self.output {
            Some(Format::Wide) => format!("{explanation:#}"),
            _ => explanation.to_string(),
        }))
    }

    /// The result as JSON or YAML; `None` if the output is text.
    fn encoded(&self, answer: &impl Serialize) -> Result<Option<String>, BoxError> {
        Ok(match self.output {
            Some(Format::Json) => Some(serde_json::to_string_pretty(answer)?),
            Some(Format::Yaml) => Some(serde_saphyr::to_string(answer)?),
            Some(Format::Wide) => None,
            None => self
                .json
                .then(|| serde_json::to_string_pretty(answer))
                .transpose()?,
        })
    }

    fn detail(&self) -> ExplainOptions {
        let objects = match self.output {
            Some(Format::Wide) => usize::MAX,
            _ => self.objects,
        };
        ExplainOptions {
            node: self.node.clone(),
            objects,
        }
    }
}

impl Source {
    /// The state of the cluster. Prints warnings for object types that seem to be missing.
    async fn snapshot(&self) -> Result<Snapshot, BoxError> {
        let snapshot = self.read().await?;
        warn(&snapshot);
        Ok(snapshot)
    }

    async fn read(&self) -> Result<Snapshot, BoxError> {
        if !self.file.is_empty() {
            return Snapshot::of_files(&self.file);
        }
        match self.facts().await? {
            Some((_, facts)) => Snapshot::of_objects(last_objects(&facts)),
            None => Snapshot::of_cluster(&self.config_flags.client().await?).await,
        }
    }

    /// The cluster and the metrics of its programs.
    async fn health(&self, metrics: &[PathBuf]) -> Result<ClusterHealth, BoxError> {
        if let Some((plan, facts)) = self.facts().await? {
            return ClusterHealth::of_run(&plan, &facts);
        }
        let mut texts = health::read_metrics_files(metrics)?;
        let snapshot = match self.file.is_empty() {
            false => self.snapshot().await?,
            true => {
                let client = self.config_flags.client().await?;
                let snapshot = Snapshot::of_cluster(&client).await?;
                texts.extend(health::read_api_server_metrics(&client).await);
                snapshot
            }
        };
        Ok(ClusterHealth::of_cluster(snapshot, &texts, health::unix_time()?))
    }

    /// The journal of the selected run or case; `None` if the objects have another source.
    async fn facts(&self) -> Result<Option<(Plan, Vec<Fact>)>, BoxError> {
        match (&self.run, &self.scenario) {
            (Some(folder), _) => Ok(Some(record::load(folder)?)),
            (None, Some(case)) => run_case(case, self.row.as_slice()).await.map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Warns of object types that a dump seems to lack, and prints how to make a complete dump.
pub(crate) fn warn(snapshot: &Snapshot) {
    let gaps = snapshot.missing_objects();
    for gap in &gaps {
        eprintln!("warning: {gap}");
    }
    if !gaps.is_empty() {
        eprintln!("  to make a complete dump: {DUMP_COMMAND}");
    }
}

/// Runs a case with the built-in systems. `row`: the row of a case file with several cases.
async fn run_case(case: &str, row: &[String]) -> Result<(Plan, Vec<Fact>), BoxError> {
    let path = PathBuf::from(case);
    let plan = if path.exists() {
        let mut plans = repro::plans(&path, row)?;
        if plans.len() > 1 {
            let ids: Vec<_> = plans.iter().map(|plan| plan.id()).collect();
            return Err(format!(
                "{case} contains several cases; choose one with --row: {}",
                ids.join(", ")
            )
            .into());
        }
        plans.remove(0)
    } else {
        suites::plan(&suites::case_files(), &current_case_id(case))?.ok_or_else(|| {
            format!(
                "no case is named {case}; `{program} list` lists all cases",
                program = program()
            )
        })?
    };
    let outcome = run(Arc::new(plan.clone()), &built_in(None), RunOptions::default()).await?;
    Ok((plan, outcome.journal.since(0)))
}
