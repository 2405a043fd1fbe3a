//! The result of a self-test as data, from which all output formats are rendered.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suites::harness::manifest::FailurePattern;
use suites::harness::plan::Plan;

use super::Pairing;
use super::scope::{CaseSummary, Scope};
use super::violation_coverage::{ViolationCoverage, unviolated_requirements};
use suites::Defect;

/// Version of the JSON format of self-test reports.
pub const FORMAT: u32 = 1;

/// The result of one run: of a case with a defect, or without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrialResult {
    /// The case passed. In a run with a defect, the case missed the defect.
    Passed,
    /// The case failed. In a run with a defect, the case detected the defect.
    Failed,
    /// Inconclusive: the host was too busy, or the case fails even without the defect.
    Undecided,
    /// The case could not be run.
    Broken,
    /// The case was not run, because it does not execute the code of the defect.
    Unreached,
}

/// A run of a case, with or without a defect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Name of the defect; `None` for a run without a defect.
    pub defect: Option<String>,
    /// Id of the case.
    pub case: String,
    /// Whether the case passed or failed.
    pub found: TrialResult,
    /// The first missing link of the causal chain of a failure, or the verdict if there is no chain.
    pub link: String,
    /// The text of the failure. Stored only for runs without a defect, and for cases listed under `claims` of the defect.
    pub explanation: Option<String>,
    /// Duration of the run in seconds.
    pub seconds: f64,
    /// Number of attempts: 2 if the run was repeated.
    pub runs: u32,
}

impl Trial {
    /// Returns the result for a case that was not run, because it does not execute the code of the defect.
    pub(super) fn unreached(defect: &Defect, plan: &Plan) -> Self {
        Trial {
            defect: Some(defect.name.clone()),
            case: plan.id().to_owned(),
            found: TrialResult::Unreached,
            link: String::new(),
            explanation: None,
            seconds: 0.0,
            runs: 0,
        }
    }
}

/// The result of a self-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelftestReport {
    /// Version of the JSON format.
    pub format: u32,
    /// Version of the harness that ran the self-test.
    pub harness: String,
    /// Start time of the self-test in UTC (RFC 3339).
    pub started: String,
    /// Duration of the self-test in seconds.
    pub seconds: f64,
    /// The command line of the self-test, as arguments.
    pub command: Vec<String>,
    /// Whether every defect ran with every case that executes its code.
    pub full: bool,
    /// Why the self-test is incomplete; `None` if it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Number of runs of cases, with and without defects.
    pub runs: usize,
    /// Number of pairs of defect and case that were not run, because the case does not execute the code of the defect.
    #[serde(default)]
    pub unreached: usize,
    /// Number of cases that pass without a defect. In a passed self-test, all cases do.
    pub healthy: usize,
    /// The problems; empty if the cases detect all defects.
    pub problems: Vec<Problem>,
    /// Descriptions of the inconclusive runs.
    pub undecided: Vec<String>,
    /// Results by defect.
    pub defects: Vec<DefectResult>,
    /// Results by case.
    pub cases: Vec<CaseDetections>,
    /// Requirements with detected violations; `None` unless every defect ran with every case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demands: Option<ViolationCoverage>,
}

/// A problem of the cases or of the catalogue of defects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Name of the affected defect, if any.
    pub defect: Option<String>,
    /// Id of the affected case, if any.
    pub case: Option<String>,
    /// The problem in one sentence.
    pub text: String,
}

/// A defect and the results of the cases that ran with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefectResult {
    /// Name of the defect.
    pub name: String,
    /// Effect of the defect.
    pub text: String,
    /// The bug report or requirements that the defect is modelled on.
    pub source: String,
    /// Results of the cases that claim to detect the defect.
    pub claims: Vec<Claim>,
    /// Cases that detected the defect.
    pub caught_by: Vec<String>,
    /// Cases that ran with the defect and passed.
    pub missed_by: Vec<String>,
}

/// A case that the catalogue lists under `claims` of a defect, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Id of the case.
    pub case: String,
    /// Expected first missing link of the causal chain, with `*` as a wildcard; empty for any.
    pub words: String,
    /// The result of running the case with the defect.
    pub found: TrialResult,
    /// First missing link of the causal chain in the failure.
    pub link: String,
    /// Text of the failure.
    pub explanation: Option<String>,
}

/// A case and the defects that it detected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseDetections {
    /// Id of the case in the case catalogue.
    pub id: String,
    /// Names of the defects under which the catalogue of defects lists the case.
    pub named_for: Vec<String>,
    /// Names of the defects that the case detected.
    pub caught: Vec<String>,
    /// Requirements of the case that no defect detected by the case violates; empty unless every defect ran with every case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unbroken: Vec<String>,
}

impl SelftestReport {
    /// Creates the report from all runs.
    pub fn new(scope: &Scope, trials: &[Trial], command: Vec<String>) -> Self {
        let trials = &*match scope.sut {
            None => Cow::Borrowed(trials),
            Some(_) => Cow::Owned(mark_unproven_failures(trials)),
        };
        let unreached = count(trials, |trial| trial.found == TrialResult::Unreached);
        let mut report = SelftestReport {
            format: FORMAT,
            harness: env!("CARGO_PKG_VERSION").to_owned(),
            started: String::new(),
            seconds: 0.0,
            command,
            full: scope.pairing == Pairing::Full,
            partial: None,
            runs: trials.len() - unreached,
            unreached,
            healthy: count(trials, |trial| {
                trial.defect.is_none() && trial.found == TrialResult::Passed
            }),
            problems: Vec::new(),
            undecided: inconclusive_runs(trials),
            defects: scope
                .defects
                .iter()
                .map(|defect| match scope.sut {
                    None => defect_result(defect, trials),
                    Some(_) => result_of_any_case(defect, trials),
                })
                .collect(),
            cases: Vec::new(),
            demands: None,
        };
        let counts = report.full && scope.is_whole;
        report.cases = case_detections(scope, trials, counts);
        report.demands = counts.then(|| {
            let subject = |case: &CaseDetections| scope.cases.iter().find(|subject| subject.id == case.id);
            let cases = report.cases.iter();
            ViolationCoverage::of(cases.filter_map(|case| Some((subject(case)?, &*case.unbroken))))
        });
        report.problems = problems(scope, trials, &report);
        report
    }

    /// Serializes the report as JSON.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("the record serializes");
        text.push('\n');
        text
    }

    /// The number of cases that pass without a defect, as text.
    pub fn baseline_summary(&self) -> String {
        match self.partial {
            // The self-test was interrupted: the remaining cases have not run.
            Some(_) => format!("{} cases have passed without a defect", self.healthy),
            None => format!(
                "{} of {} cases pass without a defect",
                self.healthy,
                self.cases.len()
            ),
        }
    }

    /// Number of defects that every case under their `claims` detected with the expected first missing link.
    pub fn count_defects_with_claims_held(&self) -> usize {
        self.defects
            .iter()
            .filter(|defect| defect.status() == "caught")
            .count()
    }
}

impl Claim {
    /// Whether the case failed with the expected first missing link.
    pub fn is_confirmed(&self) -> bool {
        let matches = |words: &str| FailurePattern::parse(words).is_ok_and(|words| words.matches(&self.link));
        self.found == TrialResult::Failed && (self.words.is_empty() || matches(&self.words))
    }
}

impl DefectResult {
    /// `caught` if all claims of the defect hold, `-` if the defect has no claims, else the error of the first claim that does not hold.
    pub fn status(&self) -> &'static str {
        let Some(claim) = self.claims.iter().find(|claim| !claim.is_confirmed()) else {
            return if self.claims.is_empty() { "-" } else { "caught" };
        };
        match claim.found {
            TrialResult::Passed | TrialResult::Unreached => "MISSED",
            TrialResult::Failed => "MISLED",
            TrialResult::Undecided => "UNDECIDED",
            TrialResult::Broken => "BROKEN",
        }
    }
}

fn count(trials: &[Trial], predicate: impl Fn(&Trial) -> bool) -> usize {
    trials.iter().filter(|trial| predicate(trial)).count()
}

/// Why the failure of a run does not count as a detection of the defect.
const NO_PROOF: &str = "the case does not pass without the defect either";

/// Copies the runs. Changes a failure to `Undecided` if the case fails even without a defect.
fn mark_unproven_failures(trials: &[Trial]) -> Vec<Trial> {
    let failing = trials
        .iter()
        .filter(|trial| trial.defect.is_none() && trial.found != TrialResult::Passed);
    let failing: BTreeSet<&str> = failing.map(|trial| trial.case.as_str()).collect();
    let seen = |trial: &Trial| {
        let has_failed = trial.defect.is_some() && trial.found == TrialResult::Failed;
        match has_failed && failing.contains(trial.case.as_str()) {
            true => Trial {
                found: TrialResult::Undecided,
                link: format!("{NO_PROOF}: {}", trial.link),
                ..trial.clone()
            },
            false => trial.clone(),
        }
    };
    trials.iter().map(seen).collect()
}

fn defect_result(defect: &Defect, trials: &[Trial]) -> DefectResult {
    let of_defect: Vec<&Trial> = trials
        .iter()
        .filter(|trial| trial.defect.as_ref() == Some(&defect.name))
        .collect();
    let ids = |found: TrialResult| {
        let found = of_defect.iter().filter(|trial| trial.found == found);
        found.map(|trial| trial.case.clone()).collect()
    };
    let claims = of_defect.iter().filter_map(|trial| {
        let words = defect.claims.get(&trial.case)?.to_string();
        Some(Claim {
            case: trial.case.clone(),
            words,
            found: trial.found,
            link: trial.link.clone(),
            explanation: trial.explanation.clone(),
        })
    });
    DefectResult {
        name: defect.name.clone(),
        text: defect.text.clone(),
        source: defect.origin(),
        claims: claims.collect(),
        caught_by: ids(TrialResult::Failed),
        missed_by: ids(TrialResult::Passed),
    }
}

/// The result of a defect that was injected into programs under test: any failure of any case counts as a detection.
fn result_of_any_case(defect: &Defect, trials: &[Trial]) -> DefectResult {
    let mut of_defect = trials
        .iter()
        .filter(|trial| trial.defect.as_ref() == Some(&defect.name));
    let caught = of_defect.clone().find(|trial| trial.found == TrialResult::Failed);
    let shown = caught.or_else(|| of_defect.next()).map(|trial| Claim {
        case: trial.case.clone(),
        words: String::new(),
        found: trial.found,
        link: trial.link.clone(),
        explanation: trial.explanation.clone(),
    });
    DefectResult {
        claims: shown.into_iter().collect(),
        ..defect_result(defect, trials)
    }
}

/// The defects that each case detected. If `counts` (all defects ran with all cases), adds the case's requirements that none of these
/// defects violates.
fn case_detections(scope: &Scope, trials: &[Trial], counts: bool) -> Vec<CaseDetections> {
    let mut caught: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.found == TrialResult::Failed) {
        if let Some(defect) = &trial.defect {
            caught.entry(&trial.case).or_default().insert(defect);
        }
    }
    let ran: BTreeSet<&str> = trials.iter().map(|trial| trial.case.as_str()).collect();
    let subjects = scope.cases.iter().filter(|case| ran.contains(&*case.id));
    let names = |defects: &[&Defect]| defects.iter().map(|defect| defect.name.clone()).collect();
    let detections = |case: &CaseSummary| {
        let of = |predicate: &dyn Fn(&Defect) -> bool| -> Vec<&Defect> {
            let defects = scope.defects.iter();
            defects.filter(|defect| predicate(defect)).collect()
        };
        let own = caught.get(&*case.id);
        let caught = of(&|defect| own.is_some_and(|own| own.contains(defect.name.as_str())));
        let unbroken = counts.then(|| unviolated_requirements(case, &caught));
        CaseDetections {
            id: case.id.clone(),
            named_for: names(&of(&|defect| defect.lists_case(&case.id))),
            caught: names(&caught),
            unbroken: unbroken.unwrap_or_default(),
        }
    };
    subjects.map(detections).collect()
}

fn inconclusive_runs(trials: &[Trial]) -> Vec<String> {
    let open = trials
        .iter()
        .filter(|trial| trial.found == TrialResult::Undecided);
    open.map(|trial| {
        let pair = match &trial.defect {
            Some(defect) => format!("{} with {defect}", trial.case),
            None => trial.case.clone(),
        };
        match trial.link.starts_with(NO_PROOF) {
            true => format!("{pair}: {}", trial.link),
            false => format!("{pair}: the host was too busy"),
        }
    })
    .collect()
}

fn problems(scope: &Scope, trials: &[Trial], report: &SelftestReport) -> Vec<Problem> {
    let mut problems = Vec::new();
    for trial in trials {
        let text = match (&trial.defect, trial.found) {
            (None, TrialResult::Failed) => format!("fails without any defect: {}", trial.link),
            (None, TrialResult::Broken) => format!("cannot be run: {}", trial.link),
            (Some(name), found @ (TrialResult::Passed | TrialResult::Broken))
                if scope.sut.is_none() && scope.is_named(&trial.case, name) =>
            {
                match found {
                    TrialResult::Passed => format!("is listed for defect {name}, but passes with it"),
                    _ => format!("is listed for defect {name}, but cannot run: {}", trial.link),
                }
            }
            _ => continue,
        };
        problems.push(Problem {
            defect: trial.defect.clone(),
            case: Some(trial.case.clone()),
            text,
        });
    }
    match scope.sut {
        None => problems.extend(report.defects.iter().flat_map(unexpected_links)),
        Some(_) => problems.extend(report.defects.iter().filter_map(missed_defect)),
    }
    if scope.is_whole {
        problems.extend(unused_cases(report));
    }
    problems
}

/// The problem to report if no case detects the defect.
fn missed_defect(defect: &DefectResult) -> Option<Problem> {
    let is_missed = defect.caught_by.is_empty() && !defect.missed_by.is_empty();
    is_missed.then(|| Problem {
        defect: Some(defect.name.clone()),
        case: None,
        text: format!(
            "defect {} is not detected: these cases pass with it: {}",
            defect.name,
            defect.missed_by.join(", ")
        ),
    })
}

/// Problems of cases under `claims` that failed with an unexpected first missing link.
fn unexpected_links(defect: &DefectResult) -> impl Iterator<Item = Problem> {
    let misled = |claim: &&Claim| claim.found == TrialResult::Failed && !claim.is_confirmed();
    defect.claims.iter().filter(misled).map(|claim| Problem {
        defect: Some(defect.name.clone()),
        case: Some(claim.case.clone()),
        text: format!(
            "detects defect {}, but fails with “{}” instead of “{}”",
            defect.name, claim.link, claim.words
        ),
    })
}

/// Problems of cases that detect no defect, and of cases that the catalogue lists for no defect.
fn unused_cases(report: &SelftestReport) -> Vec<Problem> {
    let idle = report.cases.iter().filter_map(|case| {
        let text = match (case.caught.is_empty(), case.named_for.is_empty()) {
            (true, true) if report.full => {
                "detects no defect: make the case stricter, or add a defect that it is meant to detect"
            }
            (_, true) => {
                "is listed for no defect: add the case to a defect that it detects in suites/defects.yaml"
            }
            _ => return None,
        };
        Some(Problem {
            defect: None,
            case: Some(case.id.clone()),
            text: text.to_owned(),
        })
    });
    idle.collect()
}
