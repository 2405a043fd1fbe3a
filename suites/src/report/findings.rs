//! Findings of a run: what a system did wrong beside the point of the cases, once per cause over all cases.

use harness::judge::{Finding, rule};
use harness::manifest::Manifest;

use super::{FindingRecord, Report, seconds};
use crate::known::excuse;
use crate::session::CaseResult;

impl FindingRecord {
    fn new(case: &str, finding: &Finding, manifest: Option<&Manifest>) -> Self {
        let known = manifest.and_then(|manifest| excuse(manifest, finding));
        FindingRecord {
            rule: finding.rule.to_owned(),
            role: finding.role.as_str().to_owned(),
            text: finding.text.clone(),
            count: finding.count,
            cases: 1,
            first: case.to_owned(),
            seconds: seconds(finding.at),
            known: known.map(|known| known.place.clone()),
        }
    }

    /// What the rule asks for, and where that is said; none: a record of another version names a rule that is not known here.
    pub fn demand(&self) -> Option<String> {
        rule(&self.rule).map(|rule| format!("{} ({})", rule.text, rule.source))
    }

    /// How often and where, in words.
    pub fn extent(&self) -> String {
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
    /// Adds what the systems did wrong in a case. Each case is added once.
    pub fn add_findings(&mut self, result: &CaseResult, manifest: Option<&Manifest>) {
        for finding in &result.findings {
            self.add_finding(FindingRecord::new(result.plan.id(), finding, manifest));
        }
    }

    /// Adds a finding to those that are known from other cases.
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

    /// The findings that no entry of the manifest excuses.
    pub fn open_findings(&self) -> impl Iterator<Item = &FindingRecord> {
        self.findings.iter().filter(|finding| finding.known.is_none())
    }
}
