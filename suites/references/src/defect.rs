//! Looks up defects of the catalogue by name, and injects them.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use suites::Defects;
use suites::harness::alike::did_you_mean;
use suites::harness::interposer::interpose;
use suites::harness::invocation::program;
use suites::harness::renamed::{self, Context};
use suites::harness::scenario::Role;
use suites::harness::system::Systems;
use suites::harness::{Defect as EnvironmentDefect, RunOptions};

static CATALOGUE: LazyLock<Defects> = LazyLock::new(Defects::load);

/// A defect of the catalogue. The variants are the ways in which a defect is injected; the strings are names of defects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// The API server or the driver misbehaves.
    Environment(EnvironmentDefect),
    /// The traffic of a correct program is changed. Works with any implementation.
    Wire(&'static str),
    /// The source code of a reference is changed.
    Mutant(&'static str),
}

impl Defect {
    /// Finds a defect by its current or old name. Fails with the known names.
    pub fn named(name: &str) -> Result<Self, String> {
        let name = renamed::current_spelling(&[Context::Defect], name);
        let known = CATALOGUE.iter().find(|defect| defect.name == name);
        let Some(known) = known else {
            let names = CATALOGUE.iter().map(|defect| defect.name.as_str());
            return Err(format!(
                "unknown defect `{name}`{}; `{program} selftest --list` lists all defects",
                did_you_mean(name, names),
                program = program()
            ));
        };
        if let Ok(defect) = EnvironmentDefect::from_str(name) {
            return Ok(Self::Environment(defect));
        }
        Ok(match known.wire.is_empty() {
            true => Self::Mutant(&known.name),
            false => Self::Wire(&known.name),
        })
    }

    /// The role of the broken program; `None` if the API server or the driver is broken.
    pub fn role(self) -> Option<Role> {
        let (Defect::Wire(name) | Defect::Mutant(name)) = self else {
            return None;
        };
        CATALOGUE.get(name)?.role()
    }

    /// The name of the mutant; `None` for a defect that is no mutant.
    pub fn mutant(self) -> Option<&'static str> {
        match self {
            Defect::Mutant(name) => Some(name),
            Defect::Environment(_) | Defect::Wire(_) => None,
        }
    }

    /// How the defect is injected, in words for the terminal.
    pub fn kind(self) -> &'static str {
        match self {
            Defect::Environment(_) => "environment: the API server or the driver misbehaves",
            Defect::Wire(_) => {
                "wire: the traffic of a correct program is manipulated; works with your program too (`--sut`)"
            }
            Defect::Mutant(_) => {
                "mutant: the source code of a reference is changed; requires a checkout of the repository"
            }
        }
    }

    /// For a defect in the traffic: manipulates the traffic of the systems whose role the defect breaks.
    pub fn interpose(self, systems: &mut Systems) {
        let Defect::Wire(name) = self else {
            return;
        };
        let Some(defect) = CATALOGUE.get(name) else {
            return;
        };
        if let Some(system) = defect.role().and_then(|role| systems.by_role.get_mut(&role)) {
            *system = interpose(system, &defect.wire);
        }
    }

    /// Adds the defect to the options of a run, if it is a defect of the API server or the driver.
    pub fn apply_to(self, options: RunOptions) -> RunOptions {
        match self {
            Defect::Environment(defect) => RunOptions {
                defect: Some(defect),
                ..options
            },
            Defect::Wire(_) | Defect::Mutant(_) => options,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::Environment(defect) => defect.fmt(f),
            Defect::Wire(name) | Defect::Mutant(name) => f.write_str(name),
        }
    }
}
