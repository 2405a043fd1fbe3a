//! Merges the shards of an exploration: one summary, one report, and one folder with the cases of the findings.

use std::io::Result;
use std::path::{Path, PathBuf};

use suites::explore::{Explored, FoundRecord};

use super::{ExplorationEnd, exit, show};
use crate::Exit;
use crate::out::eprintln;

/// Prints and writes the merged findings. `missing`: the reason that the result is incomplete.
pub(crate) fn print_merged(
    mut explored: Explored,
    (started, seconds): (String, f64),
    missing: Vec<String>,
    output: &Path,
) -> Exit {
    for found in &mut explored.findings {
        if let Err(error) = copy_finding(found, output) {
            eprintln!("error: {}: {error}", found.file.display());
            return Exit::Environment;
        }
    }
    show::summarize(&explored, seconds, false);
    let ended = ExplorationEnd {
        started,
        seconds,
        limits: missing,
    };
    match show::write_reports(&explored, &ended, output) {
        Ok(()) => exit(&explored, false),
        Err(error) => Exit::Environment.with_error(error),
    }
}

/// Copies the case and the run of a finding to the paths that they would have in the report of a single run.
fn copy_finding(found: &mut FoundRecord, output: &Path) -> Result<()> {
    found.file = copy(&found.file, output)?;
    if let Some(run) = &found.case.folder {
        let target = output.join("runs").join(run.file_name().unwrap_or_default());
        for entry in std::fs::read_dir(run)? {
            copy(&entry?.path(), &target)?;
        }
        found.case.folder = Some(target);
    }
    Ok(())
}

/// Copies a file into a folder, and creates the folder if needed.
fn copy(file: &Path, folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let target = folder.join(file.file_name().unwrap_or_default());
    std::fs::copy(file, &target)?;
    Ok(target)
}
