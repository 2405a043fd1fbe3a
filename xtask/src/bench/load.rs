//! The load: the same requests, in the same order, whatever the server.
//!
//! Owns what is sent and what is timed. Prints nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use tokio::task::JoinSet;

use super::BoxError;
use super::connection::{Ask, Connection, JSON, MERGE, Target};
use super::figure::Figure;

/// How much load.
#[derive(Args, Debug, Clone, Copy)]
pub(super) struct Load {
    /// Connections that send at the same time
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Objects created, read, changed and deleted
    #[arg(long, default_value_t = 20_000)]
    objects: usize,
    /// Objects in each list
    #[arg(long, default_value_t = 2_000)]
    listed: usize,
    /// Lists read
    #[arg(long, default_value_t = 1_000)]
    lists: usize,
    /// Watches that every change is sent to
    #[arg(long, default_value_t = 100)]
    watchers: usize,
    /// Changes that all watches are told
    #[arg(long, default_value_t = 5_000)]
    changes: usize,
}

/// Bytes of data in each object; with its metadata an object is about 1 KB.
const DATA_BYTES: usize = 700;

/// Runs the whole load. What it made is removed again, even if the load fails half way.
pub(super) async fn run(target: &Arc<Target>, load: Load) -> Result<Vec<Figure>, BoxError> {
    let mut connection = Connection::open(target).await?;
    let mut namespaces = Vec::new();
    for purpose in ["objects", "listed"] {
        let name = format!("bench-{purpose}-{:08x}", std::process::id() ^ clock());
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        let (method, path, media) = ("POST", "/api/v1/namespaces".to_owned(), JSON);
        let create = Ask {
            method,
            path,
            media,
            body,
        };
        connection.call(&create, |_| {}).await?;
        namespaces.push(name);
    }
    let place = |name: &String| format!("/api/v1/namespaces/{name}/configmaps");
    let bench = Bench {
        target: target.clone(),
        load,
        objects: place(&namespaces[0]),
        listed: place(&namespaces[1]),
    };
    let figures = bench.all().await;
    for name in &namespaces {
        connection.call(&Ask::bare("DELETE", place(name)), |_| {}).await?;
        let namespace = format!("/api/v1/namespaces/{name}");
        connection.call(&Ask::bare("DELETE", namespace), |_| {}).await?;
    }
    figures
}

/// A number that differs from run to run.
fn clock() -> u32 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.subsec_nanos())
}

struct Bench {
    target: Arc<Target>,
    load: Load,
    /// Where objects are created, and where those are that are listed.
    objects: String,
    listed: String,
}

/// The n-th of many requests.
type Nth = Arc<dyn Fn(usize) -> Ask + Send + Sync>;

impl Bench {
    async fn all(&self) -> Result<Vec<Figure>, BoxError> {
        let Load {
            objects,
            listed,
            lists,
            watchers,
            ..
        } = self.load;
        self.rate(String::new(), listed, create(&self.listed)).await?;
        let at = |n: usize, path: &str| format!("{path}/item-{n}");
        let path = self.objects.clone();
        let get: Nth = Arc::new(move |n| Ask::bare("GET", at(n, &path)));
        let path = self.objects.clone();
        let patch: Nth = Arc::new(move |n| patch(at(n, &path), "changed", "yes"));
        let path = self.objects.clone();
        let delete: Nth = Arc::new(move |n| Ask::bare("DELETE", at(n, &path)));
        let path = self.listed.clone();
        let list: Nth = Arc::new(move |_| Ask::bare("GET", path.clone()));
        Ok(vec![
            self.rate("creates of 1 KB".into(), objects, create(&self.objects))
                .await?,
            self.rate("gets".into(), objects, get).await?,
            self.rate("merge patches".into(), objects, patch).await?,
            self.rate(format!("lists of {listed} objects"), lists, list)
                .await?,
            self.watch(format!("events to {watchers} watches")).await?,
            self.rate("deletes".into(), objects, delete).await?,
        ])
    }

    /// Sends `count` requests over all connections, each of which sends the next when the last is answered.
    async fn rate(&self, name: String, count: usize, nth: Nth) -> Result<Figure, BoxError> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = Vec::new();
        for _ in 0..self.load.clients {
            connections.push(Connection::open(&self.target).await?);
        }
        let began = Instant::now();
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
        Ok(Figure::new(name, count, began.elapsed(), took))
    }

    /// Changes one object after the other until every watch was told of each change.
    ///
    /// The times are those from sending a change to reading it from one of the watches.
    async fn watch(&self, name: String) -> Result<Figure, BoxError> {
        let Load {
            watchers, changes, ..
        } = self.load;
        let path = format!(
            "{}?watch=1&resourceVersion={}",
            self.objects,
            self.revision().await?
        );
        let sent: Arc<[AtomicU64]> = (0..changes).map(|_| AtomicU64::new(0)).collect();
        let began = Instant::now();
        let mut reading = JoinSet::new();
        for number in 0..watchers {
            let mut connection = Connection::open(&self.target).await?;
            let code = connection.send(&Ask::bare("GET", path.as_str())).await?;
            if code != 200 {
                return Err(format!("a watch is answered {code}").into());
            }
            let sent = sent.clone();
            reading.spawn(async move {
                if number == 0 {
                    return arrivals(connection, began, &sent).await;
                }
                count_lines(connection, sent.len()).await.map(|()| Vec::new())
            });
        }
        let started = Instant::now();
        let (path, objects) = (self.objects.clone(), self.load.objects);
        let change: Nth = Arc::new(move |n| {
            sent[n].store(nanoseconds(began.elapsed()), Ordering::Relaxed);
            patch(format!("{path}/item-{}", n % objects), "change", &n.to_string())
        });
        self.rate(String::new(), changes, change).await?;
        let mut took = Vec::new();
        while let Some(ended) = reading.join_next().await {
            took.extend(ended??);
        }
        Ok(Figure::new(name, watchers * changes, started.elapsed(), took))
    }

    /// The revision of the newest change.
    async fn revision(&self) -> Result<String, BoxError> {
        let mut body = Vec::new();
        let ask = Ask::bare("GET", format!("{}?limit=1", self.objects));
        Connection::open(&self.target)
            .await?
            .call(&ask, |piece| body.extend_from_slice(piece))
            .await?;
        let list: serde_json::Value = serde_json::from_slice(&body)?;
        let revision = list["metadata"]["resourceVersion"].as_str();
        Ok(revision.ok_or("a list has no resourceVersion")?.to_owned())
    }
}

/// Reads a watch until it has told that many events.
async fn count_lines(mut connection: Connection, events: usize) -> Result<(), BoxError> {
    let mut seen = 0;
    while seen < events {
        let piece = connection.piece().await?.ok_or("a watch ended early")?;
        seen += piece.iter().filter(|byte| **byte == b'\n').count();
    }
    Ok(())
}

/// Reads a watch until it has told all changes, and says how long after its sending each came.
async fn arrivals(
    mut connection: Connection,
    began: Instant,
    sent: &[AtomicU64],
) -> Result<Vec<Duration>, BoxError> {
    let (mut took, mut line) = (Vec::new(), Vec::new());
    while took.len() < sent.len() {
        let piece = connection.piece().await?.ok_or("a watch ended early")?;
        let now = nanoseconds(began.elapsed());
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let event: serde_json::Value = serde_json::from_slice(&line)?;
                let number = event["object"]["data"]["change"].as_str().unwrap_or_default();
                let number: usize = number
                    .parse()
                    .map_err(|_| format!("an event tells no change: {event}"))?;
                took.push(Duration::from_nanos(
                    now.saturating_sub(sent[number].load(Ordering::Relaxed)),
                ));
                line.clear();
            }
        }
    }
    Ok(took)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn create(collection: &str) -> Nth {
    let (path, filler) = (collection.to_owned(), "x".repeat(DATA_BYTES));
    Arc::new(move |n| Ask {
        method: "POST",
        path: path.clone(),
        media: JSON,
        body: format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"item-{n}","labels":{{"app":"bench"}}}},"data":{{"filler":"{filler}"}}}}"#
        ),
    })
}

fn patch(path: String, field: &str, value: &str) -> Ask {
    Ask {
        method: "PATCH",
        path,
        media: MERGE,
        body: format!(r#"{{"data":{{"{field}":"{value}"}}}}"#),
    }
}
