//! Lines of a system's log that a case asks for: they become facts, and the others are nobody's business.
//!
//! Knows words and lines. Where lines come from, a pipe of a process or the events of a task here, is its callers' business.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Level};

use crate::journal::{Journal, LogFact, What};
use crate::last_words::readable;

/// So many lines of one system become facts. Who wants to know of more counts something else.
const MOST: usize = 1000;

/// Where there is but one subscriber, `tracing` takes the thread on which an event is first met for all: one of another case, which listens
/// to nothing, would silence the event for good. With a second one it asks both.
static COMPANION: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// What listens to one system.
#[derive(Clone)]
pub struct LogLines {
    client: Arc<str>,
    words: Arc<[String]>,
    journal: Journal,
    heard: Arc<AtomicUsize>,
}

impl LogLines {
    /// Listens for lines with any of these words; none where nobody asks for any.
    pub(crate) fn new(client: &str, words: Vec<String>, journal: &Journal) -> Option<Self> {
        (!words.is_empty()).then(|| Self {
            client: client.into(),
            words: words.into(),
            journal: journal.clone(),
            heard: Arc::default(),
        })
    }

    /// Takes a line.
    pub(crate) fn hear(&self, line: &str) {
        let is_meant = self.words.iter().any(|words| line.contains(words.as_str()));
        if is_meant && self.heard.fetch_add(1, Ordering::Relaxed) < MOST {
            self.journal.append(What::Log(LogFact {
                client: self.client.clone(),
                line: readable(line),
            }));
        }
    }

    /// Takes the events of tasks here, whatever their level, as lines.
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

/// An event is written at once.
impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        String::from_utf8_lossy(bytes)
            .lines()
            .for_each(|line| self.hear(line));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for LogLines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("LogLines").field(&self.words).finish()
    }
}
