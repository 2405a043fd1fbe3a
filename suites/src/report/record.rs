//! What a run came to, as data. Knows no form in which it is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::RunOptions;
use harness::scenario::Level;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::verdict::{self, CaseVerdict};
use crate::said::Said;
use crate::session::{CaseResult, Cause, Ended};

/// Version of the record's format: it goes up when a reader of the old one would misread the new one.
pub const FORMAT: u32 = 1;

/// The record among the files of a report.
pub const RECORD: &str = "report.json";

/// What a record says of an API server that is the harness's own.
pub const IN_MEMORY: &str = "in memory";

/// A file is not a record.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}; name the {wanted} of a run")]
pub struct LoadError {
    /// The file.
    pub(crate) path: PathBuf,
    /// What is the matter.
    pub(crate) why: String,
    /// What files of that kind are called.
    pub(crate) wanted: &'static str,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Version of this format.
    pub format: u32,
    /// Version of the harness.
    pub harness: String,
    /// What was tested.
    pub system: SystemRecord,
    /// When the run began, in UTC (RFC 3339).
    pub started: String,
    /// From the first case to the last verdict, in seconds.
    pub seconds: f64,
    /// The command that made it, without the selection of cases.
    pub command: Vec<String>,
    /// Settings of the run.
    pub settings: SettingsRecord,
    /// Why the result does not speak for everything that the system claims; empty: it does. [`Report::settle`] makes it.
    pub partial: Vec<String>,
    /// Those of the reasons that follow from how the run was started and ended: what was selected, patience, an interruption.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Which parts of a run that several machines share are in here; none: all of the run.
    pub shards: Option<ShardsRecord>,
    /// Ids of the cases that were selected and have no verdict, because the run ended before them.
    pub unfinished: Vec<String>,
    /// Number of cases of a whole run; 0: only some were meant.
    #[serde(default)]
    pub catalogue: usize,
    /// The known failures that the manifest names for this version.
    #[serde(default)]
    pub known_failures: Vec<KnownRecord>,
    /// What the systems did wrong beside the point of the cases.
    #[serde(default)]
    pub findings: Vec<FindingRecord>,
    /// Number of cases by verdict; a verdict that no case has is left out.
    #[schemars(schema_with = "verdict::counts_schema")]
    pub counts: BTreeMap<CaseVerdict, usize>,
    /// All cases, in the order of their ids.
    pub cases: Vec<CaseRecord>,
}

/// What was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemRecord {
    /// Its name.
    pub name: String,
    /// Its version, where it is known.
    pub version: String,
    /// The roles that it plays; the others are built in.
    pub roles: Vec<String>,
    /// The features that it claims.
    pub features: Vec<String>,
}

/// Parts of a run that several machines share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardsRecord {
    /// How many parts the run has.
    pub of: usize,
    /// The numbers of the parts that are in here, from 1, in their order.
    pub parts: Vec<usize>,
    /// SHA-256 of the ids and texts of all cases of the run, whichever part they are in: parts of one run agree about it.
    pub selection: String,
    /// The id of the run that they are parts of, where it was given one (`--run-id`).
    #[serde(default)]
    pub run: Option<String>,
    /// Whether records of several parts were joined.
    #[serde(default)]
    pub is_joined: bool,
}

impl ShardsRecord {
    /// The parts that are not in here.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        (1..=self.of).filter(|part| !self.parts.contains(part))
    }

    /// Why that is not the whole run: a single part says which one it is, joined ones say what is missing.
    pub fn reasons(&self) -> Vec<String> {
        match self.parts.as_slice() {
            [part] if !self.is_joined => vec![format!("shard {part}/{}", self.of)],
            _ => {
                let of = self.of;
                self.missing()
                    .map(|part| format!("shard {part}/{of} is missing"))
                    .collect()
            }
        }
    }
}

/// One thing that a system did wrong beside the point of the cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingRecord {
    /// The rule that it broke.
    pub rule: String,
    /// The role of the system.
    pub role: String,
    /// What was wrong.
    pub text: String,
    /// How often, over all cases.
    pub count: u64,
    /// In how many cases.
    pub cases: usize,
    /// The first of these cases, by id.
    pub first: String,
    /// When it was first seen in that case, in seconds since the case began.
    pub seconds: f64,
    /// The entry of the manifest that excuses it, as file:line:column.
    pub known: Option<String>,
}

/// One entry of the manifest that speaks of the version that was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownRecord {
    /// Where it stands, as file:line:column.
    pub place: String,
    /// The case, or the beginning of ids.
    pub case: String,
    /// The words that it excuses.
    pub fails: String,
    /// Whether it says that it depends on chance.
    pub sometimes: bool,
}

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsRecord {
    /// The publisher's poll interval, in milliseconds.
    pub refresh_milliseconds: u64,
    /// Factor of every bound.
    pub patience: f64,
    /// How often a case that fails is run in all.
    pub attempts: u32,
    /// What the systems talked to: `in memory`, or the release of a real API server.
    pub api_server: String,
}

impl SettingsRecord {
    /// Of a run with these options.
    pub fn new(options: &RunOptions, attempts: u32, api_server: String) -> Self {
        SettingsRecord {
            refresh_milliseconds: u64::try_from(options.refresh.as_millis()).unwrap_or(u64::MAX),
            patience: options.patience,
            attempts,
            api_server,
        }
    }
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseRecord {
    /// Its id.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// core, extended or provisional.
    #[schemars(schema_with = "levels")]
    pub level: Level,
    /// What it requires, as ids of the catalogue.
    pub requirements: Vec<String>,
    /// The features that it needs.
    pub features: Vec<String>,
    /// The case file.
    pub file: String,
    /// The line that a failure is about; 1 where there is none.
    pub line: u64,
    /// How it ended.
    #[schemars(schema_with = "verdict::schema")]
    pub verdict: CaseVerdict,
    /// What went wrong, why it was skipped, or what is surprising, in one line; empty for a plain pass.
    pub reason: String,
    /// From the first server to the verdict, in seconds.
    pub seconds: f64,
    /// How often it was run again with the machine to itself, because nothing could be decided beside the others.
    #[serde(default)]
    pub repeated: u32,
    /// What kind of fact decided, where something went wrong: seen and must not be, not seen in time, or a process that ended.
    pub cause: Option<Cause>,
    /// What a failure says, in the words that an entry for a known failure names it by.
    #[serde(default)]
    pub said: Option<Said>,
    /// The entry for a known failure that excuses it, as file:line:column.
    #[serde(default)]
    pub known: Option<String>,
    /// The whole explanation, where something went wrong.
    pub explanation: Option<String>,
    /// Where the run is kept, with its journal and scenario. In a file: as seen from the folder of the file.
    pub folder: Option<PathBuf>,
    /// What an operator would have seen of the cluster at the end of a run that is kept.
    #[serde(default)]
    pub health: Vec<IndicatorRecord>,
}

/// One thing that an operator sees of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndicatorRecord {
    /// The question that it helps to answer.
    pub question: String,
    /// What it is about.
    pub subject: String,
    /// How it stands.
    pub state: IndicatorState,
    /// What was seen, and what follows from it.
    pub told: String,
}

/// How an indicator stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IndicatorState {
    /// As it should be.
    Good,
    /// Pods wait because of it.
    Bad,
    /// Pods will wait because of it.
    Risk,
    /// It should be tidied up, and keeps no pod waiting.
    Untidy,
    /// Nobody told.
    Unknown,
}

impl CaseRecord {
    /// What comes first in the id: the area that the case belongs to.
    pub fn area(&self) -> String {
        self.id.split('/').take(2).collect::<Vec<_>>().join("/")
    }

    /// Whether the case ended in a way that somebody should look at.
    pub fn is_open(&self) -> bool {
        !matches!(
            self.verdict,
            CaseVerdict::Pass | CaseVerdict::Skip | CaseVerdict::KnownFailure
        )
    }

    /// Whether the case counts against the system.
    pub fn is_bad(&self) -> bool {
        self.level != Level::Provisional && self.verdict.is_failure()
    }

    /// The record of a case that has ended.
    pub fn new(result: &CaseResult) -> Self {
        let (plan, ended) = (&result.plan, &result.ended);
        let explained = ended.explained();
        let summary = || explained.map(|it| it.said.one_line()).unwrap_or_default();
        let reason = match ended {
            Ended::Passed => String::new(),
            Ended::Surprising(known) => {
                format!(
                    "passes, though it is known to fail: {} ({})",
                    known.why, known.issue
                )
            }
            Ended::Known(known, _) => format!(
                "{} ({}, excused until {}): {}",
                known.why,
                known.issue,
                known.until,
                summary()
            ),
            Ended::Flaky(attempt, _) => format!("passed in attempt {attempt}; before: {}", summary()),
            Ended::Failed(_) | Ended::Inconclusive(_) => summary(),
            Ended::Skipped(why) => why.clone(),
            Ended::Broken(error) => error.to_string(),
        };
        CaseRecord {
            id: plan.id().to_owned(),
            title: plan.title.clone(),
            level: plan.level,
            requirements: plan.requirements.clone(),
            features: plan.features().into_iter().map(str::to_owned).collect(),
            file: plan.source.clone(),
            line: explained.map_or(1, |it| it.line),
            verdict: CaseVerdict::of(ended),
            reason,
            seconds: seconds(result.elapsed),
            repeated: result.repeated,
            cause: explained.map(|it| it.cause),
            said: explained.map(|it| it.said.clone()),
            known: match ended {
                Ended::Known(known, _) => Some(known.place.clone()),
                _ => None,
            },
            explanation: explained.map(|it| anstream::adapter::strip_str(&it.text).to_string()),
            folder: result.folder.clone(),
            health: Vec::new(),
        }
    }
}

/// A time in seconds, as records have it: to the microsecond, since longer fractions are not read back as they were written.
pub fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

/// Now in UTC, as records have it (RFC 3339).
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Report {
    /// Of a run that begins now, and has no case yet.
    pub fn new(system: SystemRecord, command: Vec<String>, settings: SettingsRecord) -> Self {
        Report {
            format: FORMAT,
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            system,
            started: now(),
            seconds: 0.0,
            command,
            settings,
            partial: Vec::new(),
            limits: Vec::new(),
            shards: None,
            unfinished: Vec::new(),
            catalogue: 0,
            known_failures: Vec::new(),
            findings: Vec::new(),
            counts: BTreeMap::new(),
            cases: Vec::new(),
        }
    }

    /// Puts cases in their order, counts them, and says why the result is partial.
    pub fn settle(&mut self) {
        self.cases.sort_by(|a, b| a.id.cmp(&b.id));
        self.counts = BTreeMap::new();
        for case in &self.cases {
            *self.counts.entry(case.verdict).or_default() += 1;
        }
        self.partial = self.reasons();
    }

    /// Why the result is partial: the limits of the run, then the shards, then claims that no case has looked at.
    fn reasons(&self) -> Vec<String> {
        let shards = self.shards.iter().flat_map(ShardsRecord::reasons);
        let executed: BTreeSet<&str> = self
            .cases
            .iter()
            .filter(|case| case.verdict != CaseVerdict::Skip)
            .flat_map(|case| case.features.iter().map(String::as_str))
            .collect();
        let unseen = self.system.features.iter();
        let unseen = unseen.filter(|name| !executed.contains(name.as_str()));
        let unseen = unseen.map(|name| format!("{name} is claimed, and no case of it was run"));
        self.limits.iter().cloned().chain(shards).chain(unseen).collect()
    }

    /// The number of cases with a verdict.
    pub fn count(&self, verdict: CaseVerdict) -> usize {
        self.counts.get(&verdict).copied().unwrap_or_default()
    }

    /// The cases that count against the system.
    pub fn bad(&self) -> impl Iterator<Item = &CaseRecord> {
        self.cases.iter().filter(|case| case.is_bad())
    }

    /// Passed and executed cases by area.
    pub fn areas(&self) -> BTreeMap<String, (usize, usize)> {
        let mut areas: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| case.verdict != CaseVerdict::Skip) {
            let (passed, all) = areas.entry(case.area()).or_default();
            *passed += usize::from(case.verdict == CaseVerdict::Pass);
            *all += 1;
        }
        areas
    }

    /// The counts in words, such as `3 passed, 1 failed`; passed and failed always, the others where there are any.
    pub fn counts_in_words(&self) -> String {
        let counts = CaseVerdict::ALL.into_iter().filter_map(|verdict| {
            let count = self.count(verdict);
            let is_usual = matches!(verdict, CaseVerdict::Pass | CaseVerdict::Fail);
            (count > 0 || is_usual).then(|| format!("{count} {}", verdict.words()))
        });
        counts.collect::<Vec<_>>().join(", ")
    }

    /// Numbers of cases by verdict, for each area.
    pub fn matrix(&self) -> BTreeMap<String, BTreeMap<CaseVerdict, usize>> {
        let mut matrix: BTreeMap<String, BTreeMap<CaseVerdict, usize>> = BTreeMap::new();
        for case in &self.cases {
            *matrix
                .entry(case.area())
                .or_default()
                .entry(case.verdict)
                .or_default() += 1;
        }
        matrix
    }

    /// Reads a stored record.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |why: String| LoadError {
            path: path.to_owned(),
            why,
            wanted: RECORD,
        };
        let text = harness::text_of(path).map_err(|error| unreadable(error.to_string()))?;
        let mut report: Report =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
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

    /// The record as JSON, with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The schema of a level.
fn levels(_: &mut SchemaGenerator) -> Schema {
    let levels = [Level::Core, Level::Extended, Level::Provisional];
    let words: Vec<_> = levels.iter().map(|level| serde_json::json!(level)).collect();
    json_schema!({"type": "string", "enum": words})
}
