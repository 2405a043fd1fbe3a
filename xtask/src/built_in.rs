//! The systems that stand in where nobody brings any: the references, in good health or with a defect of the catalogue.

use suites::harness::system::Systems;

use crate::defect::Defect;
use crate::mutants;
use crate::references;

/// The built-in systems, perhaps with a defect. A mutant is there only in the program that is built with the mutants.
pub fn built_in(defect: Option<Defect>) -> Systems {
    let mutant = defect.and_then(Defect::mutant);
    let mut systems = mutant.map_or_else(references::systems, mutants::systems);
    if let Some(defect) = defect {
        defect.interpose(&mut systems);
    }
    systems
}
