//! The built-in systems: the references, in a dialect, or with an injected defect of the catalogue.

use suites::harness::system::Systems;

use crate::defect::Defect;
use crate::dialects::Dialect;
use crate::mutants;
use crate::references;

/// The references in a dialect: with these freedoms used otherwise than by default.
pub(crate) fn in_dialect(dialect: &Dialect) -> Systems {
    references::adjusted(&dialect.adjustments())
}

/// The built-in systems, perhaps with a defect. A mutant is there only in the program that is built with the mutants.
pub fn built_in(defect: Option<Defect>) -> Systems {
    let mutant = defect.and_then(Defect::mutant);
    let mut systems = mutant.map_or_else(references::systems, mutants::systems);
    if let Some(defect) = defect {
        defect.interpose(&mut systems);
    }
    systems
}
