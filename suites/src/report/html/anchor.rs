//! Anchors of cases and requirements, for links within and between the HTML pages.

use crate::report::CaseRecord;

/// File name of the page of cases.
pub(in crate::report) const CASES: &str = "report.html";

pub(in crate::report) const REQUIREMENTS: &str = "requirements.html";

pub(super) fn anchor(case: &CaseRecord) -> String {
    case.id.replace(
        |letter: char| !letter.is_ascii_alphanumeric() && !"/-._".contains(letter),
        "-",
    )
}

/// Link to a case from `requirements.html`.
pub(super) fn to_case(case: &CaseRecord) -> String {
    format!("{CASES}#{}", anchor(case))
}

/// Link to a requirement from the page of cases.
pub(super) fn to_requirement(id: &str) -> String {
    format!("{REQUIREMENTS}#{id}")
}
