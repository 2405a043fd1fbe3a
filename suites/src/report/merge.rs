//! Joins the records of shards into one.

use std::path::{Path, PathBuf};

use super::{FORMAT, Report};

/// Records can't be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file is not a record.
    #[error("{path}: {why}; name the report.json of a run")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is the matter.
        why: String,
    },
    /// The records are of different things.
    #[error("{path}: {what} is {got}, in the first record it is {want}; join only shards of one run")]
    Different {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// Here.
        got: String,
        /// In the first record.
        want: String,
    },
    /// A case is in two records.
    #[error("{path}: {case} was in a record before; join only shards that have no case in common")]
    Twice {
        /// The file.
        path: PathBuf,
        /// The case.
        case: String,
    },
    /// There is none.
    #[error("there is no record to join; name the report.json of each shard")]
    Nothing,
}

/// Reads a record.
pub(super) fn load(path: &Path) -> Result<Report, MergeError> {
    let unreadable = |why: String| MergeError::Unreadable {
        path: path.to_owned(),
        why,
    };
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let mut report: Report = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    if report.format != FORMAT {
        return Err(unreadable(format!(
            "its format is {}, this program reads {FORMAT}",
            report.format
        )));
    }
    // In the file they are as seen from there; whoever has the record looks from here.
    let home = path.parent().unwrap_or(Path::new(""));
    for case in &mut report.cases {
        case.folder = case.folder.take().map(|folder| home.join(folder));
    }
    Ok(report)
}

/// Joins records into one.
pub fn merge(paths: &[PathBuf]) -> Result<Report, MergeError> {
    let (first, rest) = paths.split_first().ok_or(MergeError::Nothing)?;
    let mut all = load(first)?;
    all.partial.retain(|reason| !reason.starts_with("shard "));
    for path in rest {
        let report = load(path)?;
        let different = |what, got: &dyn std::fmt::Debug, want: &dyn std::fmt::Debug| MergeError::Different {
            path: path.clone(),
            what,
            got: format!("{got:?}"),
            want: format!("{want:?}"),
        };
        if report.system != all.system {
            return Err(different("the system", &report.system, &all.system));
        }
        if report.settings != all.settings {
            return Err(different("a setting", &report.settings, &all.settings));
        }
        for case in report.cases {
            if all.cases.iter().any(|known| known.id == case.id) {
                let (path, case) = (path.clone(), case.id);
                return Err(MergeError::Twice { path, case });
            }
            all.cases.push(case);
        }
        all.seconds = all.seconds.max(report.seconds);
        all.started = all.started.min(report.started);
        for reason in report.partial {
            if !reason.starts_with("shard ") && !all.partial.contains(&reason) {
                all.partial.push(reason);
            }
        }
    }
    all.settle();
    Ok(all)
}
