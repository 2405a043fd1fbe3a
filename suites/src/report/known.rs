//! Detects stale entries of a manifest's known failures: entries that excused nothing.

use harness::manifest::KnownFailure;

use super::{CaseRecord, CaseVerdict, FindingRecord, IN_MEMORY, KnownRecord, Report};
use crate::known::FINDING;
use crate::select::matches_id;

impl KnownRecord {
    /// The record of a manifest entry.
    pub fn new(known: &KnownFailure) -> Self {
        KnownRecord {
            place: known.position.clone(),
            case: known.case.clone(),
            fails: known.fails.to_string(),
            sometimes: known.sometimes.is_some(),
        }
    }

    /// What is wrong with the entry after all cases were run, with a remedy; `None` if the entry is needed, or if the run does not show
    /// whether it is needed.
    fn stale_entry_problem(&self, report: &Report) -> Option<String> {
        let cases: Vec<&CaseRecord> = report
            .cases
            .iter()
            .filter(|case| matches_id(&self.case, &case.id))
            .collect();
        if self.case.starts_with(FINDING) {
            return self.finding_entry_problem(report);
        }
        let is_used = cases.iter().any(|case| case.known.as_ref() == Some(&self.place));
        if is_used
            || self.sometimes
            || cases.is_empty()
            || cases.iter().any(|case| is_undecided(case, report))
        {
            return None;
        }
        let of = |verdict: CaseVerdict| cases.iter().filter(|case| case.verdict == verdict).count();
        let remedy = if of(CaseVerdict::Skip) == cases.len() {
            "the cases of the entry are skipped; remove the entry, or claim the feature that they need"
                .to_owned()
        } else if of(CaseVerdict::Fail) > 0 {
            "the failure has a different message; correct `fails`, or remove the entry".to_owned()
        } else {
            format!("{} passes; remove the entry", self.case)
        };
        Some(format!(
            "{}: nothing failed with “{}”: {remedy}",
            self.place, self.fails
        ))
    }

    /// What is wrong with an entry that excuses findings; `None` if the entry is needed.
    fn finding_entry_problem(&self, report: &Report) -> Option<String> {
        let is_used = |finding: &FindingRecord| finding.known.as_ref() == Some(&self.place);
        let is_needed = self.sometimes || report.findings.iter().any(is_used);
        (!is_needed).then(|| {
            format!(
                "{}: no finding contains “{}”; correct `fails`, or remove the entry",
                self.place, self.fails
            )
        })
    }
}

/// Whether the verdict of the case does not show whether a manifest entry for the case is needed.
fn is_undecided(case: &CaseRecord, report: &Report) -> bool {
    match case.verdict {
        CaseVerdict::Inconclusive | CaseVerdict::Error | CaseVerdict::Flaky => true,
        // On the in-memory API server, only the manifest causes skips, so the case is skipped in every run. A real API server may cause
        // other skips.
        CaseVerdict::Skip => report.settings.api_server != IN_MEMORY,
        _ => false,
    }
}

impl Report {
    /// Stale entries, each with position and remedy; empty for a partial run.
    pub fn stale_entries(&self) -> Vec<String> {
        if self.cases.len() != self.catalogue {
            return Vec::new();
        }
        self.known_failures
            .iter()
            .filter_map(|known| known.stale_entry_problem(self))
            .collect()
    }
}
