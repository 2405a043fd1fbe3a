//! The journal: all observations of one case, in order. Contains no verdicts.
//!
//! The fake API server and driver append facts while they hold their locks, so facts are in the order of the events. With a real API server,
//! facts are in the order of the harness's own watches; a response or watch event is appended after the changes that it reflects. A verdict
//! depends only on the plan and the facts, and can be computed again from the stored file. `fact_sink` decides what is recorded and who is
//! notified.

mod fact;
mod services;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

pub use fact::{
    ActionFact, BeginFact, BoundFact, Change, CommitFact, DeadlineKind, DeliveryFact, Exit, Fact, LagFact,
    LastOutput, LogFact, Observation, ProcessEvent, ProcessFact, RequestFact, StepMark,
};
pub(crate) use fact::{RETRY_INTERVAL_MAX, START_TIMEOUT, to_micros};
pub use services::{
    CallDetails, CallFact, DiscoveryFact, ExtenderFact, HarnessCallFact, MetricsFact, PlacedVolume,
    RefusalFact, ScrapedMetrics,
};

/// An append-only list of facts. Readers can wait for the next fact.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    opened: Instant,
    facts: Mutex<VecDeque<Fact>>,
    length: watch::Sender<u64>,
    /// Maximum number of facts that the journal stores.
    limit: AtomicUsize,
}

impl Default for Journal {
    /// A journal that stores all facts.
    fn default() -> Self {
        Journal {
            shared: Arc::new(Shared {
                opened: Instant::now(),
                facts: Mutex::default(),
                length: watch::Sender::new(0),
                limit: AtomicUsize::new(usize::MAX),
            }),
        }
    }
}

impl Journal {
    /// Makes the journal drop its oldest facts beyond this number. The judge cannot evaluate a journal with dropped facts.
    pub(crate) fn limit_facts(&self, limit: usize) {
        self.shared.limit.store(limit, Ordering::Relaxed);
    }

    /// Drops the facts with a sequence number below `before`.
    pub(crate) fn drop_facts(&self, before: u64) {
        let mut facts = self.shared.facts.lock();
        let first_stored = facts.partition_point(|fact| fact.seq < before);
        facts.drain(..first_stored);
    }

    /// Appends one fact.
    pub fn append(&self, what: Observation) {
        let mut facts = self.shared.facts.lock();
        let limit = self.shared.limit.load(Ordering::Relaxed);
        let seq = *self.shared.length.borrow();
        let at_us = to_micros(self.shared.opened.elapsed());
        facts.push_back(Fact { seq, at_us, what });
        while facts.len() > limit {
            facts.pop_front();
        }
        // The new length is sent while the facts are locked, so that receivers never see the length decrease.
        self.shared.length.send_replace(seq + 1);
    }

    /// Time since the journal was opened.
    pub fn now(&self) -> Duration {
        self.shared.opened.elapsed()
    }

    /// Converts a time returned by [`Journal::now`] to an `Instant`.
    pub fn instant(&self, at: Duration) -> Instant {
        self.shared.opened + at
    }

    /// A copy of the stored facts whose sequence number is at least `seq`.
    pub fn since(&self, seq: u64) -> Vec<Fact> {
        let facts = self.shared.facts.lock();
        let first = facts.front().map_or(0, |fact| fact.seq);
        let skip = usize::try_from(seq.saturating_sub(first)).unwrap_or(usize::MAX);
        facts.iter().skip(skip).cloned().collect()
    }

    /// Number of facts appended so far.
    pub fn len(&self) -> u64 {
        *self.shared.length.borrow()
    }

    /// Whether no fact has been appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until more than `seq` facts have been appended.
    pub async fn wait_for_len_above(&self, seq: u64) {
        let mut length = self.shared.length.subscribe();
        // `self` owns the sender, so the wait cannot fail.
        let _ = length.wait_for(|length| *length > seq).await;
    }

    /// Writes the journal as one JSON object per line.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        for fact in self.shared.facts.lock().iter() {
            serde_json::to_writer(&mut file, fact)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    }
}

/// Version of the journal format. Older versions are readable: new fields have defaults, and the tests contain a journal of each version.
/// Faults in format 1 are plain texts and are ignored.
pub const FORMAT: u32 = 2;

/// Returns an error for a journal whose format is newer than [`FORMAT`].
pub fn check_format(facts: &[Fact]) -> Result<(), String> {
    match facts.first().map(|fact| &fact.what) {
        Some(Observation::Begin(begin)) if begin.format > FORMAT => Err(format!(
            "the journal has format {}, and this program reads formats up to {FORMAT}; judge it with a newer version",
            begin.format
        )),
        _ => Ok(()),
    }
}

/// Reads a stored journal.
pub fn load(path: &Path) -> std::io::Result<Vec<Fact>> {
    let mut facts = Vec::new();
    for (number, line) in BufReader::new(std::fs::File::open(path)?).lines().enumerate() {
        let fact = serde_json::from_str(&line?).map_err(|error| {
            let older = match facts.first().map(|fact: &Fact| &fact.what) {
                Some(Observation::Begin(begin)) if begin.format < FORMAT => format!(
                    "; the journal has format {}, and this program writes format {FORMAT}: run the case again, or judge it with the version that \
                     wrote it",
                    begin.format
                ),
                _ => String::new(),
            };
            let message = format!("{}:{}: not a fact: {error}{older}", path.display(), number + 1);
            std::io::Error::new(std::io::ErrorKind::InvalidData, message)
        })?;
        facts.push(fact);
        // The first fact contains the format version, which is checked before the next fact: a newer format may not be readable.
        if number == 0 {
            let invalid = |message| std::io::Error::new(std::io::ErrorKind::InvalidData, message);
            check_format(&facts).map_err(|message| invalid(format!("{}: {message}", path.display())))?;
        }
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A journal of format 1, without the maximum back-off.
    const FIRST: &str = r#"{"seq":0,"at_us":0,"what":{"fact":"begin","case":"a/b","refreshUs":100000,"patience":1.0,"format":1}}
{"seq":1,"at_us":5,"what":{"fact":"stepStarted","step":0}}
"#;

    fn load_text(text: &str) -> std::io::Result<Vec<Fact>> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), text)?;
        load(file.path())
    }

    #[test]
    fn older_formats_are_read_and_newer_ones_are_rejected_before_their_facts() {
        let facts = load_text(FIRST).expect("valid journal");
        assert!(
            matches!(&facts[0].what, Observation::Begin(begin) if begin.retry_interval_max_us == to_micros(RETRY_INTERVAL_MAX))
        );
        let fault = r#"{"seq":2,"at_us":6,"what":{"fact":"fault","what":"status 503: create pods"}}"#;
        let error = load_text(&format!("{FIRST}{fault}\n"))
            .expect_err("faults were text")
            .to_string();
        assert!(
            error.contains(":3: not a fact") && error.contains("format 1"),
            "{error}"
        );
        let newer = FIRST
            .replace("\"format\":1", "\"format\":99")
            .replace("stepStarted", "stepBegun");
        let error = load_text(&newer).expect_err("it is newer").to_string();
        assert!(
            error.contains("format 99") && error.contains("newer version"),
            "{error}"
        );
    }
}
