//! Load with watches: events per second, and their latency.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use memchr::{memchr_iter, memrchr_iter};
use serde_json::Value;
use tokio::task::JoinSet;

use super::connection::{ApiRequest, Connection, Target};
use super::load::{Bench, NthRequest, patch};
use super::stats::RequestStats;
use suites::harness::system::BoxError;

/// Bytes that a watch reader buffers, several times the size of an event.
const RECENT_BYTES: usize = 64 * 1024;

impl Bench<'_> {
    /// Changes API objects one after the other until every watch has received all changes.
    ///
    /// Latency is measured from sending a change to receiving it on one of the watches.
    pub(super) async fn watch(
        &self,
        name: String,
        watchers: usize,
        objects: usize,
    ) -> Result<RequestStats, BoxError> {
        let changes = self.load.changes;
        let revision = self.revision().await?;
        let sent: Arc<[AtomicU64]> = (0..changes).map(|_| AtomicU64::new(0)).collect();
        let began = Instant::now();
        let mut reading = JoinSet::new();
        for number in 0..watchers {
            let client = WatchClient::open(&self.target, &self.objects.path, &revision).await?;
            let sent = sent.clone();
            reading.spawn(async move {
                if number == 0 {
                    let took = client.latencies(began, &sent).await?;
                    return Ok::<_, BoxError>((took.len(), took));
                }
                Ok((client.count(sent.len()).await?, Vec::new()))
            });
        }
        let (started, busy) = (Instant::now(), self.meter.cpu_time());
        // A no-op update causes no event, so the value in the change must differ from the values of earlier measurements.
        let (path, round) = (self.objects.path.clone(), name.clone());
        let change: NthRequest = Arc::new(move |n| {
            sent[n].store(nanoseconds(began.elapsed()), Ordering::Relaxed);
            patch(
                format!("{path}/item-{}", n % objects),
                "change",
                &format!("{n} {round}"),
            )
        });
        self.send_requests(String::new(), changes, change).await?;
        let (mut events, mut took) = (0, Vec::new());
        while let Some(ended) = reading.join_next().await {
            let (read, times) = ended??;
            events += read;
            took.extend(times);
        }
        Ok(
            RequestStats::new(name, events, started.elapsed(), took).with_cpu_time(
                busy,
                self.meter.cpu_time(),
                events,
            ),
        )
    }

    /// The current resource version of the API server, from a list of the objects.
    async fn revision(&self) -> Result<String, BoxError> {
        let mut body = Vec::new();
        let request = ApiRequest::without_body("GET", format!("{}?limit=1", self.objects.path));
        Connection::open(&self.target)
            .await?
            .call(&request, |chunk| body.extend_from_slice(chunk))
            .await?;
        let list: Value = serde_json::from_slice(&body)?;
        let revision = list["metadata"]["resourceVersion"].as_str();
        Ok(revision.ok_or("a list has no resourceVersion")?.to_owned())
    }
}

/// A watch client. If the server closes a slow watch, the client resumes at the last resource version, as real clients do.
struct WatchClient {
    target: Arc<Target>,
    /// Path of the watched collection.
    path: String,
    connection: Connection,
    /// The most recently received bytes, which include at least one complete event, to find the resource version at which to resume.
    recent: Vec<u8>,
    /// Whether events are only counted, without parsing them.
    only_counts: bool,
}

impl WatchClient {
    async fn open(target: &Arc<Target>, path: &str, revision: &str) -> Result<Self, BoxError> {
        Ok(Self {
            target: target.clone(),
            path: path.to_owned(),
            connection: open_watch(target, path, revision).await?,
            recent: Vec::new(),
            only_counts: false,
        })
    }

    /// Reads until the watch has delivered at least this number of events, and returns the number of delivered events.
    async fn count(mut self, events: usize) -> Result<usize, BoxError> {
        self.only_counts = true;
        let mut seen = 0;
        while seen < events {
            seen += self.read_events().await?;
        }
        Ok(seen)
    }

    /// Reads until the watch has delivered all changes, and returns the latency of each change.
    async fn latencies(mut self, began: Instant, sent: &[AtomicU64]) -> Result<Vec<Duration>, BoxError> {
        let mut took = Vec::new();
        while took.len() < sent.len() {
            let lines = self.read_events().await?;
            let now = nanoseconds(began.elapsed());
            for line in self.complete_events().rsplit(|byte| *byte == b'\n').take(lines) {
                let number = change_number(line)?;
                let sent = sent[number].load(Ordering::Relaxed);
                took.push(Duration::from_nanos(now.saturating_sub(sent)));
            }
        }
        Ok(took)
    }

    /// Reads a chunk of the response, and returns the number of watch events that end in it. Counting events is several times cheaper than
    /// parsing or copying them.
    async fn read_events(&mut self) -> Result<usize, BoxError> {
        loop {
            if let Ok(Some(chunk)) = self.connection.chunk().await {
                append_recent(&mut self.recent, &chunk, self.only_counts);
                return Ok(memchr_iter(b'\n', &chunk).count());
            }
            let last = self.complete_events().rsplit(|byte| *byte == b'\n').next();
            let revision = resource_version_of(last.unwrap_or_default())?;
            self.connection = open_watch(&self.target, &self.path, &revision).await?;
            let whole = self.complete_events().len() + 1;
            self.recent.truncate(whole);
        }
    }

    /// The buffered bytes up to the end of the last complete event.
    fn complete_events(&self) -> &[u8] {
        let end = self.recent.iter().rposition(|byte| *byte == b'\n');
        &self.recent[..end.unwrap_or_default()]
    }
}

/// Appends received bytes to the buffer. If events are only counted, drops the bytes before the last complete event.
fn append_recent(recent: &mut Vec<u8>, chunk: &[u8], only_counts: bool) {
    let mut ends = memrchr_iter(b'\n', chunk);
    match (ends.next(), ends.next()) {
        (Some(_), Some(before)) if only_counts => {
            recent.clear();
            recent.extend_from_slice(&chunk[before + 1..]);
        }
        _ => {
            if recent.len() > 2 * RECENT_BYTES {
                recent.drain(..recent.len() - RECENT_BYTES);
            }
            recent.extend_from_slice(chunk);
        }
    }
}

async fn open_watch(target: &Arc<Target>, path: &str, revision: &str) -> Result<Connection, BoxError> {
    let mut connection = Connection::open(target).await?;
    let path = format!("{path}?watch=1&resourceVersion={revision}");
    match connection.send(&ApiRequest::without_body("GET", path)).await? {
        200 => Ok(connection),
        code => Err(format!("a watch returned {code}").into()),
    }
}

/// The resource version in a watch event (one line of JSON).
fn resource_version_of(line: &[u8]) -> Result<String, BoxError> {
    let event: Value = serde_json::from_slice(line).map_err(|_| "a watch ended before its first event")?;
    let revision = event["object"]["metadata"]["resourceVersion"].as_str();
    Ok(revision
        .ok_or_else(|| format!("cannot resume a watch: {event}"))?
        .to_owned())
}

fn change_number(line: &[u8]) -> Result<usize, BoxError> {
    let event: Value = serde_json::from_slice(line)?;
    let text = event["object"]["data"]["change"].as_str().unwrap_or_default();
    let number = text.split(' ').next().unwrap_or_default();
    number
        .parse()
        .map_err(|_| format!("an event contains no change number: {event}").into())
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
