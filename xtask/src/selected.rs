//! The cases that the arguments of a command select.

use suites::harness::invocation::program;
use suites::harness::plan::Plan;
use suites::harness::scenario::ScenarioError;
use suites::{SelectError, plan, plans_named};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::eprintln;

/// The selected cases. Prints its own errors.
pub(crate) fn selected(args: &SelectArgs) -> Result<Vec<Plan>, Exit> {
    try_select(args)?.map_err(|error| print_select_error(args, &error))
}

/// The selected cases. The list is empty if no case verifies the requirement, which is no error here: the requirement may have other
/// evidence.
pub(crate) fn selected_or_none(args: &SelectArgs) -> Result<Vec<Plan>, Exit> {
    match try_select(args)? {
        Err(SelectError::WithoutCase(_)) => Ok(Vec::new()),
        selected => selected.map_err(|error| print_select_error(args, &error)),
    }
}

fn try_select(args: &SelectArgs) -> Result<Result<Vec<Plan>, SelectError>, Exit> {
    let found = candidates(args).map_err(|error| Exit::Usage.with_error(error))?;
    if let Some(folder) = args.empty_folder(&found) {
        eprintln!("error: there is no case file (*.yaml) below {}", folder.display());
        return Err(Exit::NoCases);
    }
    Ok(args.selection().apply(found))
}

fn print_select_error(args: &SelectArgs, error: &SelectError) -> Exit {
    let list = args.with_folder_option(["list".to_owned()]).join(" ");
    let with_list = format!("{error}; `{} {list}` shows all cases", program());
    match error {
        SelectError::Unknown { .. } => Exit::Usage.with_error(with_list),
        SelectError::NoCases => Exit::NoCases.with_error(with_list),
        SelectError::Requirement(_) => Exit::Usage.with_error(error),
        SelectError::WithoutCase(_) => Exit::NoCases.with_error(error),
    }
}

/// The cases in the files to which the given case ids refer. If an id matches no case, returns all cases, to suggest similar ids and to
/// report invalid files.
fn candidates(args: &SelectArgs) -> Result<Vec<Plan>, ScenarioError> {
    let selection = args.selection();
    let names: Vec<&str> = selection.ids.iter().map(String::as_str).collect();
    let found = cases_with_named_rows(args, &names, &names)?;
    match selection.first_unknown_name(&found) {
        None => Ok(found),
        Some(_) => cases_with_named_rows(args, &names, &[]),
    }
}

/// The cases in these files (all files if empty), and the cases in `named` that the selected 2-way or 3-way coverage omits.
fn cases_with_named_rows(
    args: &SelectArgs,
    named: &[&str],
    files: &[&str],
) -> Result<Vec<Plan>, ScenarioError> {
    let mut found = plans_named(&args.files(), args.strength, files)?;
    for id in named {
        if !found.iter().any(|known| known.id() == *id) {
            found.extend(plan(&args.files(), id)?);
        }
    }
    Ok(found)
}
