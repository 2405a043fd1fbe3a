//! The systems that stand in where nobody brings any: the references, in good health or with a defect of the catalogue.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use suites::Defects;
use suites::harness::system::Systems;
use suites::harness::{Defect as SurroundingsDefect, RunOptions};

use crate::mutants;
use crate::references;

static CATALOGUE: LazyLock<Defects> = LazyLock::new(Defects::load);

/// A defect of the catalogue, and how it comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// What surrounds the references, the API server or the driver, is built otherwise.
    Surroundings(SurroundingsDefect),
    /// The logic of a reference is wrong. The text is its name.
    Mutant(&'static str),
}

impl Defect {
    /// Finds a defect by its name.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = CATALOGUE.iter().find(|defect| defect.name == name);
        let Some(known) = known else {
            let names: Vec<&str> = CATALOGUE.iter().map(|defect| defect.name.as_str()).collect();
            let alike = names.iter().max_by_key(|known| alike(name, known));
            return Err(format!(
                "unknown defect `{name}`; did you mean `{}`? defects: {}",
                alike.unwrap_or(&""),
                names.join(", ")
            ));
        };
        Ok(SurroundingsDefect::from_str(name).map_or(Self::Mutant(&known.name), Self::Surroundings))
    }

    /// Its name, as the catalogue has it, if it is a mutant of a reference.
    pub(crate) fn mutant(self) -> Option<&'static str> {
        match self {
            Defect::Mutant(name) => Some(name),
            Defect::Surroundings(_) => None,
        }
    }

    /// The same way to run, with the defect where it is one of the surroundings.
    pub fn spoil(self, options: RunOptions) -> RunOptions {
        match self {
            Defect::Surroundings(defect) => RunOptions {
                defect: Some(defect),
                ..options
            },
            Defect::Mutant(_) => options,
        }
    }
}

/// How many words two names share, how many characters of their beginning, and how short the second is.
fn alike(left: &str, right: &str) -> (usize, usize, Reverse<usize>) {
    let words = left
        .split('-')
        .filter(|word| right.split('-').any(|other| other == *word));
    let same = left.chars().zip(right.chars()).take_while(|(l, r)| l == r);
    (words.count(), same.count(), Reverse(right.len()))
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::Surroundings(defect) => defect.fmt(f),
            Defect::Mutant(name) => f.write_str(name),
        }
    }
}

/// The built-in systems, perhaps with a defect. A mutant is there only in the program that is built with the mutants.
pub fn built_in(defect: Option<Defect>) -> Systems {
    let mutant = defect.and_then(Defect::mutant);
    mutant.map_or_else(references::systems, mutants::systems)
}
