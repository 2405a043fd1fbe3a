//! `bench publisher`: CPU time of the publisher, by number of capacity objects.
//!
//! API server, driver and publisher run in this process on separate threads; the CPU time of the publisher's threads is measured. Gives no
//! verdict.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use capacity_publisher::Options;
use capacity_types::capacity_api::RESOURCE;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use suites::harness::standalone::{
    ApiEvent, ApiObserver, ApiServer, CsiEffect, CsiEvent, CsiMethod, CsiObserver, CsiRule, DriverSpec,
    FakeDriver, LocalClient, ResourceRef, ServerOptions,
};
use suites::harness::system::BoxError;
use suites::harness::temporary::{OF_CASE, Temporary};
use tokio::runtime::Builder;
use tokio::sync::{Notify, oneshot};

use crate::at_least_one;

const DRIVER: &str = "disk.example.com";
const KEY: &str = "disk.example.com/node";
const NAMESPACE: &str = "default";
/// Prefix of the names of the publisher's threads.
const THREADS: &str = "publisher";

/// Arguments of `bench publisher`.
#[derive(Args)]
pub struct PublisherArgs {
    /// Numbers of objects to publish, with half as many nodes each
    #[arg(long, value_delimiter = ',', value_name = "COUNT,…", default_values_t = [500, 2_000, 10_000, 50_000], value_parser = at_least_one::<u64>())]
    objects: Vec<u64>,
    /// Nodes to change, one after the other
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = at_least_one::<u64>())]
    changes: u64,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Measure the current build even if it is a debug build
    #[arg(long)]
    pub(super) as_built: bool,
}

/// Cost of publishing a number of capacity objects. Times are CPU times of the publisher unless stated otherwise.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    objects: u64,
    /// Writes until all capacity objects are published.
    published_writes: u64,
    /// Size of the largest capacity object, in bytes of JSON: does not grow with the number of objects (KEP-1472, "CSIStorageCapacity").
    object_bytes: usize,
    /// Total size of all capacity objects, in bytes of JSON. A client that needs one object has to list all of them.
    list_bytes: usize,
    /// CPU time until all capacity objects are published.
    published_seconds: f64,
    /// Elapsed time until all capacity objects are published.
    elapsed_seconds: f64,
    /// CPU time per node that moves to a new segment: two capacity objects are created and two deleted.
    change_microseconds: f64,
    change_writes: u64,
    /// CPU time of a poll that calls GetCapacity for all capacity objects and finds no change.
    poll_seconds: f64,
    /// Writes of a poll that finds no change; should be 0.
    poll_writes: u64,
}

/// Counts the publisher's API requests and CSI calls.
#[derive(Default)]
struct Counts {
    creates: AtomicU64,
    writes: AtomicU64,
    get_capacity_calls: AtomicU64,
    changed: Notify,
}

struct CountingObserver(Arc<Counts>);

impl ApiObserver for CountingObserver {
    fn observe(&self, event: ApiEvent) {
        if let ApiEvent::Commit {
            resource: RESOURCE,
            change,
            ..
        } = event
        {
            self.0.writes.fetch_add(1, Ordering::Relaxed);
            if change.as_str() == "ADDED" {
                self.0.creates.fetch_add(1, Ordering::Relaxed);
            }
            self.0.changed.notify_waiters();
        }
    }
}

impl CsiObserver for CountingObserver {
    fn observe(&self, event: CsiEvent) {
        if event.method == CsiMethod::GetCapacity {
            self.0.get_capacity_calls.fetch_add(1, Ordering::Relaxed);
            self.0.changed.notify_waiters();
        }
    }
}

/// Measures each number of capacity objects, and returns the text to print.
pub async fn measure(args: &PublisherArgs) -> Result<String, BoxError> {
    let mut costs = Vec::new();
    for objects in &args.objects {
        costs.push(measure_one(*objects, args.changes).await?);
    }
    match args.json {
        true => Ok(serde_json::to_string_pretty(&costs)?),
        false => Ok(table(&costs).trim_end().to_owned()),
    }
}

/// A text table with one line per number of capacity objects.
fn table(costs: &[Cost]) -> String {
    let mut text = format!(
        "{:>10}{:>12}{:>12}{:>16}{:>14}{:>16}{:>14}{:>14}\n",
        "objects", "bytes each", "total", "initial", "elapsed", "per change", "poll", "poll writes"
    );
    for cost in costs {
        text.push_str(&format!(
            "{:>10}{:>12}{:>9.1} MB{:>14.2} s{:>12.2} s{:>13.0} µs{:>12.2} s{:>14}\n",
            cost.objects,
            cost.object_bytes,
            cost.list_bytes as f64 / 1e6,
            cost.published_seconds,
            cost.elapsed_seconds,
            cost.change_microseconds,
            cost.poll_seconds,
            cost.poll_writes
        ));
    }
    text
}

async fn measure_one(objects: u64, changes: u64) -> Result<Cost, BoxError> {
    let counts = Arc::new(Counts::default());
    let nodes = objects.div_ceil(2);
    let api = ApiServer::new(
        ServerOptions::default(),
        Some(Arc::new(CountingObserver(counts.clone()))),
    );
    let admin = api.client("administrator");
    create_nodes_and_classes(&admin, nodes)?;
    let driver = driver(&counts)?;
    let folder = Temporary::new(OF_CASE)?;
    let socket = folder.path().join("csi.sock");
    let _driver = driver.listen(&socket, None).await?;
    let server = api.start().await?;
    let token = api.add_client("publisher");
    let hour = Duration::from_secs(3600);
    let (before, began) = (cpu_time()?, Instant::now());
    let publisher = Publisher::start(&server.url(), &token, &socket, hour)?;
    counts
        .wait_until(|counts| counts.creates.load(Ordering::Relaxed) >= nodes * 2)
        .await;
    let elapsed = began.elapsed();
    let published = cpu_time()?.saturating_sub(before);
    let published_writes = counts.writes.load(Ordering::Relaxed);
    let (object_bytes, list_bytes) = sizes(&admin)?;
    let before = cpu_time()?;
    for node in 0..changes {
        relabel_node(&admin, &counts, node % nodes).await?;
    }
    let change = cpu_time()?.saturating_sub(before);
    let change_writes = counts.writes.load(Ordering::Relaxed) - published_writes;
    drop(publisher);
    let (poll, poll_writes) = poll(&counts, nodes * 2, &server.url(), &token, &socket).await?;
    server.stop().await;
    Ok(Cost {
        objects: nodes * 2,
        published_writes,
        object_bytes,
        list_bytes,
        published_seconds: published.as_secs_f64(),
        elapsed_seconds: elapsed.as_secs_f64(),
        change_microseconds: change.as_secs_f64() * 1e6 / changes.max(1) as f64,
        change_writes,
        poll_seconds: poll.as_secs_f64(),
        poll_writes,
    })
}

/// Size of the largest capacity object, and total size of all capacity objects, in bytes of JSON.
fn sizes(admin: &LocalClient) -> Result<(usize, usize), BoxError> {
    let all = ResourceRef::new("storage.k8s.io", RESOURCE).namespace(NAMESPACE);
    let listed = admin.list(&all)?.items;
    let sizes = || listed.iter().map(|object| object.to_string().len());
    Ok((sizes().max().unwrap_or_default(), sizes().sum()))
}

/// Creates two StorageClasses, and nodes that each form a topology segment.
fn create_nodes_and_classes(admin: &LocalClient, nodes: u64) -> Result<(), BoxError> {
    for class in ["fast", "slow"] {
        admin.create(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class},
            "provisioner": DRIVER, "parameters": {"kind": class}, "volumeBindingMode": "WaitForFirstConsumer",
        }))?;
    }
    for number in 0..nodes {
        let name = format!("node-{number}");
        let driver = json!({"name": DRIVER, "nodeID": name, "topologyKeys": [KEY]});
        admin.create(
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {KEY: name}}}),
        )?;
        admin.create(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [driver]},
        }))?;
    }
    Ok(())
}

/// A driver that responds immediately to every call.
fn driver(counts: &Arc<Counts>) -> Result<FakeDriver, BoxError> {
    let spec = DriverSpec {
        topology_keys: vec![KEY.to_owned()],
        ..DriverSpec::new(DRIVER)
    };
    let driver = FakeDriver::new(spec, Some(Arc::new(CountingObserver(counts.clone()))));
    driver.add_rule(CsiRule {
        method: CsiMethod::GetCapacity,
        segment: None,
        parameters: Default::default(),
        skip: 0,
        times: None,
        effect: CsiEffect::Capacity {
            available: 1 << 40,
            maximum: None,
            minimum: None,
        },
    })?;
    Ok(driver)
}

/// Moves a node to a new segment, and waits until the capacity objects of that segment exist.
async fn relabel_node(admin: &LocalClient, counts: &Counts, node: u64) -> Result<(), BoxError> {
    let writes = counts.writes.load(Ordering::Relaxed);
    let labels: Value = json!({KEY: format!("changed-{node}-{writes}")});
    let node_ref = ResourceRef::core("nodes").name(&format!("node-{node}"));
    admin.patch_merge(&node_ref, json!({"metadata": {"labels": labels}}))?;
    counts
        .wait_until(|counts| counts.writes.load(Ordering::Relaxed) >= writes + 4)
        .await;
    Ok(())
}

/// Starts the publisher a second time, when all capacity objects exist. Returns the CPU time and the number of writes of its first poll.
async fn poll(
    counts: &Counts,
    objects: u64,
    url: &str,
    token: &str,
    socket: &Path,
) -> Result<(Duration, u64), BoxError> {
    let get_capacity_calls = counts.get_capacity_calls.load(Ordering::Relaxed);
    // The poll interval is long enough for the publisher to complete its initial lists before the first poll.
    let interval = Duration::from_millis(2000 + objects / 2);
    let _publisher = Publisher::start(url, token, socket, interval)?;
    counts
        .wait_until(|counts| {
            counts.get_capacity_calls.load(Ordering::Relaxed) >= get_capacity_calls + objects
        })
        .await;
    let (before, writes) = (cpu_time()?, counts.writes.load(Ordering::Relaxed));
    counts
        .wait_until(|counts| {
            counts.get_capacity_calls.load(Ordering::Relaxed) >= get_capacity_calls + 2 * objects
        })
        .await;
    let poll = cpu_time()?.saturating_sub(before);
    Ok((poll, counts.writes.load(Ordering::Relaxed) - writes))
}

impl Counts {
    async fn wait_until(&self, done: impl Fn(&Counts) -> bool) {
        loop {
            let changed = self.changed.notified();
            if done(self) {
                return;
            }
            changed.await;
        }
    }
}

/// A publisher on its own thread; dropping the value stops the publisher.
struct Publisher {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    fn start(url: &str, token: &str, socket: &Path, interval: Duration) -> Result<Self, BoxError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut config = kube::Config::new(url.parse()?);
        config.auth_info.token = Some(token.to_owned().into());
        config.default_retry = false;
        // The URL is plain HTTP. Without an empty list, the client would load the system's CA certificates.
        config.root_cert = Some(Vec::new());
        let options = Options {
            csi_address: PathBuf::from(socket),
            enable_capacity: true,
            capacity_poll_interval: interval,
            capacity_poll_jitter: 0.0,
            capacity_threads: 8,
            kube_api_capacity_qps: 0.0,
            get_capacity_qps: Some(0.0),
            namespace: Some(NAMESPACE.to_owned()),
            ..Options::default()
        };
        let (stop, stopped) = oneshot::channel();
        let publish = async move {
            let client = kube::Client::try_from(config)?;
            let shutdown = async {
                // The publisher stops when the sender is dropped: `stopped.await` then returns an error.
                let _ = stopped.await;
            };
            capacity_publisher::run(options, client, shutdown).await?;
            Ok::<(), BoxError>(())
        };
        let thread = std::thread::Builder::new()
            .name(THREADS.to_owned())
            .spawn(move || {
                if let Err(error) = runtime.block_on(publish) {
                    anstream::eprintln!("error: the publisher ended: {error}");
                }
            })?;
        Ok(Publisher {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The panic hook has already printed the message.
            let _ = thread.join();
        }
    }
}

/// CPU time of all running threads with the publisher's name prefix; available on Linux only.
fn cpu_time() -> Result<Duration, BoxError> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let folder = task?.path();
        // The thread may have ended since `/proc/self/task` was listed.
        let Ok(name) = std::fs::read_to_string(folder.join("comm")) else {
            continue;
        };
        if name.starts_with(THREADS) {
            let text = std::fs::read_to_string(folder.join("schedstat"))?;
            nanoseconds += text
                .split(' ')
                .next()
                .ok_or("schedstat is empty")?
                .parse::<u64>()?;
        }
    }
    Ok(Duration::from_nanos(nanoseconds))
}
