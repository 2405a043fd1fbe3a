//! What one of several machines did of a long command, as a file beside its reports, and the whole, joined from such files.
//!
//! Knows no command: what one finds is its own type.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::explore::Explored;
use crate::report::{
    FORMAT, Joined, LoadError, MergeError, ShardsRecord, WriteError, join, join_times, write_file,
};

/// The file of a part.
pub const PART: &str = "part.json";

/// What a command found, as far as machines have found parts of it.
pub trait Findings: Clone + Serialize + DeserializeOwned {
    /// Adds what another machine found. Commands that are the same find the same kind of thing.
    fn add(&mut self, other: Self);

    /// Changes every file and folder that it names.
    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf);
}

/// What a machine did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part<F> {
    format: u32,
    harness: String,
    /// The command, without what differs from machine to machine.
    pub command: Vec<String>,
    /// When it began, in UTC (RFC 3339).
    pub started: String,
    /// How long it took, in seconds; of several the longest.
    pub seconds: f64,
    /// Which parts are in here; none: all there are.
    pub shards: Option<ShardsRecord>,
    /// What it found.
    pub found: F,
}

/// What the commands of this crate found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// Of `explore`.
    Explored(Box<Explored>),
}

impl<F: Findings> Part<F> {
    /// Of one machine.
    pub fn new(command: Vec<String>, shards: ShardsRecord, started: String, seconds: f64, found: F) -> Self {
        Part {
            format: FORMAT,
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            started,
            seconds,
            shards: Some(shards),
            found,
        }
    }

    /// Writes it into a folder. Files that it names are named as they are seen from there, so that the folder can be moved.
    pub fn write(mut self, folder: &Path) -> Result<(), WriteError> {
        self.found
            .each_path(&|path| path.strip_prefix(folder).map_or(path.clone(), Path::to_owned));
        let mut text = serde_json::to_string_pretty(&self).expect("a part is made of texts and numbers");
        text.push('\n');
        write_file(folder, PART, &text)
    }

    /// Joins the parts of one run. Where some are missing, it says which.
    pub fn join(paths: &[PathBuf]) -> Result<Self, MergeError> {
        join(paths)
    }
}

impl Findings for Found {
    fn add(&mut self, other: Self) {
        let (Found::Explored(all), Found::Explored(more)) = (self, other);
        all.add(*more);
    }

    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        let Found::Explored(explored) = self;
        explored.each_path(change);
    }
}

impl<F: Findings> Joined for Part<F> {
    fn load(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |why: String| LoadError {
            path: path.to_owned(),
            why,
            wanted: PART,
        };
        let text = harness::text_of(path).map_err(|error| unreadable(error.to_string()))?;
        let mut part: Self = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if part.format != FORMAT {
            return Err(unreadable(format!(
                "its format is {}, this program reads {FORMAT}",
                part.format
            )));
        }
        let home = path.parent().unwrap_or(Path::new(""));
        part.found.each_path(&|path| home.join(path));
        Ok(part)
    }

    fn shards(&mut self) -> &mut Option<ShardsRecord> {
        &mut self.shards
    }

    fn started(&self) -> &str {
        &self.started
    }

    fn common(&self) -> Vec<(&'static str, String)> {
        vec![
            ("the version of the harness", self.harness.clone()),
            ("the command", self.command.join(" ")),
        ]
    }

    fn add(&mut self, other: Self) {
        join_times(
            (&mut self.started, &mut self.seconds),
            (other.started, other.seconds),
        );
        self.found.add(other.found);
    }
}
