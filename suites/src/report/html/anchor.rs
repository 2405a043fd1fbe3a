//! The name by which links inside the page find a case.

use crate::report::CaseRecord;

/// What a link to the case names.
pub(super) fn anchor(case: &CaseRecord) -> String {
    case.id.replace(
        |letter: char| !letter.is_ascii_alphanumeric() && !"/-._".contains(letter),
        "-",
    )
}
