//! Mutants of the references: programs with a bug in their logic, which no released program contains.
//!
//! A second program has this command line and the mutants. A command that needs one is executed by that program.

use references::{Defect, has_mutants};
use suites::harness::invocation::checkout;

use crate::Exit;
use crate::elsewhere::go_on_as;
use crate::out::eprintln;

/// Package of the program with the mutants.
const PACKAGE: &str = "mutants";

/// Whether this program has mutants, or can start the program that does.
pub(crate) fn can_be_at_hand() -> bool {
    has_mutants() || checkout().is_some()
}

/// Removes the mutants where there is no checkout to compile them from, and prints their number.
pub(crate) fn leave_out_what_is_not_at_hand(defects: &mut Vec<Defect>) {
    if can_be_at_hand() {
        return;
    }
    let all = defects.len();
    defects.retain(|defect| defect.mutant().is_none());
    eprintln!(
        "{} of {all} defects are left out: they are mistakes in the source code of the references, which `cargo xtask` builds in a \
         checkout of csi-capacity-harness",
        all - defects.len()
    );
}

/// Makes sure that these defects are available: if one is a mutant, starts the program with the mutants instead. Returns only if nothing is
/// missing, or with the exit code of a failure.
pub(crate) fn at_hand(defects: impl IntoIterator<Item = Defect>) -> Result<(), Exit> {
    let mut mutants = defects.into_iter().filter_map(Defect::mutant);
    let Some(name) = mutants.next().filter(|_| !has_mutants()) else {
        return Ok(());
    };
    if checkout().is_none() {
        eprintln!(
            "error: {name} is a mistake in the source code of a reference, which cargo builds in a checkout of \
             csi-capacity-harness; run `cargo xtask` there, or choose another defect"
        );
        return Err(Exit::Environment);
    }
    Err(go_on_as(PACKAGE, name))
}
