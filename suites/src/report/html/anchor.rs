//! The names by which links find a case and a requirement, within a page and from the other one.

use crate::report::CaseRecord;

/// The page of the cases.
pub(in crate::report) const CASES: &str = "report.html";

/// The page of what the documents ask.
pub(in crate::report) const REQUIREMENTS: &str = "requirements.html";

/// What a link to the case names.
pub(super) fn anchor(case: &CaseRecord) -> String {
    case.id.replace(
        |letter: char| !letter.is_ascii_alphanumeric() && !"/-._".contains(letter),
        "-",
    )
}

/// Where the case stands, as seen from the other page.
pub(super) fn to_case(case: &CaseRecord) -> String {
    format!("{CASES}#{}", anchor(case))
}

/// Where a requirement stands, as seen from the page of the cases.
pub(super) fn to_requirement(id: &str) -> String {
    format!("{REQUIREMENTS}#{id}")
}
