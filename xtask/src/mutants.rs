//! Mutants: copies of the reference implementations with a bug in their logic, which no released program contains.
//!
//! The package `mutants` builds a program with the same command line that contains the mutants. A command that needs a mutant starts that
//! program.

use references::{Defect, has_mutants};
use suites::harness::invocation::checkout;

use crate::Exit;
use crate::exec::exec_package;
use crate::out::eprintln;

const PACKAGE: &str = "mutants";

/// Whether this program contains mutants, or can start the program that contains them.
pub(crate) fn can_be_available() -> bool {
    has_mutants() || checkout().is_some()
}

/// Removes the mutants from the list if this program neither contains them nor has a checkout to compile them from. Prints the number of
/// removed mutants.
pub(crate) fn remove_unavailable(defects: &mut Vec<Defect>) {
    if can_be_available() {
        return;
    }
    let all = defects.len();
    defects.retain(|defect| defect.mutant().is_none());
    eprintln!(
        "{} of {all} defects are left out: they are mutants of the references, which `cargo xtask` builds in a checkout of \
         csi-capacity-harness",
        all - defects.len()
    );
}

/// Makes sure that these defects can be injected. If one of them is a mutant that this program does not contain, starts the program with
/// the mutants, and returns only on failure.
pub(crate) fn ensure_available(defects: impl IntoIterator<Item = Defect>) -> Result<(), Exit> {
    let mut mutants = defects.into_iter().filter_map(Defect::mutant);
    let Some(name) = mutants.next().filter(|_| !has_mutants()) else {
        return Ok(());
    };
    if checkout().is_none() {
        eprintln!(
            "error: {name} is a mutant of a reference, which cargo builds in a checkout of csi-capacity-harness; run \
             `cargo xtask` there, or choose another defect"
        );
        return Err(Exit::Environment);
    }
    Err(exec_package(PACKAGE, name))
}
