//! The cases that the arguments of a command mean.

use suites::harness::plan::Plan;
use suites::harness::scenario::ScenarioError;
use suites::{SelectError, plan, plans_named};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::eprintln;

/// The cases that are meant; the error is reported already.
pub(crate) fn selected(args: &SelectArgs) -> Result<Vec<Plan>, Exit> {
    let found = candidates(args).map_err(|error| {
        eprintln!("error: {error}");
        Exit::Usage
    })?;
    args.selection().apply(found).map_err(|error| {
        eprintln!("error: {error}");
        match error {
            SelectError::Unknown { .. } | SelectError::Requirement(_) => Exit::Usage,
            SelectError::Nothing => Exit::Nothing,
        }
    })
}

/// The cases that may be meant, and those that are named and are rows of axes which no case needs to cover them; all, if a name means none:
/// what was meant may be among them, or in a file that cannot be read.
fn candidates(args: &SelectArgs) -> Result<Vec<Plan>, ScenarioError> {
    let selection = args.selection();
    let names: Vec<&str> = selection.ids.iter().map(String::as_str).collect();
    let mut found = plans_named(&args.folder, args.strength, &names)?;
    for id in names {
        if !found.iter().any(|known| known.id() == id) {
            found.extend(plan(&args.folder, id)?);
        }
    }
    match selection.unknown(&found) {
        None => Ok(found),
        Some(_) => plans_named(&args.folder, args.strength, &[]),
    }
}
