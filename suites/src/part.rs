//! The results of one shard of `explore`, `sweep` or `selftest` as a file, `part.json`, and the merge of such files.
//!
//! Does not know the commands: each command has its own result type.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::explore::Explored;
use crate::report::{
    FORMAT, LoadError, MergeError, ShardedResult, ShardsRecord, WriteError, merge_shards, merge_times,
    write_file,
};

/// File name of a shard's results.
pub const PART: &str = "part.json";

/// Results of a command, mergeable across machines.
pub trait Mergeable: Clone + Serialize + DeserializeOwned {
    /// Adds the results of another machine for the same command.
    fn add(&mut self, other: Self);

    /// Applies `change` to all file and folder paths.
    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf);
}

/// Content of `part.json`: results of one shard, or of several merged shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardFile<F> {
    format: u32,
    harness: String,
    /// The command, without options that differ between machines.
    pub command: Vec<String>,
    /// Start time in UTC (RFC 3339).
    pub started: String,
    /// Duration in seconds; after a merge, the duration of the slowest shard.
    pub seconds: f64,
    /// The shards whose results the file contains; `None` if the file contains those of all shards.
    pub shards: Option<ShardsRecord>,
    /// The results of the command.
    pub found: F,
}

/// Results of the commands of this crate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandResult {
    /// Results of `explore`.
    Explored(Box<Explored>),
}

impl<F: Mergeable> ShardFile<F> {
    /// The results of one shard.
    pub fn new(command: Vec<String>, shards: ShardsRecord, started: String, seconds: f64, found: F) -> Self {
        ShardFile {
            format: FORMAT,
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            started,
            seconds,
            shards: Some(shards),
            found,
        }
    }

    /// Writes `part.json` into a folder, with paths relative to that folder, so that the folder can be moved.
    pub fn write(mut self, folder: &Path) -> Result<(), WriteError> {
        self.found
            .each_path(&|path| path.strip_prefix(folder).map_or(path.clone(), Path::to_owned));
        let mut text = serde_json::to_string_pretty(&self).expect("a part serializes");
        text.push('\n');
        write_file(folder, PART, &text)
    }

    /// Merges the `part.json` files of one run. The result lists missing shards.
    pub fn join(paths: &[PathBuf]) -> Result<Self, MergeError> {
        merge_shards(paths)
    }
}

impl Mergeable for CommandResult {
    fn add(&mut self, other: Self) {
        let (CommandResult::Explored(all), CommandResult::Explored(more)) = (self, other);
        all.add(*more);
    }

    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        let CommandResult::Explored(explored) = self;
        explored.each_path(change);
    }
}

impl<F: Mergeable> ShardedResult for ShardFile<F> {
    fn load(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |why: String| LoadError {
            path: path.to_owned(),
            why,
            wanted: PART,
        };
        let text = harness::read_text_file(path).map_err(|error| unreadable(error.to_string()))?;
        let mut part: Self = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if part.format != FORMAT {
            return Err(unreadable(format!(
                "the file has format version {}, but this program reads version {FORMAT}",
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

    fn shared_properties(&self) -> Vec<(&'static str, String)> {
        vec![
            ("the version of the harness", self.harness.clone()),
            ("the command", self.command.join(" ")),
        ]
    }

    fn add(&mut self, other: Self) {
        merge_times(
            (&mut self.started, &mut self.seconds),
            (other.started, other.seconds),
        );
        self.found.add(other.found);
    }
}
