//! `bench scheduler`: duration of one scheduling attempt by number of nodes and capacity objects, in comparison with a scan of all objects.
//!
//! Runs only the scheduling decision on generated clusters, without server or scheduling loop. Gives no verdict: results depend on the
//! machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use capacity_scheduler::capacity_index::CapacityIndex;
use capacity_scheduler::cycle::{self, Assessment};
use capacity_scheduler::naive;
use capacity_scheduler::objects::{Capacity, Object, Pod};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::shape::Shape;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use capacity_types::Quantity;
use clap::Args;
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::server::resident;
use crate::at_least_one;
use suites::harness::system::BoxError;

const DRIVER: &str = "disk.example.com";
const NODE: &str = "topology.disk.example.com/node";
/// Size of the pod's claim.
const REQUEST: &str = "10Gi";

/// Arguments of `bench scheduler`.
#[derive(Args)]
pub struct SchedulerArgs {
    /// Numbers of nodes, one row each
    #[arg(long, value_delimiter = ',', default_values_t = [100, 500, 1_000, 2_000, 5_000], value_parser = at_least_one::<usize>())]
    nodes: Vec<usize>,
    /// Storage classes; there is one object per class and node
    #[arg(long, default_value_t = 2, value_parser = at_least_one::<usize>())]
    classes: usize,
    /// Attempts per result; the median is shown
    #[arg(long, default_value_t = 21, value_parser = at_least_one::<usize>())]
    attempts: usize,
    /// Number of nodes on which the scan is timed; its time is extrapolated to all nodes
    #[arg(long, default_value_t = 20, value_parser = at_least_one::<usize>())]
    scanned_nodes: usize,
    /// Number of objects for measuring memory use and the cost of a change
    #[arg(long, default_value_t = 50_000, value_parser = at_least_one::<usize>())]
    held: usize,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Measure the current build even if it is a debug build
    #[arg(long)]
    pub(super) as_built: bool,
}

/// Whether a capacity object is large enough for the claim, and for which nodes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Storage {
    /// Every node has an object with enough capacity.
    Here,
    /// Only objects of nodes that do not exist have enough capacity: the worst case of a scan.
    Elsewhere,
    /// No capacity object is large enough.
    Full,
}

/// Durations of scheduling one pod in a cluster with this number of nodes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    nodes: usize,
    objects: usize,
    storage: Storage,
    feasible: usize,
    /// Number of timed attempts.
    attempts: usize,
    /// Time to apply the change of one capacity object, to filter all nodes, and to score the feasible ones.
    attempt_milliseconds: f64,
    /// Time to compute the same result by a scan of all capacity objects for each node.
    scan_milliseconds: f64,
}

/// Memory of an index of capacity objects, and the cost of changing one object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexCost {
    objects: usize,
    /// Resident memory of the index in bytes; `None` if the operating system does not report it.
    bytes: Option<u64>,
    /// Time to apply the change of one capacity object to the index.
    change_microseconds: f64,
}

#[derive(Serialize)]
struct Report {
    rows: Vec<Row>,
    held: Vec<IndexCost>,
}

/// Runs all measurements, and returns the text to print.
pub fn run(args: &SchedulerArgs) -> Result<String, BoxError> {
    let mut rows = Vec::new();
    // The index is measured first: later, it could reuse memory that other measurements freed, and resident memory would grow less.
    let held = [args.held / 10, args.held].map(index_cost);
    for nodes in &args.nodes {
        for storage in [Storage::Here, Storage::Elsewhere, Storage::Full] {
            rows.push(Cluster::new(*nodes, args.classes.max(1), storage)?.measure(args)?);
        }
    }
    let report = Report {
        rows,
        held: held.into_iter().collect::<Result<_, _>>()?,
    };
    if args.json {
        return Ok(serde_json::to_string_pretty(&report)?);
    }
    Ok(table(&report))
}

struct Cluster {
    snapshot: Snapshot,
    objects: Vec<CSIStorageCapacity>,
    pod: Pod,
    storage: Storage,
}

impl Cluster {
    fn new(nodes: usize, classes: usize, storage: Storage) -> Result<Self, BoxError> {
        let mut snapshot = Snapshot::default();
        put(
            &mut snapshot.drivers,
            json!({"metadata": {"name": DRIVER}, "spec": {"storageCapacity": true}}),
        )?;
        let mut objects = Vec::new();
        for class in 0..classes {
            let name = class_name(class);
            put(
                &mut snapshot.classes,
                json!({"metadata": {"name": name}, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}),
            )?;
            objects.extend((0..nodes).map(|node| object(class, node, storage)));
        }
        for object in &objects {
            snapshot.capacities.put(Arc::new(Capacity::read(object)?));
        }
        for node in 0..nodes {
            let name = node_name(node);
            let zone = format!("zone-{}", node % 3);
            let labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": zone, NODE: name});
            put(
                &mut snapshot.nodes,
                json!({"metadata": {"name": name, "labels": labels}}),
            )?;
        }
        let claim = json!({
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {"storageClassName": class_name(0), "resources": {"requests": {"storage": REQUEST}}},
        });
        put(&mut snapshot.claims, claim)?;
        let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}});
        let pod = json!({"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [], "volumes": [volume]}});
        Ok(Self {
            snapshot,
            objects,
            pod: Pod::read(&serde_json::from_value(pod)?)?,
            storage,
        })
    }

    fn measure(mut self, args: &SchedulerArgs) -> Result<Row, BoxError> {
        let rules = Rules {
            shape: Some(Shape::most_free()),
            ..Rules::default()
        };
        let mut took = Vec::new();
        let mut feasible = 0;
        for attempt in 0..args.attempts.max(1) {
            let changed = &self.objects[attempt * 7919 % self.objects.len()];
            let started = Instant::now();
            self.snapshot.capacities.put(Arc::new(Capacity::read(changed)?));
            let Assessment { feasible: found, .. } = cycle::assess(&self.snapshot, &rules, &self.pod)?;
            took.push(started.elapsed());
            feasible = found.len();
        }
        let nodes = self.snapshot.nodes.len();
        Ok(Row {
            nodes,
            objects: self.objects.len(),
            storage: self.storage,
            feasible,
            attempts: took.len(),
            attempt_milliseconds: milliseconds(median(took)),
            scan_milliseconds: self.scan(args.scanned_nodes, feasible)?,
        })
    }

    /// Time to scan all capacity objects for each node, measured with `some` nodes and extrapolated to all.
    fn scan(&self, some: usize, feasible: usize) -> Result<f64, BoxError> {
        let request: Quantity = REQUEST.parse()?;
        let nodes = self.snapshot.nodes.len();
        let step = nodes.div_ceil(some.max(1)).max(1);
        let sample: Vec<_> = self.snapshot.nodes.iter().step_by(step).collect();
        let class = class_name(0);
        let started = Instant::now();
        let found = sample
            .iter()
            .filter(|node| naive::first_sufficient(&self.objects, &class, request, &node.labels).is_some());
        let found = found.count();
        let took = started.elapsed();
        if (found == sample.len()) != (feasible == nodes) {
            return Err("the scan and the index differ; please report this".into());
        }
        Ok(milliseconds(took) * nodes as f64 / sample.len().max(1) as f64)
    }
}

/// Measures an index of capacity objects: adds `count` objects, then applies a hundred changes.
fn index_cost(count: usize) -> Result<IndexCost, BoxError> {
    const CHANGES: usize = 100;
    let before = resident(std::process::id());
    let mut index = CapacityIndex::default();
    for number in 0..count {
        index.put(Arc::new(Capacity::read(&object(
            number % 10,
            number,
            Storage::Here,
        ))?));
    }
    let after = resident(std::process::id());
    let changed: Vec<_> = (0..CHANGES)
        .map(|change| {
            let number = change * 7919 % count.max(1);
            object(number % 10, number, Storage::Full)
        })
        .collect();
    let started = Instant::now();
    for object in &changed {
        index.put(Arc::new(Capacity::read(object)?));
    }
    let took = started.elapsed();
    Ok(IndexCost {
        objects: index.len(),
        bytes: before
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before)),
        change_microseconds: took.as_secs_f64() * 1e6 / CHANGES as f64,
    })
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{:>7}{:>9}  {:<10}{:>9}{:>13}{:>15}{:>10}\n",
        "nodes", "objects", "storage", "feasible", "attempt", "naive scan", "faster"
    );
    for row in &report.rows {
        text.push_str(&format!(
            "{:>7}{:>9}  {:<10}{:>9}{:>10.2} ms{:>12.1} ms{:>9.0}×\n",
            row.nodes,
            row.objects,
            format!("{:?}", row.storage).to_lowercase(),
            row.feasible,
            row.attempt_milliseconds,
            row.scan_milliseconds,
            row.scan_milliseconds / row.attempt_milliseconds,
        ));
    }
    for held in &report.held {
        let memory = held.bytes.map_or_else(
            || "unknown".to_owned(),
            |bytes| format!("{:.1} MB", bytes as f64 / 1e6),
        );
        text.push_str(&format!(
            "\n{} objects held: {memory}, {:.1} µs for a change",
            held.objects, held.change_microseconds
        ));
    }
    text
}

fn object(class: usize, node: usize, storage: Storage) -> CSIStorageCapacity {
    let (node, capacity) = match storage {
        Storage::Here => (node_name(node), "100Gi"),
        Storage::Elsewhere => (format!("gone-{node}"), "100Gi"),
        Storage::Full => (node_name(node), "1Gi"),
    };
    let source = json!({
        "metadata": {
            "name": format!("csisc-{class}-{node}"), "namespace": "disk-driver", "resourceVersion": "123456",
            "labels": {"csi.storage.k8s.io/drivername": DRIVER, "csi.storage.k8s.io/managed-by": "external-provisioner"},
        },
        "storageClassName": class_name(class), "nodeTopology": {"matchLabels": {NODE: node}}, "capacity": capacity,
    });
    serde_json::from_value(source).unwrap_or_default()
}

fn node_name(node: usize) -> String {
    format!("worker-{node:05}.example.com")
}

fn class_name(class: usize) -> String {
    format!("disk-{class}")
}

fn put<T>(collection: &mut impl Collection<T>, source: Value) -> Result<(), BoxError>
where
    T: Object,
    T::Api: DeserializeOwned,
{
    collection.put(Arc::new(T::read(&serde_json::from_value(source)?)?));
    Ok(())
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took.get(took.len() / 2).copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
