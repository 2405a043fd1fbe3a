//! Joins the records of shards into one, and knows which are missing.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::record::{LoadError, Report, ShardsRecord};

/// Records can't be joined.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file is not a record.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A record is of no shard.
    #[error(
        "{path}: this is the report of a whole run, not of a shard; join reports of runs with --shard, and use \
         `report render` for a single report"
    )]
    Whole {
        /// The file.
        path: PathBuf,
    },
    /// The records are of different things.
    #[error("{path}: {what} is {got}, in {first} it is {want}; join only shards of one run")]
    Different {
        /// The file.
        path: PathBuf,
        /// The file that was read first.
        first: PathBuf,
        /// What differs.
        what: &'static str,
        /// Here.
        got: String,
        /// In the first record.
        want: String,
    },
    /// The runs had different cases.
    #[error(
        "{path}: its run selected other cases than that of {first}, or other versions of them; join only shards of one run"
    )]
    Selection {
        /// The file.
        path: PathBuf,
        /// The file that was read first.
        first: PathBuf,
    },
    /// The runs began too far apart to be one, and have no id that says otherwise.
    #[error(
        "{path}: its run began at {got}, that of {first} at {want}; join only shards of one run, and give those of a run \
         that takes longer than a day the same --run-id"
    )]
    Apart {
        /// The file.
        path: PathBuf,
        /// The file that was read first.
        first: PathBuf,
        /// When the run began, here.
        got: String,
        /// In the first record.
        want: String,
    },
    /// A shard is in two records.
    #[error("{path}: shard {part}/{of} is in {first} already; name each shard once")]
    Twice {
        /// The file.
        path: PathBuf,
        /// The file that has it.
        first: PathBuf,
        /// The shard.
        part: usize,
        /// How many there are.
        of: usize,
    },
    /// There is none.
    #[error("there is no record to join; name the report.json of each shard")]
    Nothing,
}

/// Joins records of shards into one. Where shards are missing, the record says which, and can be joined with them later.
pub fn merge(paths: &[PathBuf]) -> Result<Report, MergeError> {
    let (first, rest) = paths.split_first().ok_or(MergeError::Nothing)?;
    let (mut all, mut shards) = shard(first)?;
    // Which file brought which part.
    let mut origins: Vec<(usize, &PathBuf)> = shards.parts.iter().map(|part| (*part, first)).collect();
    for path in rest {
        let (report, here) = shard(path)?;
        is_of_one_run(path, (&report, &here), first, (&all, &shards))?;
        for part in here.parts {
            if let Some((_, origin)) = origins.iter().find(|(known, _)| *known == part) {
                return Err(MergeError::Twice {
                    path: path.clone(),
                    first: (*origin).clone(),
                    part,
                    of: shards.of,
                });
            }
            origins.push((part, path));
        }
        add(&mut all, report);
    }
    shards.parts = origins.iter().map(|(part, _)| *part).collect();
    shards.parts.sort_unstable();
    shards.is_joined = true;
    let is_whole = shards.missing().next().is_none();
    all.shards = (!is_whole).then_some(shards);
    all.settle();
    Ok(all)
}

/// A record and the shards that it is of.
fn shard(path: &Path) -> Result<(Report, ShardsRecord), MergeError> {
    let mut report = Report::load(path)?;
    match report.shards.take() {
        Some(shards) => Ok((report, shards)),
        None => Err(MergeError::Whole {
            path: path.to_owned(),
        }),
    }
}

fn is_of_one_run(
    path: &Path,
    (report, shards): (&Report, &ShardsRecord),
    first: &Path,
    (all, known): (&Report, &ShardsRecord),
) -> Result<(), MergeError> {
    let same = |what, got: &dyn Debug, want: &dyn Debug| {
        let (got, want) = (format!("{got:?}"), format!("{want:?}"));
        match got == want {
            true => Ok(()),
            false => Err(MergeError::Different {
                path: path.to_owned(),
                first: first.to_owned(),
                what,
                got,
                want,
            }),
        }
    };
    same("the version of the harness", &report.harness, &all.harness)?;
    same("the system", &report.system, &all.system)?;
    same("a setting", &report.settings, &all.settings)?;
    same("the number of shards", &shards.of, &known.of)?;
    same("the id of the run", &shards.run, &known.run)?;
    if shards.run.is_none() && !is_within_a_day(&report.started, &all.started) {
        return Err(MergeError::Apart {
            path: path.to_owned(),
            first: first.to_owned(),
            got: report.started.clone(),
            want: all.started.clone(),
        });
    }
    match shards.selection == known.selection {
        true => Ok(()),
        false => Err(MergeError::Selection {
            path: path.to_owned(),
            first: first.to_owned(),
        }),
    }
}

/// Whether two moments (RFC 3339) are less than a day apart. A record that does not say when it began can't be told from another.
fn is_within_a_day(one: &str, other: &str) -> bool {
    match (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
        (Ok(one), Ok(other)) => one.duration_since(other).abs() < SignedDuration::from_hours(24),
        _ => one == other,
    }
}

fn add(all: &mut Report, report: Report) {
    all.cases.extend(report.cases);
    for finding in report.findings {
        all.add_finding(finding);
    }
    all.unfinished.extend(report.unfinished);
    all.seconds = all.seconds.max(report.seconds);
    if report.started < all.started {
        all.started = report.started;
    }
    for reason in report.limits {
        if !all.limits.contains(&reason) {
            all.limits.push(reason);
        }
    }
}
