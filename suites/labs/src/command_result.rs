//! Mergeable results of each command that supports shards.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use suites::Mergeable;
use suites::explore::Explored;

use crate::selftest::ShardTrials;
use crate::sweep::SweptCase;

/// Results of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandResult {
    /// Results of `explore`.
    Explored(Box<Explored>),
    /// Cases of `sweep`, in order.
    Swept(Vec<SweptCase>),
    /// Runs of `selftest`.
    Held(ShardTrials),
}

impl Mergeable for CommandResult {
    fn add(&mut self, other: Self) {
        match (self, other) {
            (CommandResult::Explored(all), CommandResult::Explored(more)) => all.add(*more),
            (CommandResult::Swept(all), CommandResult::Swept(more)) => {
                all.extend(more);
                all.sort_by_key(|case| case.number);
            }
            (CommandResult::Held(all), CommandResult::Held(more)) => all.add(more),
            // Merged files belong to the same command, so the variants are equal.
            _ => {}
        }
    }

    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        if let CommandResult::Explored(explored) = self {
            explored.each_path(change);
        }
    }
}
