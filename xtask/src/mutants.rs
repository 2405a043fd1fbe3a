//! Mutants of the references: programs with a bug in their logic, which no released program contains.
//!
//! A second program has this command line and the mutants. A command that needs one is executed by that program.

use references::{Defect, has_mutants};
use suites::harness::invocation::checkout;

use crate::Exit;
use crate::exec::exec_package;
use crate::out::eprintln;

/// Package of the program with the mutants.
const PACKAGE: &str = "mutants";

/// Whether this program has mutants, or can start the program that does.
pub(crate) fn can_be_available() -> bool {
    has_mutants() || checkout().is_some()
}

/// Removes the mutants where there is no checkout to compile them from, and prints their number.
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

/// Makes sure that these defects are available: if one is a mutant, starts the program with the mutants instead. Returns only if nothing is
/// missing, or with the exit code of a failure.
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
