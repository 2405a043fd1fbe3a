//! Recorded runs of real programs: shortened journals, each with the verdict that the current code must reproduce.
//!
//! Owns the two files of a recording, the selection of facts to omit from a journal, and the evaluation of stored runs. Runs no program.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use harness::journal::{Fact, Observation, check_format};
use harness::judge::{Verdict, findings, verdict};
use harness::manifest::Manifest;
use harness::plan::{Plan, resolve};
use harness::{on_all_cores, read_text_file, scenario};
use serde::{Deserialize, Serialize};

use crate::failure_text::FailureText;
use crate::known::{FINDING, matching_entries};

/// Suffix of the journals file.
const JOURNALS: &str = "runs.gz";
/// Suffix of the verdicts file, which people read and diff.
const VERDICTS: &str = "yaml";

/// Prefix that marks, in a verdicts file, a finding that a manifest entry excuses.
const KNOWN: &str = "known ";

/// Version of the format of the two files. The contained journals have a separate version.
const FORMAT: u32 = 1;

/// The stored runs of one version of a program.
#[derive(Debug)]
pub struct Recording {
    /// Name of the program in the manifest.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// Runs, ordered by case. A case has several runs if their verdicts differ.
    pub runs: Vec<RecordedRun>,
}

/// A stored run of a case, with its verdict.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// Id of the case.
    pub case: String,
    /// Date of the run, such as 2026-11-27.
    pub date: String,
    /// Source of the case as it was run.
    pub scenario: String,
    /// The verdict when the run was recorded.
    pub recorded: RecordedVerdict,
    /// The verdict that the current code must reproduce. If it differs from the recorded verdict, `reason` is set.
    pub filed: RecordedVerdict,
    /// Why the current code must give a different verdict than when the run was recorded.
    pub reason: Option<String>,
    facts: Facts,
}

/// The facts of a run as text: microseconds since the previous fact, and the observation.
type Facts = Vec<(u64, Arc<str>)>;

/// A verdict with the cause of the failure, and findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedVerdict {
    /// The verdict in one word.
    pub verdict: VerdictKind,
    /// The first missing link of the causal chain; for a program that exited, the reason in its log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// Findings: `known RULE` for each rule with known findings, and `RULE: text` for each other finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// A verdict in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    /// The case passed.
    Pass,
    /// The case failed with a known failure of the manifest.
    Known,
    /// The case failed, and no manifest entry excuses the failure.
    Fail,
    /// Inconclusive: the host was too busy.
    Undecided,
}

/// What a recording changed when a run was added.
#[derive(Debug)]
pub enum AddResult {
    /// No run of the case was stored.
    New,
    /// The stored runs were of an earlier version of the case, and were removed.
    Replaced,
    /// A run with the same verdict is already stored, so the new run was not added.
    Same,
    /// Runs of the case with other verdicts are stored. Contains these verdicts; the new run was added.
    Differs(Vec<RecordedVerdict>),
}

/// A recording could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct RecordingError {
    path: PathBuf,
    why: String,
}

/// Content of the verdicts file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictFile {
    program: String,
    version: String,
    runs: Vec<FiledRun>,
}

#[derive(Serialize, Deserialize)]
struct FiledRun {
    case: String,
    #[serde(flatten)]
    filed: RecordedVerdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// First line of a run in the journals file. One line per fact follows: the microseconds since the previous fact, and the observation, or
/// the number of an earlier line with the same observation. An empty line ends the run.
#[derive(Serialize, Deserialize)]
struct RunHeader {
    format: u32,
    case: String,
    date: String,
    scenario: String,
    recorded: RecordedVerdict,
}

impl RecordedVerdict {
    /// Evaluates a journal with the known failures of a manifest, including expired entries.
    pub fn of(plan: &Plan, facts: &[Fact], manifest: &Manifest) -> Self {
        let verdict = verdict(plan, facts.iter().cloned());
        let failure_text = verdict.failure().map(FailureText::of);
        let is_known = |failure_text: &FailureText| {
            matching_entries(manifest, plan.id(), failure_text)
                .next()
                .is_some()
        };
        let word = match (&verdict, &failure_text) {
            (Verdict::Inconclusive(_), _) => VerdictKind::Undecided,
            (_, None) => VerdictKind::Pass,
            (_, Some(failure_text)) if is_known(failure_text) => VerdictKind::Known,
            (_, Some(_)) => VerdictKind::Fail,
        };
        // All known findings of a rule have the same text, so that the rule is listed once.
        let mut texts: BTreeMap<String, bool> = BTreeMap::new();
        for finding in findings(plan, facts) {
            let case = format!("{FINDING}/{}", finding.rule);
            let is_known = matching_entries(manifest, &case, &FailureText::of_finding(&finding))
                .next()
                .is_some();
            let text = match is_known {
                true => format!("{KNOWN}{}", finding.rule),
                false => format!("{}: {}", finding.rule, finding.text),
            };
            texts.insert(text, is_known);
        }
        RecordedVerdict {
            verdict: word,
            link: failure_text
                .map(|failure_text| failure_text.stable_pattern())
                .unwrap_or_default(),
            findings: texts.into_keys().collect(),
        }
    }

    /// Whether two verdicts are equal, apart from known findings, which may depend on timing.
    fn equals_except_known_findings(&self, other: &Self) -> bool {
        let open = |judged: &Self| -> Vec<String> {
            let findings = judged.findings.iter().filter(|it| !it.starts_with(KNOWN));
            findings.cloned().collect()
        };
        (self.verdict, &self.link, open(self)) == (other.verdict, &other.link, open(other))
    }
}

impl std::fmt::Display for RecordedVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self.verdict {
            VerdictKind::Pass => "pass",
            VerdictKind::Known => "known failure",
            VerdictKind::Fail => "fail",
            VerdictKind::Undecided => "undecided",
        };
        f.write_str(word)?;
        if !self.link.is_empty() {
            write!(f, ": {}", self.link)?;
        }
        match self.findings.as_slice() {
            [] => Ok(()),
            findings => write!(f, " [{}]", findings.join("; ")),
        }
    }
}

impl RecordedRun {
    /// A run in compact form: omits facts and replaces uids by numbers, as far as the verdict does not change.
    pub fn new(plan: &Plan, facts: &[Fact], manifest: &Manifest) -> Self {
        let recorded = RecordedVerdict::of(plan, facts, manifest);
        let run = |facts: Facts| RecordedRun {
            case: plan.id().to_owned(),
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            scenario: plan.text.clone(),
            recorded: recorded.clone(),
            filed: recorded.clone(),
            reason: None,
            facts,
        };
        // Omit the writes of the API server itself, which rarely affect a verdict, but make up most of the journal.
        let small = facts.iter().filter(|fact| match &fact.what {
            Observation::Commit(commit) => *commit.client != *"system:apiserver",
            _ => true,
        });
        let has_recorded_verdict =
            |run: &RecordedRun| run.judge(manifest).is_ok_and(|judged| judged == recorded);
        let smaller = [facts_as_text(small, true), facts_as_text(facts, true)].map(run);
        let right = smaller.into_iter().find(has_recorded_verdict);
        right.unwrap_or_else(|| run(facts_as_text(facts, false)))
    }

    /// The verdict of the current code on the stored run.
    pub fn judge(&self, manifest: &Manifest) -> Result<RecordedVerdict, String> {
        let case = scenario::parse_one(&self.case, &self.scenario).map_err(|error| error.to_string())?;
        let plan = resolve(&case).map_err(|error| error.to_string())?;
        Ok(RecordedVerdict::of(&plan, &self.facts()?, manifest))
    }

    fn facts(&self) -> Result<Vec<Fact>, String> {
        let mut at_us = 0;
        let facts = self.facts.iter().zip(0..).map(|((since, what), seq)| {
            at_us += since;
            let what = serde_json::from_str(what).map_err(|error| format!("fact {seq}: {error}"))?;
            Ok::<_, String>(Fact { seq, at_us, what })
        });
        let facts = facts.collect::<Result<Vec<_>, _>>()?;
        check_format(&facts)?;
        Ok(facts)
    }
}

/// Facts as text; `with_numbers`: replaces uids, which are random and therefore incompressible, by numbers.
fn facts_as_text<'f>(facts: impl IntoIterator<Item = &'f Fact>, with_numbers: bool) -> Facts {
    let (mut last_us, mut uids) = (0, HashMap::new());
    let facts = facts.into_iter().map(|fact| {
        let since = fact.at_us.saturating_sub(last_us);
        last_us = fact.at_us;
        let what = serde_json::to_string(&fact.what).expect("a fact serializes");
        match with_numbers {
            true => (since, with_numbered_uids(&what, &mut uids).into()),
            false => (since, what.into()),
        }
    });
    facts.collect()
}

/// Replaces each uid by its number, in order of first occurrence.
fn with_numbered_uids(text: &str, uids: &mut HashMap<String, usize>) -> String {
    const UID: usize = 36;
    let is_uid = |bytes: &[u8]| {
        bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
    };
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    // The text is cut only next to ASCII bytes, so every cut is at a character boundary.
    while let Some(dash) = rest.find('-') {
        let from = dash.checked_sub(8);
        match from.and_then(|from| Some((from, rest.as_bytes().get(from..from + UID)?))) {
            Some((from, bytes)) if is_uid(bytes) => {
                let next = uids.len();
                let number = *uids.entry(rest[from..from + UID].to_owned()).or_insert(next);
                out.push_str(&rest[..from]);
                out.push_str(&format!("00000000-0000-4000-8000-{number:012x}"));
                rest = &rest[from + UID..];
            }
            _ => {
                out.push_str(&rest[..=dash]);
                rest = &rest[dash + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

impl Recording {
    /// An empty recording.
    pub fn new(manifest: &Manifest) -> Self {
        Recording {
            program: manifest.name.clone(),
            version: manifest.version.clone(),
            runs: Vec::new(),
        }
    }

    /// Adds a run, unless one with the same case and verdict is stored. Removes runs of earlier versions of the case.
    pub fn add(&mut self, run: RecordedRun) -> AddResult {
        let of_case = |stored: &RecordedRun| stored.case == run.case;
        let before = self.runs.len();
        self.runs
            .retain(|stored| !of_case(stored) || stored.scenario == run.scenario);
        let stored: Vec<RecordedVerdict> = self
            .runs
            .iter()
            .filter(|stored| of_case(stored))
            .map(|stored| stored.filed.clone())
            .collect();
        if stored
            .iter()
            .any(|stored| stored.equals_except_known_findings(&run.recorded))
        {
            return AddResult::Same;
        }
        let at = self.runs.partition_point(|stored| stored.case <= run.case);
        let is_replaced = self.runs.len() < before;
        self.runs.insert(at, run);
        match (stored.is_empty(), is_replaced) {
            (false, _) => AddResult::Differs(stored),
            (true, true) => AddResult::Replaced,
            (true, false) => AddResult::New,
        }
    }

    /// The verdict of the current code on each stored run, in order.
    pub fn judge(&self, manifest: &Manifest) -> Vec<Result<RecordedVerdict, String>> {
        on_all_cores(&self.runs, |run| run.judge(manifest))
    }

    /// All recordings in a folder.
    pub fn load_all(folder: &Path) -> Result<Vec<Self>, RecordingError> {
        let failed = |error: std::io::Error| RecordingError {
            path: folder.to_owned(),
            why: error.to_string(),
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            files.push(entry.map_err(failed)?.path());
        }
        files.retain(|file| file.extension().is_some_and(|it| it == VERDICTS));
        files.sort();
        files.iter().map(|file| Self::load(file)).collect()
    }

    /// The recording of a program version; empty if the folder has none.
    pub fn load_or_new(folder: &Path, manifest: &Manifest) -> Result<Self, RecordingError> {
        let new = Recording::new(manifest);
        let file = new.recording_file(folder, VERDICTS);
        match file.exists() {
            true => Self::load(&file),
            false => Ok(new),
        }
    }

    fn load(verdicts: &Path) -> Result<Self, RecordingError> {
        let failed = |why: String| RecordingError {
            path: verdicts.to_owned(),
            why,
        };
        let text = read_text_file(verdicts).map_err(|error| failed(error.to_string()))?;
        let file: VerdictFile = serde_saphyr::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let journals = verdicts.with_extension(JOURNALS);
        let mut runs = read(&journals).map_err(|why| RecordingError {
            path: journals.clone(),
            why,
        })?;
        let cases = |runs: &[RecordedRun]| runs.iter().map(|run| run.case.clone()).collect::<Vec<_>>();
        let filed: Vec<String> = file.runs.iter().map(|run| run.case.clone()).collect();
        if cases(&runs) != filed {
            let journals = journals.display();
            return Err(failed(format!(
                "the runs in this file differ from those in {journals}"
            )));
        }
        for (run, filed) in runs.iter_mut().zip(file.runs) {
            (run.filed, run.reason) = (filed.filed, filed.reason);
        }
        Ok(Recording {
            program: file.program,
            version: file.version,
            runs,
        })
    }

    /// Writes the journals file and the verdicts file.
    pub fn save(&self, folder: &Path) -> Result<(), RecordingError> {
        let journals = self.recording_file(folder, JOURNALS);
        let write = || {
            std::fs::create_dir_all(folder)?;
            std::fs::write(&journals, self.journals()?)
        };
        write().map_err(|error| RecordingError {
            path: journals.clone(),
            why: error.to_string(),
        })?;
        self.save_verdicts(folder)
    }

    /// Writes only the verdicts file.
    pub fn save_verdicts(&self, folder: &Path) -> Result<(), RecordingError> {
        let file = VerdictFile {
            program: self.program.clone(),
            version: self.version.clone(),
            runs: self
                .runs
                .iter()
                .map(|run| FiledRun {
                    case: run.case.clone(),
                    filed: run.filed.clone(),
                    reason: run.reason.clone(),
                })
                .collect(),
        };
        let path = self.recording_file(folder, VERDICTS);
        let text = serde_saphyr::to_string(&file).map_err(|error| error.to_string());
        let written = text.and_then(|text| std::fs::write(&path, text).map_err(|error| error.to_string()));
        written.map_err(|why| RecordingError { path, why })
    }

    fn recording_file(&self, folder: &Path, ending: &str) -> PathBuf {
        // `with_extension` would cut off the part of the version after the last dot.
        folder.join(format!(
            "{}-{}.{ending}",
            self.program,
            self.version.replace('.', "_")
        ))
    }

    fn journals(&self) -> std::io::Result<Vec<u8>> {
        let mut out = GzEncoder::new(Vec::new(), Compression::best());
        let mut known: HashMap<&str, usize> = HashMap::new();
        for run in &self.runs {
            let head = RunHeader {
                format: FORMAT,
                case: run.case.clone(),
                date: run.date.clone(),
                scenario: run.scenario.clone(),
                recorded: run.recorded.clone(),
            };
            serde_json::to_writer(&mut out, &head)?;
            out.write_all(b"\n")?;
            for (since, what) in &run.facts {
                let next = known.len();
                match known.get(&**what) {
                    Some(number) => writeln!(out, "{since} {number}")?,
                    None => {
                        known.insert(what, next);
                        writeln!(out, "{since} {what}")?;
                    }
                }
            }
            out.write_all(b"\n")?;
        }
        out.finish()
    }
}

/// Parses a journals file.
fn read(path: &Path) -> Result<Vec<RecordedRun>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut lines = BufReader::new(GzDecoder::new(file)).lines();
    let mut next = || lines.next().transpose().map_err(|error| error.to_string());
    let (mut known, mut runs) = (Vec::new(), Vec::new());
    while let Some(line) = next()? {
        let head: RunHeader = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if head.format > FORMAT {
            let newest = FORMAT;
            return Err(format!(
                "the file has format version {}, but this program reads versions up to {newest}; use a newer version of the program",
                head.format
            ));
        }
        let mut facts = Facts::new();
        while let Some(line) = next()?.filter(|line| !line.is_empty()) {
            facts.push(parse_fact(&line, &mut known).ok_or_else(|| format!("invalid fact `{line}`"))?);
        }
        runs.push(RecordedRun {
            case: head.case,
            date: head.date,
            scenario: head.scenario,
            filed: head.recorded.clone(),
            recorded: head.recorded,
            reason: None,
            facts,
        });
    }
    Ok(runs)
}

/// Parses a fact of a journals file. `known`: observations of earlier lines, by number.
fn parse_fact(line: &str, known: &mut Vec<Arc<str>>) -> Option<(u64, Arc<str>)> {
    let (since, what) = line.split_once(' ')?;
    let what = match what.starts_with('{') {
        true => {
            let what: Arc<str> = what.into();
            known.push(what.clone());
            what
        }
        false => known.get(what.parse::<usize>().ok()?)?.clone(),
    };
    Some((since.parse().ok()?, what))
}
