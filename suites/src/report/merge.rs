//! Joins the records of shards into one, and knows which are missing.

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

/// What a shard of a run has written, and can be joined with what the others have.
pub(crate) trait Joined: Sized {
    /// Reads the file of a shard.
    fn load(path: &Path) -> Result<Self, LoadError>;

    /// Which shards are in here.
    fn shards(&mut self) -> &mut Option<ShardsRecord>;

    /// When the run began (RFC 3339).
    fn started(&self) -> &str;

    /// What shards of one run have in common, by what it is.
    fn common(&self) -> Vec<(&'static str, String)>;

    /// Takes in what another shard has found.
    fn add(&mut self, other: Self);
}

/// Joins records of shards into one. Where shards are missing, the record says which, and can be joined with them later.
pub fn merge(paths: &[PathBuf]) -> Result<Report, MergeError> {
    let mut all: Report = join(paths)?;
    all.settle();
    Ok(all)
}

/// Joins what shards have written.
pub(crate) fn join<T: Joined>(paths: &[PathBuf]) -> Result<T, MergeError> {
    let (first, rest) = paths.split_first().ok_or(MergeError::Nothing)?;
    let (mut all, mut shards) = shard::<T>(first)?;
    // Which file brought which part.
    let mut origins: Vec<(usize, &PathBuf)> = shards.parts.iter().map(|part| (*part, first)).collect();
    for path in rest {
        let (record, here) = shard::<T>(path)?;
        is_of_one_run(path, (&record, &here), first, (&all, &shards))?;
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
        all.add(record);
    }
    shards.parts = origins.iter().map(|(part, _)| *part).collect();
    shards.parts.sort_unstable();
    shards.is_joined = true;
    let is_whole = shards.missing().next().is_none();
    *all.shards() = (!is_whole).then_some(shards);
    Ok(all)
}

/// A record and the shards that it is of.
fn shard<T: Joined>(path: &Path) -> Result<(T, ShardsRecord), MergeError> {
    let mut record = T::load(path)?;
    match record.shards().take() {
        Some(shards) => Ok((record, shards)),
        None => Err(MergeError::Whole {
            path: path.to_owned(),
        }),
    }
}

fn is_of_one_run<T: Joined>(
    path: &Path,
    (record, shards): (&T, &ShardsRecord),
    first: &Path,
    (all, known): (&T, &ShardsRecord),
) -> Result<(), MergeError> {
    let here = record.common().into_iter().chain(common_of(shards));
    let there = all.common().into_iter().chain(common_of(known));
    if let Some(((what, got), (_, want))) = here.zip(there).find(|(here, there)| here != there) {
        return Err(MergeError::Different {
            path: path.to_owned(),
            first: first.to_owned(),
            what,
            got,
            want,
        });
    }
    if shards.run.is_none() && !is_within_a_day(record.started(), all.started()) {
        return Err(MergeError::Apart {
            path: path.to_owned(),
            first: first.to_owned(),
            got: record.started().to_owned(),
            want: all.started().to_owned(),
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

fn common_of(shards: &ShardsRecord) -> [(&'static str, String); 2] {
    [
        ("the number of shards", format!("{:?}", shards.of)),
        ("the id of the run", format!("{:?}", shards.run)),
    ]
}

/// Whether two moments (RFC 3339) are less than a day apart. A record that does not say when it began can't be told from another.
fn is_within_a_day(one: &str, other: &str) -> bool {
    match (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
        (Ok(one), Ok(other)) => one.duration_since(other).abs() < SignedDuration::from_hours(24),
        _ => one == other,
    }
}

/// Parts run beside each other: the whole began with the first one, and took as long as the longest.
pub(crate) fn join_times((started, seconds): (&mut String, &mut f64), other: (String, f64)) {
    if other.0 < *started {
        *started = other.0;
    }
    *seconds = seconds.max(other.1);
}

impl Joined for Report {
    fn load(path: &Path) -> Result<Self, LoadError> {
        Report::load(path)
    }

    fn shards(&mut self) -> &mut Option<ShardsRecord> {
        &mut self.shards
    }

    fn started(&self) -> &str {
        &self.started
    }

    fn common(&self) -> Vec<(&'static str, String)> {
        vec![
            ("the version of the harness", format!("{:?}", self.harness)),
            ("the system", format!("{:?}", self.system)),
            ("a setting", format!("{:?}", self.settings)),
        ]
    }

    fn add(&mut self, other: Self) {
        self.cases.extend(other.cases);
        for finding in other.findings {
            self.add_finding(finding);
        }
        self.unfinished.extend(other.unfinished);
        join_times(
            (&mut self.started, &mut self.seconds),
            (other.started, other.seconds),
        );
        for reason in other.limits {
            if !self.limits.contains(&reason) {
                self.limits.push(reason);
            }
        }
    }
}
