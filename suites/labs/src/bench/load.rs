//! The load that `bench apiserver` measures: the same requests in the same order for every server.
//!
//! Owns the requests and the time measurement. Prints nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;
use tokio::task::JoinSet;

use super::connection::{ApiRequest, Connection, JSON, MERGE, Target};
use super::objects::{Collection, Definitions, Kind};
use super::stats::RequestStats;
use crate::at_least_one;
use suites::harness::system::BoxError;

/// Size of the load: numbers of connections, objects and requests.
#[derive(Args, Debug, Clone, Copy)]
pub(super) struct Load {
    /// Concurrent connections
    #[arg(long, default_value_t = 16, value_parser = at_least_one::<usize>())]
    clients: usize,
    /// Objects to create, read, change and delete
    #[arg(long, default_value_t = 20_000, value_parser = at_least_one::<usize>())]
    objects: usize,
    /// Objects per list
    #[arg(long, default_value_t = 2_000, value_parser = at_least_one::<usize>())]
    listed: usize,
    /// Lists to read
    #[arg(long, default_value_t = 1_000, value_parser = at_least_one::<usize>())]
    lists: usize,
    /// Watches that receive every change
    #[arg(long, default_value_t = 100, value_parser = at_least_one::<usize>())]
    watchers: usize,
    /// Changes that all watches receive
    #[arg(long, default_value_t = 5_000, value_parser = at_least_one::<usize>())]
    pub(super) changes: usize,
    /// Number of objects in the first measurement of events, for comparison with --held objects
    #[arg(long, default_value_t = 500, value_parser = at_least_one::<usize>())]
    pub(super) few: usize,
    /// Number of objects for measuring memory use
    #[arg(long, default_value_t = 50_000, value_parser = at_least_one::<usize>())]
    pub(super) held: usize,
    /// Number of idle watches for measuring memory use, each on its own connection
    #[arg(long, default_value_t = 2_000, value_parser = at_least_one::<usize>())]
    pub(super) idle_watches: usize,
    /// Number of CRDs; if not 0, the objects are custom resources of the first CRD instead of config maps
    #[arg(long, default_value_t = 0)]
    definitions: usize,
    /// Custom resources per CRD that exist before measuring
    #[arg(long, default_value_t = 0, requires = "definitions")]
    each: usize,
}

/// Measures a server process from the outside, without API requests.
pub(super) trait Meter: Sync {
    /// CPU time that the server has used so far, if known.
    fn cpu_time(&self) -> Option<Duration>;

    /// Whether the server continues to run after the bench.
    fn keeps_running(&self) -> bool;
}

/// Runs a measurement in new namespaces and with new CRDs. On a server that keeps running, deletes namespaces and CRDs afterwards, even
/// after an error.
pub(super) async fn run_in_namespaces<'a, T>(
    target: &Arc<Target>,
    load: Load,
    meter: &'a dyn Meter,
    measure: impl AsyncFnOnce(Bench<'a>) -> Result<T, BoxError>,
) -> Result<T, BoxError> {
    let run = format!("{:08x}", std::process::id() ^ clock());
    let definitions = Definitions::new(format!("bench-{run}.example.com"), load.definitions);
    let namespaces = ["objects", "listed", "each"].map(|purpose| format!("bench-{purpose}-{run}"));
    let kind = definitions.kinds().next().unwrap_or_else(Kind::config_maps);
    let bench = Bench {
        target: target.clone(),
        load,
        meter,
        objects: kind.collection(&namespaces[0]),
        listed: kind.collection(&namespaces[1]),
    };
    let prepared = async {
        let mut connection = Connection::open(target).await?;
        for name in &namespaces {
            connection.call(&create_namespace(name), |_| {}).await?;
        }
        definitions.create(target).await?;
        bench.create_custom_resources(&definitions, &namespaces[2]).await
    };
    let measured = match prepared.await {
        Ok(()) => measure(bench).await,
        Err(error) => Err(error),
    };
    if !meter.keeps_running() {
        return measured;
    }
    let paths = [
        kind.collection(&namespaces[0]).path,
        kind.collection(&namespaces[1]).path,
    ];
    let removed = remove(target, &definitions, &paths, &namespaces).await;
    // If both the measurement and the removal failed, the error of the measurement is returned.
    measured.and_then(|measured| removed.map(|()| measured))
}

fn create_namespace(name: &str) -> ApiRequest {
    ApiRequest {
        method: "POST",
        path: "/api/v1/namespaces".to_owned(),
        media: JSON,
        body: format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#),
    }
}

/// Deletes collections, CRDs and namespaces on a new connection, because the server may have closed idle connections.
async fn remove(
    target: &Arc<Target>,
    definitions: &Definitions,
    collections: &[String],
    namespaces: &[String],
) -> Result<(), BoxError> {
    let mut connection = Connection::open(target).await?;
    for path in collections {
        connection
            .call(&ApiRequest::without_body("DELETE", path), |_| {})
            .await?;
    }
    definitions.delete(target).await?;
    // A new connection, because the existing one may have been idle for long while many custom resources were deleted.
    let mut connection = Connection::open(target).await?;
    for name in namespaces {
        let namespace = format!("/api/v1/namespaces/{name}");
        connection
            .call(&ApiRequest::without_body("DELETE", namespace), |_| {})
            .await?;
    }
    for name in namespaces {
        finalize(&mut connection, name).await?;
    }
    Ok(())
}

/// Maximum time for a namespace controller to start finalizing a deleted namespace.
const CONTROLLER_TIMEOUT: Duration = Duration::from_secs(5);

/// Finalizes an empty deleted namespace if the server has no namespace controller.
async fn finalize(connection: &mut Connection, name: &str) -> Result<(), BoxError> {
    let path = format!("/api/v1/namespaces/{name}");
    let due = Instant::now() + CONTROLLER_TIMEOUT;
    loop {
        let status = connection.send(&ApiRequest::without_body("GET", &path)).await?;
        let mut body = Vec::new();
        while let Some(chunk) = connection.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        let mut namespace: Value = serde_json::from_slice(&body)?;
        // A running namespace controller sets conditions and finalizes the namespace, so the bench must not.
        if status == 404 || !namespace["status"]["conditions"].is_null() {
            return Ok(());
        }
        if Instant::now() >= due {
            namespace["spec"]["finalizers"] = Value::Array(Vec::new());
            let request = ApiRequest {
                method: "PUT",
                path: format!("{path}/finalize"),
                media: JSON,
                body: namespace.to_string(),
            };
            return connection.call(&request, |_| {}).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A number that differs between runs: the nanoseconds of the current second.
fn clock() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.subsec_nanos())
}

/// One API server under load, and the collections of API objects that the load uses.
pub(super) struct Bench<'a> {
    pub(super) meter: &'a dyn Meter,
    pub(super) target: Arc<Target>,
    pub(super) load: Load,
    /// Collection in which the phases create, change and delete API objects.
    pub(super) objects: Collection,
    listed: Collection,
}

pub(super) type NthRequest = Arc<dyn Fn(usize) -> ApiRequest + Send + Sync>;

/// The phases of the load, in order. Each phase requires the objects of the earlier phases.
#[derive(Clone, Copy)]
pub(super) enum Phase {
    Creates,
    Gets,
    Patches,
    Lists,
    Events,
    Deletes,
}

impl Phase {
    pub(super) const ALL: [Self; 6] = [
        Self::Creates,
        Self::Gets,
        Self::Patches,
        Self::Lists,
        Self::Events,
        Self::Deletes,
    ];
}

impl Bench<'_> {
    async fn create_custom_resources(
        &self,
        definitions: &Definitions,
        namespace: &str,
    ) -> Result<(), BoxError> {
        let each = self.load.each;
        let collections: Vec<Collection> = definitions
            .kinds()
            .map(|kind| kind.collection(namespace))
            .collect();
        let count = collections.len() * each;
        let nth: NthRequest = Arc::new(move |n| collections[n / each].create(n % each));
        self.send_requests(String::new(), count, nth).await.map(drop)
    }

    pub(super) async fn phase(&self, phase: Phase) -> Result<RequestStats, BoxError> {
        let Load {
            objects,
            listed,
            lists,
            watchers,
            ..
        } = self.load;
        let path = self.objects.path.clone();
        let at = move |n: usize| format!("{path}/item-{n}");
        match phase {
            Phase::Creates => {
                let nth = create_requests(&self.objects, 0);
                self.send_requests("creates of 1 KB".into(), objects, nth).await
            }
            Phase::Gets => {
                let nth = Arc::new(move |n| ApiRequest::without_body("GET", at(n)));
                self.send_requests("gets".into(), objects, nth).await
            }
            Phase::Patches => {
                let nth = Arc::new(move |n| patch(at(n), "changed", "yes"));
                self.send_requests("merge patches".into(), objects, nth).await
            }
            Phase::Lists => {
                self.send_requests(String::new(), listed, create_requests(&self.listed, 0))
                    .await?;
                let path = self.listed.path.clone();
                let nth = Arc::new(move |_| ApiRequest::without_body("GET", path.clone()));
                self.send_requests(format!("lists of {listed} objects"), lists, nth)
                    .await
            }
            Phase::Events => {
                self.watch(format!("events to {watchers} watches"), watchers, objects)
                    .await
            }
            Phase::Deletes => {
                let nth = Arc::new(move |n| ApiRequest::without_body("DELETE", at(n)));
                self.send_requests("deletes".into(), objects, nth).await
            }
        }
    }

    /// Sends `count` requests over all connections. Each connection sends its next request after the response to the previous one.
    pub(super) async fn send_requests(
        &self,
        name: String,
        count: usize,
        nth: NthRequest,
    ) -> Result<RequestStats, BoxError> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = Vec::new();
        for _ in 0..self.load.clients {
            connections.push(Connection::open(&self.target).await?);
        }
        let (began, busy) = (Instant::now(), self.meter.cpu_time());
        let mut tasks = JoinSet::new();
        for mut connection in connections {
            let (next, nth) = (next.clone(), nth.clone());
            tasks.spawn(async move {
                let mut took = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return Ok::<Vec<Duration>, BoxError>(took);
                    }
                    let request = nth(n);
                    let sent = Instant::now();
                    connection.call(&request, |_| {}).await?;
                    took.push(sent.elapsed());
                }
            });
        }
        let mut took = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            took.extend(ended??);
        }
        let completed = took.len();
        let stats = RequestStats::new(name, completed, began.elapsed(), took);
        Ok(stats.with_cpu_time(busy, self.meter.cpu_time(), completed))
    }
}

/// Returns create requests for API objects with ascending numbers, starting at `from`.
pub(super) fn create_requests(collection: &Collection, from: usize) -> NthRequest {
    let collection = collection.clone();
    Arc::new(move |n| collection.create(from + n))
}

pub(super) fn patch(path: String, field: &str, value: &str) -> ApiRequest {
    ApiRequest {
        method: "PATCH",
        path,
        media: MERGE,
        body: format!(r#"{{"data":{{"{field}":"{value}"}}}}"#),
    }
}
