//! Records the log lines of a program that contain a text of the case, and ignores all other lines.
//!
//! Does not know whether the lines come from the output of a process or from `tracing` events of a task in this process.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Level};

use crate::exit_reason::readable;
use crate::journal::{Journal, LogFact, Observation};

/// Maximum number of recorded lines per program.
const LINES_MAX: usize = 1000;

/// Second subscriber, which disables an optimization of `tracing`: with a single subscriber, `tracing` caches the interest of the first
/// thread that reaches a callsite. If that thread belongs to a case without a subscriber, the event would be disabled forever.
static COMPANION: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// Receives the log lines of one program.
#[derive(Clone)]
pub struct LogLines {
    client: Arc<str>,
    patterns: Arc<[String]>,
    journal: Journal,
    recorded: Arc<AtomicUsize>,
}

impl LogLines {
    /// Creates a recorder of the lines that contain any of these texts; `None` if there are no texts.
    pub(crate) fn new(client: &str, patterns: Vec<String>, journal: &Journal) -> Option<Self> {
        (!patterns.is_empty()).then(|| Self {
            client: client.into(),
            patterns: patterns.into(),
            journal: journal.clone(),
            recorded: Arc::default(),
        })
    }

    /// Records the log line if it contains one of the texts of the case.
    pub(crate) fn record(&self, line: &str) {
        let is_match = self
            .patterns
            .iter()
            .any(|pattern| line.contains(pattern.as_str()));
        if is_match && self.recorded.fetch_add(1, Ordering::Relaxed) < LINES_MAX {
            self.journal.append(Observation::Log(LogFact {
                client: self.client.clone(),
                line: readable(line),
            }));
        }
    }

    /// A subscriber that receives the `tracing` events of a task, at all levels, as lines.
    pub(crate) fn dispatch(&self) -> Dispatch {
        LazyLock::force(&COMPANION);
        let lines = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_ansi(false)
            .without_time()
            .with_writer(move || lines.clone());
        Dispatch::new(subscriber.finish())
    }
}

/// `tracing` passes each event in a single call of `write`, so each call is one log line.
impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        String::from_utf8_lossy(bytes)
            .lines()
            .for_each(|line| self.record(line));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for LogLines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("LogLines").field(&self.patterns).finish()
    }
}
