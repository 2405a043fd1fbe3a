//! What each command found of which several machines run parts, so that the parts can be joined.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use suites::Findings;
use suites::explore::Explored;

use crate::selftest::Share;
use crate::sweep::SweptCase;

/// What a command found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// Of `explore`.
    Explored(Box<Explored>),
    /// Of `sweep`, in the order of the cases.
    Swept(Vec<SweptCase>),
    /// Of `selftest`.
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
            // Commands that are the same find the same kind of thing.
            _ => {}
        }
    }

    fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        if let Found::Explored(explored) = self {
            explored.each_path(change);
        }
    }
}
