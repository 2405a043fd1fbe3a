//! Verdicts of cases, with their spelling in reports.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::session::CaseOutcome;

/// The verdict of a case, in display order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    /// The case passed.
    Pass,
    /// The case failed.
    Fail,
    /// The case failed, then passed in another attempt.
    Flaky,
    /// The case could not be run.
    Error,
    /// The result is inconclusive: the machine was too busy.
    Inconclusive,
    /// The case failed with a known failure of the manifest.
    KnownFailure,
    /// The case does not apply to the systems under test.
    Skip,
}

impl CaseVerdict {
    /// All verdicts, in display order.
    pub const ALL: [CaseVerdict; 7] = [
        CaseVerdict::Pass,
        CaseVerdict::Fail,
        CaseVerdict::Flaky,
        CaseVerdict::Error,
        CaseVerdict::Inconclusive,
        CaseVerdict::KnownFailure,
        CaseVerdict::Skip,
    ];

    /// The verdict of a case that has ended.
    pub fn of(ended: &CaseOutcome) -> Self {
        match ended {
            CaseOutcome::Passed | CaseOutcome::UnexpectedPass(_) => CaseVerdict::Pass,
            CaseOutcome::Failed(_) => CaseVerdict::Fail,
            CaseOutcome::KnownFailure(..) => CaseVerdict::KnownFailure,
            CaseOutcome::Flaky(..) => CaseVerdict::Flaky,
            CaseOutcome::Inconclusive(_) => CaseVerdict::Inconclusive,
            CaseOutcome::Skipped(_) => CaseVerdict::Skip,
            CaseOutcome::NotRun(_) => CaseVerdict::Error,
        }
    }

    /// The spelling of the verdict in `report.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            CaseVerdict::Pass => "pass",
            CaseVerdict::Fail => "fail",
            CaseVerdict::Flaky => "flaky",
            CaseVerdict::Error => "error",
            CaseVerdict::Inconclusive => "inconclusive",
            CaseVerdict::KnownFailure => "known-failure",
            CaseVerdict::Skip => "skip",
        }
    }

    /// The verdict in words for people, after a number or before a colon.
    pub fn words(self) -> &'static str {
        match self {
            CaseVerdict::Pass => "passed",
            CaseVerdict::Fail => "failed",
            CaseVerdict::Flaky => "flaky",
            CaseVerdict::Error => "could not be run",
            CaseVerdict::Inconclusive => "undecided",
            CaseVerdict::KnownFailure => "known to fail",
            CaseVerdict::Skip => "skipped",
        }
    }

    /// Whether the system violated an expectation in at least one attempt.
    pub fn is_failure(self) -> bool {
        matches!(self, CaseVerdict::Fail | CaseVerdict::Flaky)
    }
}

impl std::fmt::Display for CaseVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

fn spellings() -> [&'static str; 7] {
    CaseVerdict::ALL.map(CaseVerdict::as_str)
}

pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": spellings()})
}

pub(super) fn counts_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": {"enum": spellings()},
        "additionalProperties": {"type": "integer", "minimum": 1},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_str_matches_the_serialized_name() {
        for verdict in CaseVerdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        }
    }
}
