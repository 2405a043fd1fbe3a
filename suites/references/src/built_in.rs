//! The built-in systems: the reference implementations, in a dialect (with allowed alternative behaviour) or with an injected defect. Owns
//! the registered mutants.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use suites::ExecutedMutants;
use suites::harness::system::Systems;

use crate::defect::Defect;
use crate::dialects::Dialect;
use crate::systems;

static MUTANTS: OnceLock<Mutants> = OnceLock::new();

/// The mutants that are linked into a program. The crate `mutants` creates this value.
#[derive(Debug)]
pub struct Mutants {
    /// Returns the references with the named mutant; `None` if no mutant has that name.
    pub systems: fn(&str) -> Option<Systems>,
    /// The unmodified references, and a function that returns the mutants whose code a run executed.
    pub observed: fn() -> (Systems, ExecutedMutants),
}

/// Registers the mutants of this program. Called once at program start.
pub fn register(mutants: Mutants) {
    let _ = MUTANTS.set(mutants);
}

/// Whether mutants are registered.
pub fn has_mutants() -> bool {
    MUTANTS.get().is_some()
}

/// The references, with the choices of this dialect instead of their defaults.
pub fn in_dialect(dialect: &Dialect) -> Systems {
    systems::adjusted(&dialect.adjustments())
}

/// The references, with a defect if given. Mutants exist only in a program that registers them.
pub fn built_in(defect: Option<Defect>) -> Systems {
    let mutant = defect.and_then(Defect::mutant);
    let mut systems = mutant.map_or_else(systems::systems, mutated);
    if let Some(defect) = defect {
        defect.interpose(&mut systems);
    }
    systems
}

/// The unmodified references, and a function that returns the mutants whose code a run executed.
pub fn observed_references() -> (Systems, ExecutedMutants) {
    match MUTANTS.get() {
        Some(mutants) => (mutants.observed)(),
        None => (systems::systems(), Box::new(BTreeSet::new)),
    }
}

fn mutated(name: &'static str) -> Systems {
    let systems = MUTANTS.get().and_then(|mutants| (mutants.systems)(name));
    systems.unwrap_or_else(|| panic!("mutants.diff defines no mutant {name}"))
}
