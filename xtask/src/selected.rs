//! The cases that the arguments of a command mean.

use suites::harness::plan::Plan;
use suites::harness::scenario::ScenarioError;
use suites::{SelectError, plan, plans_at};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::eprintln;

/// The cases that are meant; the error is reported already.
pub(crate) fn selected(args: &SelectArgs) -> Result<Vec<Plan>, Exit> {
    let all = all(args).map_err(|error| {
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

/// All cases, and those that are named and are rows of axes which no case needs to cover them.
fn all(args: &SelectArgs) -> Result<Vec<Plan>, ScenarioError> {
    let mut all = plans_at(&args.folder, args.strength)?;
    for id in args.ids() {
        if !all.iter().any(|known| known.id() == id) {
            all.extend(plan(&args.folder, id)?);
        }
    }
    Ok(all)
}
