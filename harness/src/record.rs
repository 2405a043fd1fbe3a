//! The folder of a stored run, which contains the resolved scenario and the journal. From these files, the verdict can be computed again on
//! any host.

use std::path::{Path, PathBuf};

use crate::client_name::file_stem;
use crate::journal::{self, Fact, Journal};
use crate::plan::{Plan, resolve};
use crate::scenario::{self, ScenarioError};
use crate::text::read_text_file;

/// File name of the run's scenario in the run folder. The content is an ordinary case file.
pub const SCENARIO: &str = "scenario.yaml";
const JOURNAL: &str = "journal.jsonl";

/// Why a stored run cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file of the stored run is missing or unreadable.
    #[error("{path}: {source}; name a folder that contains {SCENARIO} and {JOURNAL}")]
    Io {
        /// Path of the missing or unreadable file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The stored scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Writes the run folder of a case below `root` and returns its path. `logs`: output of child processes by client name.
pub fn save(
    root: &Path,
    plan: &Plan,
    journal: &Journal,
    logs: &[(String, Vec<u8>)],
) -> std::io::Result<PathBuf> {
    let folder = root.join(plan.id().replace('/', "."));
    // The folder may contain files of an earlier run, which are removed first.
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => std::fs::create_dir_all(&folder)?,
    }
    std::fs::write(folder.join(SCENARIO), &plan.text)?;
    journal.save(&folder.join(JOURNAL))?;
    for (client, log) in logs {
        std::fs::write(folder.join(format!("{}.log", file_stem(client))), log)?;
    }
    Ok(folder)
}

/// Output of the child processes of a stored run, by client name.
pub fn read_logs(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut logs: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let client = name.strip_suffix(".log")?.to_owned();
            Some((client, std::fs::read(entry.path()).ok()?))
        })
        .collect();
    logs.sort();
    logs
}

/// Whether the folder contains a stored run.
pub fn is_run(folder: &Path) -> bool {
    folder.join(SCENARIO).is_file() && folder.join(JOURNAL).is_file()
}

/// Reads the plan and the facts of a stored run.
pub fn load(folder: &Path) -> Result<(Plan, Vec<Fact>), RecordError> {
    let io = |name: &str| {
        let path = folder.join(name);
        move |source| RecordError::Io {
            path: path.clone(),
            source,
        }
    };
    let path = folder.join(SCENARIO);
    let text = read_text_file(&path).map_err(io(SCENARIO))?;
    let case = scenario::parse_one(&path.display().to_string(), &text)?;
    let facts = journal::load(&folder.join(JOURNAL)).map_err(io(JOURNAL))?;
    Ok((resolve(&case)?, facts))
}
