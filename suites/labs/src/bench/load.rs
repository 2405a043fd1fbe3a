//! The load: the same requests, in the same order, whatever the server.
//!
//! Owns what is sent and what is timed. Prints nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;
use tokio::task::JoinSet;

use super::connection::{Ask, Connection, JSON, MERGE, Target};
use super::figure::Figure;
use super::objects::{Collection, Definitions, Kind};
use crate::counted;
use suites::harness::system::BoxError;

/// How much load.
#[derive(Args, Debug, Clone, Copy)]
pub(super) struct Load {
    /// Connections that send at the same time
    #[arg(long, default_value_t = 16, value_parser = counted::<usize>())]
    clients: usize,
    /// Objects created, read, changed and deleted
    #[arg(long, default_value_t = 20_000, value_parser = counted::<usize>())]
    objects: usize,
    /// Objects in each list
    #[arg(long, default_value_t = 2_000, value_parser = counted::<usize>())]
    listed: usize,
    /// Lists read
    #[arg(long, default_value_t = 1_000, value_parser = counted::<usize>())]
    lists: usize,
    /// Watches that every change is sent to
    #[arg(long, default_value_t = 100, value_parser = counted::<usize>())]
    watchers: usize,
    /// Changes that all watches report
    #[arg(long, default_value_t = 5_000, value_parser = counted::<usize>())]
    pub(super) changes: usize,
    /// Objects to begin with, before many are held
    #[arg(long, default_value_t = 500, value_parser = counted::<usize>())]
    pub(super) few: usize,
    /// Objects held at once
    #[arg(long, default_value_t = 50_000, value_parser = counted::<usize>())]
    pub(super) held: usize,
    /// Watches held at once, each with a connection of its own
    #[arg(long, default_value_t = 2_000, value_parser = counted::<usize>())]
    pub(super) idle_watches: usize,
    /// Definitions of custom resources; the objects are then custom resources of the first, and config maps otherwise
    #[arg(long, default_value_t = 0)]
    definitions: usize,
    /// Custom resources that each definition has before anything is measured
    #[arg(long, default_value_t = 0, requires = "definitions")]
    each: usize,
}

/// What is known of a server besides its answers.
pub(super) trait Meter: Sync {
    /// Processor time of the server so far, if it is known.
    fn processor(&self) -> Option<Duration>;

    /// Whether it goes on when the bench ends.
    fn goes_on(&self) -> bool;
}

/// Measures a server in namespaces and with definitions made for that. They are removed again where the server goes on, even if measuring
/// fails half way.
pub(super) async fn within<'a, T>(
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
        bench.fill(&definitions, &namespaces[2]).await
    };
    let measured = match prepared.await {
        Ok(()) => measure(bench).await,
        Err(error) => Err(error),
    };
    if !meter.goes_on() {
        return measured;
    }
    let paths = [
        kind.collection(&namespaces[0]).path,
        kind.collection(&namespaces[1]).path,
    ];
    let removed = remove(target, &definitions, &paths, &namespaces).await;
    // What went wrong first is what matters.
    measured.and_then(|measured| removed.map(|()| measured))
}

fn create_namespace(name: &str) -> Ask {
    Ask {
        method: "POST",
        path: "/api/v1/namespaces".to_owned(),
        media: JSON,
        body: format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#),
    }
}

/// Removes collections, definitions and namespaces, over a connection of its own: a server may have closed what was idle so long.
async fn remove(
    target: &Arc<Target>,
    definitions: &Definitions,
    collections: &[String],
    namespaces: &[String],
) -> Result<(), BoxError> {
    let mut connection = Connection::open(target).await?;
    for path in collections {
        connection.call(&Ask::bare("DELETE", path), |_| {}).await?;
    }
    definitions.delete(target).await?;
    // With many objects that takes long.
    let mut connection = Connection::open(target).await?;
    for name in namespaces {
        let namespace = format!("/api/v1/namespaces/{name}");
        connection.call(&Ask::bare("DELETE", namespace), |_| {}).await?;
    }
    for name in namespaces {
        finalize(&mut connection, name).await?;
    }
    Ok(())
}

/// How long a namespace controller may take to begin with a deleted namespace.
const CONTROLLER: Duration = Duration::from_secs(5);

/// Ends a deleted namespace that holds nothing, where the server has no namespace controller that does so.
async fn finalize(connection: &mut Connection, name: &str) -> Result<(), BoxError> {
    let path = format!("/api/v1/namespaces/{name}");
    let due = Instant::now() + CONTROLLER;
    loop {
        let status = connection.send(&Ask::bare("GET", &path)).await?;
        let mut body = Vec::new();
        while let Some(piece) = connection.piece().await? {
            body.extend_from_slice(&piece);
        }
        let mut namespace: Value = serde_json::from_slice(&body)?;
        // A controller reports in conditions how far it has come, and ends the namespace by itself.
        if status == 404 || !namespace["status"]["conditions"].is_null() {
            return Ok(());
        }
        if Instant::now() >= due {
            namespace["spec"]["finalizers"] = Value::Array(Vec::new());
            let ask = Ask {
                method: "PUT",
                path: format!("{path}/finalize"),
                media: JSON,
                body: namespace.to_string(),
            };
            return connection.call(&ask, |_| {}).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A number that differs from run to run.
fn clock() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.subsec_nanos())
}

/// The load of one server.
pub(super) struct Bench<'a> {
    pub(super) meter: &'a dyn Meter,
    pub(super) target: Arc<Target>,
    pub(super) load: Load,
    /// Where objects are created, and where those are that are listed.
    pub(super) objects: Collection,
    listed: Collection,
}

/// The n-th of many requests.
pub(super) type Nth = Arc<dyn Fn(usize) -> Ask + Send + Sync>;

/// The parts of the load, in their order: each needs what those before it leave.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Creates,
    Gets,
    Patches,
    Lists,
    Events,
    Deletes,
}

impl Part {
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
    /// Gives each definition its objects.
    async fn fill(&self, definitions: &Definitions, namespace: &str) -> Result<(), BoxError> {
        let each = self.load.each;
        let collections: Vec<Collection> = definitions
            .kinds()
            .map(|kind| kind.collection(namespace))
            .collect();
        let count = collections.len() * each;
        let nth: Nth = Arc::new(move |n| collections[n / each].create(n % each));
        self.rate(String::new(), count, nth).await.map(drop)
    }

    /// Runs one part of the load.
    pub(super) async fn part(&self, part: Part) -> Result<Figure, BoxError> {
        let Load {
            objects,
            listed,
            lists,
            watchers,
            ..
        } = self.load;
        let path = self.objects.path.clone();
        let at = move |n: usize| format!("{path}/item-{n}");
        match part {
            Part::Creates => {
                let nth = create(&self.objects, 0);
                self.rate("creates of 1 KB".into(), objects, nth).await
            }
            Part::Gets => {
                let nth = Arc::new(move |n| Ask::bare("GET", at(n)));
                self.rate("gets".into(), objects, nth).await
            }
            Part::Patches => {
                let nth = Arc::new(move |n| patch(at(n), "changed", "yes"));
                self.rate("merge patches".into(), objects, nth).await
            }
            Part::Lists => {
                self.rate(String::new(), listed, create(&self.listed, 0)).await?;
                let path = self.listed.path.clone();
                let nth = Arc::new(move |_| Ask::bare("GET", path.clone()));
                self.rate(format!("lists of {listed} objects"), lists, nth).await
            }
            Part::Events => {
                self.watch(format!("events to {watchers} watches"), watchers, objects)
                    .await
            }
            Part::Deletes => {
                let nth = Arc::new(move |n| Ask::bare("DELETE", at(n)));
                self.rate("deletes".into(), objects, nth).await
            }
        }
    }

    /// Sends `count` requests over all connections, each of which sends the next when the last is answered.
    pub(super) async fn rate(&self, name: String, count: usize, nth: Nth) -> Result<Figure, BoxError> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = Vec::new();
        for _ in 0..self.load.clients {
            connections.push(Connection::open(&self.target).await?);
        }
        let (began, busy) = (Instant::now(), self.meter.processor());
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
                    let ask = nth(n);
                    let sent = Instant::now();
                    connection.call(&ask, |_| {}).await?;
                    took.push(sent.elapsed());
                }
            });
        }
        let mut took = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            took.extend(ended??);
        }
        let answered = took.len();
        let figure = Figure::new(name, answered, began.elapsed(), took);
        Ok(figure.with_processor(busy, self.meter.processor(), answered))
    }
}

/// Creates objects from a number on.
pub(super) fn create(collection: &Collection, from: usize) -> Nth {
    let collection = collection.clone();
    Arc::new(move |n| collection.create(from + n))
}

pub(super) fn patch(path: String, field: &str, value: &str) -> Ask {
    Ask {
        method: "PATCH",
        path,
        media: MERGE,
        body: format!(r#"{{"data":{{"{field}":"{value}"}}}}"#),
    }
}
