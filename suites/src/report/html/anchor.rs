//! The name by which links inside the page find a case.

use crate::report::CaseRecord;
use crate::report::escape::xml;

/// What a link to the case names.
pub(super) fn anchor(case: &CaseRecord) -> String {
    xml(&case.id.replace(
        |letter: char| !letter.is_ascii_alphanumeric() && !"/-._".contains(letter),
        "-",
    ))
}
