//! Merges the reports of shards, and detects missing shards.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::record::{LoadError, Report, ShardsRecord};

/// Why reports cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file is no report.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A report covers a whole run, not a shard.
    #[error(
        "{path}: this is the report of a whole run, not of a shard; merge only reports of runs with --shard, and use \
         `report render` for a single report"
    )]
    Whole {
        /// The report of the whole run.
        path: PathBuf,
    },
    /// The reports differ in a property of the run.
    #[error("{path}: {what} is {got}, but {want} in {first}; merge only shards of one run")]
    Different {
        /// The report with a property that differs from the first report.
        path: PathBuf,
        /// The report that was read first.
        first: PathBuf,
        /// Name of the differing property.
        what: &'static str,
        /// Value of the property in `path`.
        got: String,
        /// Value of the property in `first`.
        want: String,
    },
    /// The runs selected different cases.
    #[error(
        "{path}: its run selected different cases than the run of {first}, or different versions of these cases; merge only shards of one run"
    )]
    Selection {
        /// The report with a different selection of cases.
        path: PathBuf,
        /// The report that was read first.
        first: PathBuf,
    },
    /// The runs started too far apart, and have no common run id.
    #[error(
        "{path}: its run began at {got}, the run of {first} at {want}; merge only shards of one run, and give all shards of a run \
         that takes longer than a day the same --run-id"
    )]
    Apart {
        /// The report with a different start time.
        path: PathBuf,
        /// The report that was read first.
        first: PathBuf,
        /// Start time in `path`.
        got: String,
        /// Start time in `first`.
        want: String,
    },
    /// Two reports contain the same shard.
    #[error("{path}: shard {part}/{of} is in {first} already; name each shard once")]
    DuplicateShard {
        /// The second report that contains the shard.
        path: PathBuf,
        /// The first report that contains the shard.
        first: PathBuf,
        /// Number of the shard.
        part: usize,
        /// Number of shards.
        of: usize,
    },
    /// No reports were given.
    #[error("there is nothing to merge; name the result file of each shard")]
    NoReports,
}

/// The result of a shard, which can be merged with the results of other shards.
pub(crate) trait ShardedResult: Sized {
    /// Reads the file of a shard.
    fn load(path: &Path) -> Result<Self, LoadError>;

    /// The shards whose results this result contains.
    fn shards(&mut self) -> &mut Option<ShardsRecord>;

    /// Start time of the run (RFC 3339).
    fn started(&self) -> &str;

    /// Properties that all shards of a run have in common, as name and value.
    fn shared_properties(&self) -> Vec<(&'static str, String)>;

    /// Adds the results of another shard.
    fn add(&mut self, other: Self);
}

/// Merges reports of shards. The result contains the numbers of missing shards, which can be merged later.
pub fn merge(paths: &[PathBuf]) -> Result<Report, MergeError> {
    let mut all: Report = merge_shards(paths)?;
    all.finalize();
    Ok(all)
}

/// Merges the results of shards, and checks that they belong to one run.
pub(crate) fn merge_shards<T: ShardedResult>(paths: &[PathBuf]) -> Result<T, MergeError> {
    let (first, rest) = paths.split_first().ok_or(MergeError::NoReports)?;
    let (mut all, mut shards) = shard::<T>(first)?;
    // The file that each shard was read from.
    let mut origins: Vec<(usize, &PathBuf)> = shards.parts.iter().map(|part| (*part, first)).collect();
    for path in rest {
        let (record, here) = shard::<T>(path)?;
        check_same_run(path, (&record, &here), first, (&all, &shards))?;
        for part in here.parts {
            if let Some((_, origin)) = origins.iter().find(|(known, _)| *known == part) {
                return Err(MergeError::DuplicateShard {
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

/// Reads the result file of a shard, and returns the result and the shards that it contains.
fn shard<T: ShardedResult>(path: &Path) -> Result<(T, ShardsRecord), MergeError> {
    let mut record = T::load(path)?;
    match record.shards().take() {
        Some(shards) => Ok((record, shards)),
        None => Err(MergeError::Whole {
            path: path.to_owned(),
        }),
    }
}

fn check_same_run<T: ShardedResult>(
    path: &Path,
    (record, shards): (&T, &ShardsRecord),
    first: &Path,
    (all, known): (&T, &ShardsRecord),
) -> Result<(), MergeError> {
    let here = record.shared_properties().into_iter().chain(common_of(shards));
    let there = all.shared_properties().into_iter().chain(common_of(known));
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

/// Whether two times (RFC 3339) are less than a day apart. If a time cannot be parsed, whether the two texts are equal.
fn is_within_a_day(one: &str, other: &str) -> bool {
    match (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
        (Ok(one), Ok(other)) => one.duration_since(other).abs() < SignedDuration::from_hours(24),
        _ => one == other,
    }
}

/// Merges start time and duration of a shard into a result: the earliest start and the longest duration, because shards run concurrently.
pub(crate) fn merge_times((started, seconds): (&mut String, &mut f64), other: (String, f64)) {
    if other.0 < *started {
        *started = other.0;
    }
    *seconds = seconds.max(other.1);
}

impl ShardedResult for Report {
    fn load(path: &Path) -> Result<Self, LoadError> {
        Report::load(path)
    }

    fn shards(&mut self) -> &mut Option<ShardsRecord> {
        &mut self.shards
    }

    fn started(&self) -> &str {
        &self.started
    }

    fn shared_properties(&self) -> Vec<(&'static str, String)> {
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
        merge_times(
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
