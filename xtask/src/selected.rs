//! The cases that the arguments of a command mean.

use suites::harness::plan::Plan;
use suites::{SelectError, plans};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::eprintln;

/// The cases that are meant; the error is reported already.
pub(crate) fn selected(args: &SelectArgs) -> Result<Vec<Plan>, Exit> {
    let all = plans(&args.folder).map_err(|error| {
        eprintln!("error: {error}");
        Exit::Usage
    })?;
    args.selection().apply(all).map_err(|error| {
        eprintln!("error: {error}");
        match error {
            SelectError::Unknown { .. } | SelectError::Requirement(_) => Exit::Usage,
            SelectError::Nothing => Exit::Nothing,
        }
    })
}
