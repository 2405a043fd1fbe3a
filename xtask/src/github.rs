//! GitHub Actions output: annotations and job summary. Does nothing elsewhere.

use crate::out::{eprintln, println};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use suites::report::{Report, github};

/// As long as this value exists, the GitHub Actions runner ignores workflow commands, which the output of systems under test could contain.
pub(crate) struct MutedCommands(Option<String>);

/// Disables workflow commands until the value is dropped.
pub(crate) fn mute_workflow_commands() -> MutedCommands {
    let token =
        is_github_actions().then(|| format!("end-of-{:016x}", RandomState::new().hash_one("commands")));
    if let Some(token) = &token {
        println!("{}", github::stop_commands(token));
    }
    MutedCommands(token)
}

impl Drop for MutedCommands {
    fn drop(&mut self) {
        if let Some(token) = &self.0 {
            println!("{}", github::resume_commands(token));
        }
    }
}

/// Prints a GitHub annotation for each case that did not pass.
pub(crate) fn annotate(report: &Report) {
    if is_github_actions() {
        for line in github::annotations(report) {
            println!("{line}");
        }
    }
}

/// Appends the report to the job summary of GitHub Actions.
pub(crate) fn summarize(report: &Report) {
    let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|_| is_github_actions()) else {
        return;
    };
    // The verdict does not depend on the summary, so the error is only printed.
    if let Err(error) = github::append_summary(report, Path::new(&file)) {
        eprintln!("the job summary of GitHub Actions cannot be written: {error}; check GITHUB_STEP_SUMMARY");
    }
}

fn is_github_actions() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}
