//! Focuses of exploration: which programs run, and which events are frequent. Each item of `FOCUSES` is a focus.

use std::fmt;
use std::str::FromStr;

use harness::scenario::{Mode, Role};

/// Prefix of the ids of generated cases.
pub(crate) const EXPLORED: &str = "explore";

/// A focus of exploration: the programs that run, and the frequencies of events.
#[derive(Debug, PartialEq, Eq)]
pub struct Focus {
    /// Name on the command line.
    pub name: &'static str,
    /// The roles whose programs run.
    pub(super) roles: &'static [Role],
    /// The possible deployment modes of the publisher.
    pub(super) modes: &'static [Mode],
    /// Column in the table of event weights.
    pub(super) column: usize,
}

const BOTH: &[Mode] = &[Mode::Central, Mode::Distributed];

const fn focus(name: &'static str, column: usize, roles: &'static [Role], modes: &'static [Mode]) -> Focus {
    Focus {
        name,
        roles,
        modes,
        column,
    }
}

/// All focuses of exploration, in the order of their columns in the table of event weights.
pub static FOCUSES: [Focus; 4] = [
    focus("publisher", 0, &[Role::Publisher], BOTH),
    focus("scheduler", 1, &[Role::Scheduler], &[Mode::Central]),
    focus(
        "cleaner",
        2,
        &[Role::Publisher, Role::Cleaner],
        &[Mode::Distributed],
    ),
    focus("story", 3, &[Role::Publisher, Role::Scheduler], BOTH),
];

impl Focus {
    /// Whether the program of the role runs in this focus.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

impl FromStr for &'static Focus {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = FOCUSES.iter().find(|focus| focus.name == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = FOCUSES.iter().map(|focus| focus.name).collect();
            format!(
                "`{text}` is not a focus of exploration; choose one of {}",
                names.join(", ")
            )
        })
    }
}

impl fmt::Display for Focus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
