//! The results of `explore`, `sweep` and `selftest` in `part.json`, in a form that can be merged with the results of other hosts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use suites::Mergeable;
use suites::explore::Explored;

use crate::selftest::ShardTrials;
use crate::sweep::SweptCase;

/// The results of one of the commands that support shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandResult {
    /// Results of `explore`.
    Explored(Box<Explored>),
    /// Results of `sweep`: one item per case, in the order of the whole run.
    Swept(Vec<SweptCase>),
    /// Results of `selftest`: runs of cases with and without injected defects.
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
            (CommandResult::Held(all), CommandResult::Held(more)) => all.merge(more),
            // All merged files are from the same command, so results of different commands do not occur.
            _ => {}
        }
    }

    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        if let CommandResult::Explored(explored) = self {
            explored.each_path(change);
        }
    }
}
