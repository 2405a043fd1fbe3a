//! Mergeable findings of each command that supports shards.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use suites::Findings;
use suites::explore::Explored;

use crate::selftest::Share;
use crate::sweep::SweptCase;

/// Findings of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// Findings of `explore`.
    Explored(Box<Explored>),
    /// Cases of `sweep`, in order.
    Swept(Vec<SweptCase>),
    /// Runs of `selftest`.
    Held(Share),
}

impl Findings for Found {
    fn add(&mut self, other: Self) {
        match (self, other) {
            (Found::Explored(all), Found::Explored(more)) => all.add(*more),
            (Found::Swept(all), Found::Swept(more)) => {
                all.extend(more);
                all.sort_by_key(|case| case.number);
            }
            (Found::Held(all), Found::Held(more)) => all.add(more),
            // Parts of the same command always have the same variant.
            _ => {}
        }
    }

    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        if let Found::Explored(explored) = self {
            explored.each_path(change);
        }
    }
}
