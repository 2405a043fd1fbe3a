//! What became of the known failures of a manifest: an entry that excused nothing is as wrong as one that excuses too much.

use harness::manifest::KnownFailure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseRecord, FindingRecord, IN_MEMORY, Report};
use crate::known::FINDING;
use crate::select::is_meant;

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

impl KnownRecord {
    /// The record of an entry.
    pub fn new(known: &KnownFailure) -> Self {
        KnownRecord {
            place: known.place.clone(),
            case: known.case.clone(),
            fails: known.fails.to_string(),
            sometimes: known.sometimes.is_some(),
        }
    }

    /// What is wrong with the entry and what to do, after all cases were run; none: nothing, or nobody can tell.
    fn wrong(&self, report: &Report) -> Option<String> {
        let cases: Vec<&CaseRecord> = report
            .cases
            .iter()
            .filter(|case| is_meant(&self.case, &case.id))
            .collect();
        if self.case.starts_with(FINDING) {
            return self.wrong_about_findings(report);
        }
        let is_used = cases.iter().any(|case| case.known.as_ref() == Some(&self.place));
        if is_used || self.sometimes || cases.is_empty() || cases.iter().any(|case| is_open(case, report)) {
            return None;
        }
        let of = |verdict: &str| cases.iter().filter(|case| case.verdict == verdict).count();
        let remedy = if of("skip") == cases.len() {
            "its cases are skipped; remove the entry, or claim the feature that they need".to_owned()
        } else if of("fail") > 0 {
            "what fails there says something else; correct `fails`, or remove the entry".to_owned()
        } else {
            format!("{} passes; remove the entry", self.case)
        };
        Some(format!(
            "{}: nothing failed with “{}”: {remedy}",
            self.place, self.fails
        ))
    }
}

impl KnownRecord {
    /// The same for an entry that speaks of findings.
    fn wrong_about_findings(&self, report: &Report) -> Option<String> {
        let is_used = |finding: &FindingRecord| finding.known.as_ref() == Some(&self.place);
        let is_needed = self.sometimes || report.findings.iter().any(is_used);
        (!is_needed).then(|| {
            format!(
                "{}: no finding says “{}”; correct `fails`, or remove the entry",
                self.place, self.fails
            )
        })
    }
}

/// Whether a case ended in a way that does not tell whether an entry is needed.
fn is_open(case: &CaseRecord, report: &Report) -> bool {
    match case.verdict.as_str() {
        "inconclusive" | "error" | "flaky" => true,
        // With the API server in memory it is the manifest that skips, and it would the next time.
        "skip" => report.settings.api_server != IN_MEMORY,
        _ => false,
    }
}

impl Report {
    /// Entries for known failures that excused nothing, each with its place and the remedy; none for a run of some cases only.
    pub fn idle_entries(&self) -> Vec<String> {
        if self.cases.len() != self.catalogue {
            return Vec::new();
        }
        self.known_failures
            .iter()
            .filter_map(|known| known.wrong(self))
            .collect()
    }
}
