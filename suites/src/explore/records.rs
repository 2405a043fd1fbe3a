//! Results of exploration as cases of a report: one case for all clusters of a focus without a violation, one for each finding, and one for
//! each cluster without a verdict.

use harness::scenario::Level;

use super::explored::{Explored, FoundRecord};
use super::finding::Reproduced;
use crate::report::{CaseRecord, CaseVerdict};

impl Explored {
    /// The results of the exploration as cases of a report.
    pub fn records(&self) -> Vec<CaseRecord> {
        let met = self.met.iter().map(|(focus, clusters)| {
            let title = format!(
                "{clusters} clusters generated from seed {} on conform to the specification",
                self.seed
            );
            record(
                format!("explore/{focus}"),
                title,
                CaseVerdict::Pass,
                String::new(),
            )
        });
        let found = self.findings.iter().map(finding_record);
        let known = self
            .known
            .iter()
            .enumerate()
            .map(|(number, (position, clusters))| {
                let why = format!("{position} excuses the failures of {clusters} clusters");
                let id = format!("explore/known/{number}");
                CaseRecord {
                    known: Some(position.clone()),
                    ..record(id, "a known failure".to_owned(), CaseVerdict::KnownFailure, why)
                }
            });
        let undecided = self.undecided.iter().map(|seed| {
            let why = "the host was too busy for a verdict".to_owned();
            cluster_record(*seed, CaseVerdict::Inconclusive, why)
        });
        let broken = self.broken.iter();
        let broken = broken.map(|(seed, why)| cluster_record(*seed, CaseVerdict::Error, why.clone()));
        met.chain(found)
            .chain(known)
            .chain(undecided)
            .chain(broken)
            .collect()
    }
}

/// The case for a finding. A finding that could not be reproduced is reported as flaky, which counts as a failure.
fn finding_record(found: &FoundRecord) -> CaseRecord {
    let record = CaseRecord {
        id: format!("explore/{}/{}", found.focus, found.seed),
        title: found.signature.clone(),
        file: found.file.display().to_string(),
        ..found.case.clone()
    };
    match found.repeated {
        Reproduced::Yes | Reproduced::Unknown => record,
        Reproduced::No | Reproduced::Otherwise(_) => CaseRecord {
            verdict: CaseVerdict::Flaky,
            reason: format!(
                "{}; the written case did not reproduce the failure",
                found.signature
            ),
            ..record
        },
    }
}

/// The case for a cluster that has no verdict, because it was inconclusive or could not run.
fn cluster_record(seed: u64, verdict: CaseVerdict, why: String) -> CaseRecord {
    let title = format!("cluster generated from seed {seed}");
    record(format!("explore/world/{seed}"), title, verdict, why)
}

fn record(id: String, title: String, verdict: CaseVerdict, reason: String) -> CaseRecord {
    CaseRecord {
        id,
        title,
        level: Level::Core,
        requirements: Vec::new(),
        features: Vec::new(),
        file: String::new(),
        line: 1,
        verdict,
        reason,
        seconds: 0.0,
        repeated: 0,
        cause: None,
        failure_text: None,
        known: None,
        explanation: None,
        folder: None,
        health: Vec::new(),
    }
}
