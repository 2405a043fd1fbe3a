//! The built-in systems: the references, in a dialect, or with a defect. Holds the mutants that a program registers.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use suites::Reached;
use suites::harness::system::Systems;

use crate::defect::Defect;
use crate::dialects::Dialect;
use crate::systems;

static MUTANTS: OnceLock<Mutants> = OnceLock::new();

/// The mutants of a program.
#[derive(Debug)]
pub struct Mutants {
    /// The references by the name of a mutant, one of them with that mistake; none if there is no such mutant.
    pub systems: fn(&str) -> Option<Systems>,
    /// The references without a mistake, and what reports which mutants a run of them has come past.
    pub observed: fn() -> (Systems, Reached),
}

/// From now on, this program has mutants. A program calls it once, before anything else.
pub fn register(mutants: Mutants) {
    let _ = MUTANTS.set(mutants);
}

/// Whether this program has mutants.
pub fn has_mutants() -> bool {
    MUTANTS.get().is_some()
}

/// The references in a dialect: with these freedoms used otherwise than by default.
pub fn in_dialect(dialect: &Dialect) -> Systems {
    systems::adjusted(&dialect.adjustments())
}

/// The built-in systems, perhaps with a defect. A mutant exists only in the program that is built with the mutants.
pub fn built_in(defect: Option<Defect>) -> Systems {
    let mutant = defect.and_then(Defect::mutant);
    let mut systems = mutant.map_or_else(systems::systems, mutated);
    if let Some(defect) = defect {
        defect.interpose(&mut systems);
    }
    systems
}

/// The references without a mistake, and what reports which mutants a run of them has come past.
pub fn observed() -> (Systems, Reached) {
    match MUTANTS.get() {
        Some(mutants) => (mutants.observed)(),
        None => (systems::systems(), Box::new(BTreeSet::new)),
    }
}

/// The references with that mistake.
fn mutated(name: &'static str) -> Systems {
    let systems = MUTANTS.get().and_then(|mutants| (mutants.systems)(name));
    systems.unwrap_or_else(|| panic!("no edit of mutants.diff makes {name}"))
}
