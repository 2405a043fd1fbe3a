//! The load of watches: how many events arrive in a second, and how late.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::BoxError;
use super::connection::{Ask, Connection};
use super::figure::Figure;
use super::load::{Bench, Nth, patch};

impl Bench<'_> {
    /// Changes one object after the other until every watch was told of each change.
    ///
    /// The times are those from sending a change to reading it from one of the watches.
    pub(super) async fn watch(
        &self,
        name: String,
        watchers: usize,
        objects: usize,
    ) -> Result<Figure, BoxError> {
        let changes = self.load.changes;
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
        let (started, busy) = (Instant::now(), self.meter.processor());
        // A change that changes nothing is no event: every round has words of its own.
        let (path, round) = (self.objects.clone(), name.clone());
        let change: Nth = Arc::new(move |n| {
            sent[n].store(nanoseconds(began.elapsed()), Ordering::Relaxed);
            patch(
                format!("{path}/item-{}", n % objects),
                "change",
                &format!("{n} {round}"),
            )
        });
        self.rate(String::new(), changes, change).await?;
        let mut took = Vec::new();
        while let Some(ended) = reading.join_next().await {
            took.extend(ended??);
        }
        let events = watchers * changes;
        Ok(Figure::new(name, events, started.elapsed(), took).with_processor(
            busy,
            self.meter.processor(),
            events,
        ))
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
                    .split(' ')
                    .next()
                    .unwrap_or_default()
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
