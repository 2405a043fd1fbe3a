//! Findings of a run: violations of rules that the harness checks in every case, whatever the case tests. Merges equal findings of cases.

use harness::judge::{Finding, rule};
use harness::manifest::Manifest;

use super::{FindingRecord, Report, rounded_seconds};
use crate::known::excusing_entry;
use crate::session::CaseResult;

impl FindingRecord {
    fn new(case: &str, finding: &Finding, manifest: Option<&Manifest>) -> Self {
        let known = manifest.and_then(|manifest| excusing_entry(manifest, finding));
        FindingRecord {
            rule: finding.rule.to_owned(),
            role: finding.role.as_str().to_owned(),
            text: finding.text.clone(),
            count: finding.count,
            cases: 1,
            first: case.to_owned(),
            seconds: rounded_seconds(finding.at),
            known: known.map(|known| known.position.clone()),
        }
    }

    /// Text and source of the violated rule; `None` if a report of another version names an unknown rule.
    pub fn rule_text(&self) -> Option<String> {
        rule(&self.rule).map(|rule| format!("{} ({})", rule.text, rule.source))
    }

    /// Number of occurrences of the violation, and of cases in which the violation occurred, as text.
    pub fn occurrences_in_words(&self) -> String {
        let plural = |count: u64, one: &str| match count {
            1 => format!("1 {one}"),
            _ => format!("{count} {one}s"),
        };
        format!(
            "{} in {}, first in {} at +{:.3}s",
            plural(self.count, "time"),
            plural(self.cases as u64, "case"),
            self.first,
            self.seconds
        )
    }
}

impl Report {
    /// Adds the findings of a case. Called once per case.
    pub fn add_findings(&mut self, result: &CaseResult, manifest: Option<&Manifest>) {
        for finding in &result.findings {
            self.add_finding(FindingRecord::new(result.plan.id(), finding, manifest));
        }
    }

    /// Merges a finding with equal findings of other cases.
    pub(super) fn add_finding(&mut self, new: FindingRecord) {
        let key =
            |finding: &FindingRecord| (finding.rule.clone(), finding.role.clone(), finding.text.clone());
        match self.findings.binary_search_by_key(&key(&new), key) {
            Err(at) => self.findings.insert(at, new),
            Ok(at) => {
                let same = &mut self.findings[at];
                same.count += new.count;
                same.cases += new.cases;
                if new.first < same.first {
                    (same.first, same.seconds) = (new.first, new.seconds);
                }
            }
        }
    }

    /// The findings that no manifest entry excuses.
    pub fn unexcused_findings(&self) -> impl Iterator<Item = &FindingRecord> {
        self.findings.iter().filter(|finding| finding.known.is_none())
    }
}
