//! The cases that the arguments of a command select.

use suites::harness::plan::Plan;
use suites::harness::scenario::ScenarioError;
use suites::{SelectError, plan, plans_named};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::eprintln;

/// The selected cases. Prints its own errors.
pub(crate) fn selected(args: &SelectArgs) -> Result<Vec<Plan>, Exit> {
    attempt(args)?.map_err(|error| refused(&error))
}

/// The selected cases. The list is empty if no case verifies the requirement, which is no error here: the requirement may have other
/// evidence.
pub(crate) fn selected_or_none(args: &SelectArgs) -> Result<Vec<Plan>, Exit> {
    match attempt(args)? {
        Err(SelectError::WithoutCase(_)) => Ok(Vec::new()),
        selected => selected.map_err(|error| refused(&error)),
    }
}

fn attempt(args: &SelectArgs) -> Result<Result<Vec<Plan>, SelectError>, Exit> {
    let found = candidates(args).map_err(|error| {
        eprintln!("error: {error}");
        Exit::Usage
    })?;
    if let Some(folder) = args.empty_folder(&found) {
        eprintln!("error: there is no case file (*.yaml) below {}", folder.display());
        return Err(Exit::NoCases);
    }
    Ok(args.selection().apply(found))
}

fn refused(error: &SelectError) -> Exit {
    eprintln!("error: {error}");
    match error {
        SelectError::Unknown { .. } | SelectError::Requirement(_) => Exit::Usage,
        SelectError::WithoutCase(_) | SelectError::NoCases => Exit::NoCases,
    }
}

/// The cases from which the given names select. If a name matches none, these are all cases, to suggest similar names and to report invalid
/// files.
fn candidates(args: &SelectArgs) -> Result<Vec<Plan>, ScenarioError> {
    let selection = args.selection();
    let names: Vec<&str> = selection.ids.iter().map(String::as_str).collect();
    let found = with_rows(args, &names, &names)?;
    match selection.unknown(&found) {
        None => Ok(found),
        Some(_) => with_rows(args, &names, &[]),
    }
}

/// The cases in these files, and the named cases. A named row of axes may be missing in the coverage of the selected strength.
fn with_rows(args: &SelectArgs, named: &[&str], files: &[&str]) -> Result<Vec<Plan>, ScenarioError> {
    let mut found = plans_named(&args.files(), args.strength, files)?;
    for id in named {
        if !found.iter().any(|known| known.id() == *id) {
            found.extend(plan(&args.files(), id)?);
        }
    }
    Ok(found)
}
