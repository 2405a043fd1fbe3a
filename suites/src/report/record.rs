//! The report of a run as data. Does not know output formats.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::RunOptions;
use harness::scenario::Level;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::verdict::{self, CaseVerdict};
use crate::failure_text::FailureText;
use crate::session::{CaseOutcome, CaseResult, Cause};

/// Version of the report format. Increased when programs that read the old format would misinterpret the new one.
pub const FORMAT: u32 = 1;

/// File name of the report.
pub const RECORD: &str = "report.json";

/// `api_server` of a run with the built-in API server.
pub const IN_MEMORY: &str = "in memory";

/// A file could not be read as a report.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}; name the {wanted} of a run")]
pub struct LoadError {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
    /// The expected file name.
    pub(crate) wanted: &'static str,
}

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Version of this format.
    pub format: u32,
    /// Version of the harness.
    pub harness: String,
    /// The system under test.
    pub system: SystemRecord,
    /// Start of the run, in UTC (RFC 3339).
    pub started: String,
    /// Duration from the first case to the last verdict, in seconds.
    pub seconds: f64,
    /// The command line, without the selection of cases.
    pub command: Vec<String>,
    /// Settings of the run.
    pub settings: SettingsRecord,
    /// Reasons why the result does not cover everything that the system claims; empty if the result does. Set by [`Report::finalize`].
    pub partial: Vec<String>,
    /// The reasons in `partial` that result from how the run was started or ended: selection, patience, interruption.
    #[serde(default)]
    pub limits: Vec<String>,
    /// The shards in this report; `None` if the run was not sharded, or if all of its shards are merged.
    pub shards: Option<ShardsRecord>,
    /// Ids of selected cases that have no verdict, because the run ended early.
    pub unfinished: Vec<String>,
    /// Number of all cases, if all cases were selected; 0 if only some cases were.
    #[serde(default)]
    pub catalogue: usize,
    /// The known failures of the manifest that apply to the tested version.
    #[serde(default)]
    pub known_failures: Vec<KnownRecord>,
    /// Violations of rules that the harness checks in every case, whatever the case tests.
    #[serde(default)]
    pub findings: Vec<FindingRecord>,
    /// Number of cases by verdict; verdicts without cases are omitted.
    #[schemars(schema_with = "verdict::counts_schema")]
    pub counts: BTreeMap<CaseVerdict, usize>,
    /// All cases, in order of their ids.
    pub cases: Vec<CaseRecord>,
}

/// The system under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemRecord {
    /// Name of the system.
    pub name: String,
    /// Version of the system, if known.
    pub version: String,
    /// Roles of the system. The reference implementations play the other roles.
    pub roles: Vec<String>,
    /// Features that the system claims.
    pub features: Vec<String>,
}

/// Shards of a run that several machines share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShardsRecord {
    /// Number of shards of the run.
    pub of: usize,
    /// Numbers of the shards in this report, from 1, ascending.
    pub parts: Vec<usize>,
    /// SHA-256 of the ids and texts of all cases of the run, which is equal in all shards.
    pub selection: String,
    /// Id of the run, if given (`--run-id`).
    #[serde(default)]
    pub run: Option<String>,
    /// Whether the report results from a merge of several shards.
    #[serde(default)]
    pub is_joined: bool,
}

impl ShardsRecord {
    /// Numbers of the shards that the report does not contain.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        (1..=self.of).filter(|part| !self.parts.contains(part))
    }

    /// Why the report is partial: the number of its only shard, or the shards that are missing after a merge.
    pub fn partial_reasons(&self) -> Vec<String> {
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

/// A violation of a rule that the harness checks in every case, whatever the case tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingRecord {
    /// Id of the violated rule.
    pub rule: String,
    /// Role of the system that violated the rule.
    pub role: String,
    /// How the rule is violated.
    pub text: String,
    /// Number of occurrences over all cases.
    pub count: u64,
    /// Number of cases in which the violation occurred.
    pub cases: usize,
    /// Id of the first case in which the violation occurred.
    pub first: String,
    /// Time of the first violation in that case, in seconds since its start.
    pub seconds: f64,
    /// The manifest entry that excuses the finding, as file:line:column.
    pub known: Option<String>,
}

/// A known failure in the manifest that applies to the tested version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownRecord {
    /// Position of the manifest entry, as file:line:column.
    pub place: String,
    /// The case id, or prefix of case ids, in the manifest entry.
    pub case: String,
    /// The pattern that excused failures match.
    pub fails: String,
    /// Whether the failure depends on timing and does not occur in every run.
    pub sometimes: bool,
}

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsRecord {
    /// The publisher's poll interval, in milliseconds.
    pub refresh_milliseconds: u64,
    /// Factor for all timeouts.
    pub patience: f64,
    /// Maximum number of attempts of a failing case.
    pub attempts: u32,
    /// The API server: `in memory`, or the version of a real API server.
    pub api_server: String,
}

impl SettingsRecord {
    /// The settings of a run, from its options.
    pub fn new(options: &RunOptions, attempts: u32, api_server: String) -> Self {
        SettingsRecord {
            refresh_milliseconds: u64::try_from(options.refresh.as_millis()).unwrap_or(u64::MAX),
            patience: options.patience,
            attempts,
            api_server,
        }
    }
}

/// A case and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseRecord {
    /// Id of the case.
    pub id: String,
    /// The behaviour that the case verifies.
    pub title: String,
    /// Level of the case: core, extended or provisional.
    #[schemars(schema_with = "levels")]
    pub level: Level,
    /// Ids of the requirements that the case verifies.
    pub requirements: Vec<String>,
    /// Features that a system needs to run the case.
    pub features: Vec<String>,
    /// Path of the case file.
    pub file: String,
    /// Line of the failed expectation in the case file; 1 if no expectation failed.
    pub line: u64,
    /// Verdict of the case.
    #[schemars(schema_with = "verdict::schema")]
    pub verdict: CaseVerdict,
    /// The failure, the reason for a skip, or why a pass was not expected, in one line. Empty for an expected pass.
    pub reason: String,
    /// Duration from the start of the first server to the verdict, in seconds.
    pub seconds: f64,
    /// Number of repetitions without other concurrent cases, because the result was inconclusive.
    #[serde(default)]
    pub repeated: u32,
    /// What decided a failure: a forbidden fact that occurred, an expected fact that did not, or an exited process.
    pub cause: Option<Cause>,
    /// Text of the failure, to which the pattern of a known failure is compared.
    #[serde(default, rename = "said")]
    pub failure_text: Option<FailureText>,
    /// The known-failure entry that excuses the failure, as file:line:column.
    #[serde(default)]
    pub known: Option<String>,
    /// The full explanation of a failure.
    pub explanation: Option<String>,
    /// Folder of the stored run, with its journal and scenario. In a file: relative to the folder of the file.
    pub folder: Option<PathBuf>,
    /// Health indicators of the cluster at the end of a stored run.
    #[serde(default)]
    pub health: Vec<IndicatorRecord>,
}

/// A health indicator of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndicatorRecord {
    /// The question about the cluster that the indicator answers.
    pub question: String,
    /// The object or component that the indicator describes.
    pub subject: String,
    /// State of the object or component.
    pub state: IndicatorState,
    /// The observation and the consequence of the state.
    #[serde(rename = "told")]
    pub message: String,
}

/// State of a health indicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IndicatorState {
    /// The object or component is healthy.
    Good,
    /// Pods are pending because of this state.
    Bad,
    /// Pods will be pending because of this state.
    Risk,
    /// The object should be cleaned up, but blocks no pod.
    Untidy,
    /// No data about the object or component is available.
    Unknown,
}

impl CaseRecord {
    /// The area of the case: the first two segments of its id.
    pub fn area(&self) -> String {
        self.id.split('/').take(2).collect::<Vec<_>>().join("/")
    }

    /// Whether the case needs attention: not passed, and neither skipped nor known to fail.
    pub fn needs_attention(&self) -> bool {
        !matches!(
            self.verdict,
            CaseVerdict::Pass | CaseVerdict::Skip | CaseVerdict::KnownFailure
        )
    }

    /// Whether the case counts against the system.
    pub fn counts_as_failure(&self) -> bool {
        self.level != Level::Provisional && self.verdict.is_failure()
    }

    /// The record of a case that has ended.
    pub fn new(result: &CaseResult) -> Self {
        let (plan, ended) = (&result.plan, &result.outcome);
        let explained = ended.explained();
        let summary = || explained.map(|it| it.failure_text.one_line()).unwrap_or_default();
        let reason = match ended {
            CaseOutcome::Passed => String::new(),
            CaseOutcome::UnexpectedPass(known) => {
                format!(
                    "passes, though it is known to fail: {} ({})",
                    known.why, known.issue
                )
            }
            CaseOutcome::KnownFailure(known, _) => format!(
                "{} ({}, excused until {}): {}",
                known.why,
                known.issue,
                known.until,
                summary()
            ),
            CaseOutcome::Flaky(attempt, _) => format!("passed in attempt {attempt}; before: {}", summary()),
            CaseOutcome::Failed(_) | CaseOutcome::Inconclusive(_) => summary(),
            CaseOutcome::Skipped(why) => why.clone(),
            CaseOutcome::NotRun(error) => error.to_string(),
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
            seconds: rounded_seconds(result.elapsed),
            repeated: result.repeated,
            cause: explained.map(|it| it.cause),
            failure_text: explained.map(|it| it.failure_text.clone()),
            known: match ended {
                CaseOutcome::KnownFailure(known, _) => Some(known.position.clone()),
                _ => None,
            },
            explanation: explained.map(|it| anstream::adapter::strip_str(&it.text).to_string()),
            folder: result.folder.clone(),
            health: Vec::new(),
        }
    }
}

/// A duration in seconds, rounded to microseconds, because longer fractions do not survive a JSON round trip.
pub fn rounded_seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

/// The current time in UTC (RFC 3339).
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Report {
    /// An empty report of a run that starts now, without cases.
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

    /// Sorts and counts the cases, and sets the reasons for a partial result.
    pub fn finalize(&mut self) {
        self.cases.sort_by(|a, b| a.id.cmp(&b.id));
        self.counts = BTreeMap::new();
        for case in &self.cases {
            *self.counts.entry(case.verdict).or_default() += 1;
        }
        self.partial = self.partial_reasons();
    }

    /// Why the result is partial: the limits of the run, then missing shards, then claims that no case has verified.
    fn partial_reasons(&self) -> Vec<String> {
        let shards = self.shards.iter().flat_map(ShardsRecord::partial_reasons);
        let executed: BTreeSet<&str> = self
            .cases
            .iter()
            .filter(|case| case.verdict != CaseVerdict::Skip)
            .flat_map(|case| case.features.iter().map(String::as_str))
            .collect();
        let unseen = self.system.features.iter();
        let unseen = unseen.filter(|name| !executed.contains(name.as_str()));
        let unseen = unseen.map(|name| format!("{name} is claimed, but no case that needs it was run"));
        self.limits.iter().cloned().chain(shards).chain(unseen).collect()
    }

    /// Number of cases with this verdict.
    pub fn count(&self, verdict: CaseVerdict) -> usize {
        self.counts.get(&verdict).copied().unwrap_or_default()
    }

    /// The cases that count against the system.
    pub fn counted_failures(&self) -> impl Iterator<Item = &CaseRecord> {
        self.cases.iter().filter(|case| case.counts_as_failure())
    }

    /// Number of passed cases and number of executed cases, by area.
    pub fn areas(&self) -> BTreeMap<String, (usize, usize)> {
        let mut areas: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| case.verdict != CaseVerdict::Skip) {
            let (passed, all) = areas.entry(case.area()).or_default();
            *passed += usize::from(case.verdict == CaseVerdict::Pass);
            *all += 1;
        }
        areas
    }

    /// The counts as text, such as `3 passed, 1 failed`. Passed and failed are always included, other verdicts if their count is not zero.
    pub fn counts_in_words(&self) -> String {
        let counts = CaseVerdict::ALL.into_iter().filter_map(|verdict| {
            let count = self.count(verdict);
            let is_usual = matches!(verdict, CaseVerdict::Pass | CaseVerdict::Fail);
            (count > 0 || is_usual).then(|| format!("{count} {}", verdict.words()))
        });
        counts.collect::<Vec<_>>().join(", ")
    }

    /// Number of cases by area and verdict.
    pub fn verdicts_by_area(&self) -> BTreeMap<String, BTreeMap<CaseVerdict, usize>> {
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

    /// Reads a stored report.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |why: String| LoadError {
            path: path.to_owned(),
            why,
            wanted: RECORD,
        };
        let text = harness::read_text_file(path).map_err(|error| unreadable(error.to_string()))?;
        let mut report: Report =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if report.format != FORMAT {
            return Err(unreadable(format!(
                "the file has format version {}, but this program reads version {FORMAT}",
                report.format
            )));
        }
        // Paths in the file are relative to the folder of the file. Convert them to paths relative to the current directory.
        let home = path.parent().unwrap_or(Path::new(""));
        for case in &mut report.cases {
            case.folder = case.folder.take().map(|folder| home.join(folder));
        }
        Ok(report)
    }

    /// The report as JSON, with a final newline.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn levels(_: &mut SchemaGenerator) -> Schema {
    let levels = [Level::Core, Level::Extended, Level::Provisional];
    let words: Vec<_> = levels.iter().map(|level| serde_json::json!(level)).collect();
    json_schema!({"type": "string", "enum": words})
}
