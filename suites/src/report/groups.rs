//! Groups failed cases by cause: the first missing link of their causal chain.

use std::collections::BTreeMap;

use harness::replace_words;

use super::{CaseRecord, Report};
use crate::failure_text::FailureText;

/// Failed cases with the same first missing link of their causal chain.
#[derive(Debug)]
pub struct Group<'r> {
    /// The first missing link, with `*` for names and values that vary between runs; for an exited program, the reason.
    pub link: String,
    /// The failed cases of the group, in the order of the report.
    pub cases: Vec<&'r CaseRecord>,
}

impl Group<'_> {
    /// A heading with the number of cases and the first missing link.
    pub fn heading(&self) -> String {
        let has_link = self.cases[0]
            .failure_text
            .as_ref()
            .is_some_and(|failure_text| !failure_text.link.is_empty());
        let what = if has_link { "first missing link" } else { "cause" };
        format!(
            "{} failures have the same {what}: {}",
            self.cases.len(),
            self.link
        )
    }
}

impl Report {
    /// All failures, grouped by the first missing link of the causal chain without quantities, largest group first.
    pub fn causes(&self) -> Vec<Group<'_>> {
        let mut by_link: BTreeMap<String, Vec<&CaseRecord>> = BTreeMap::new();
        for case in self.counted_failures() {
            let failure_text = case.failure_text.as_ref();
            let link = failure_text.map_or_else(|| case.reason.clone(), FailureText::stable_pattern);
            by_link.entry(without_numbers(&link)).or_default().push(case);
        }
        let groups = by_link.into_iter();
        let mut groups: Vec<Group<'_>> = groups.map(|(link, cases)| Group { link, cases }).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.cases.len()));
        groups
    }

    /// The groups of at least two failures.
    pub fn repeated_causes(&self) -> impl Iterator<Item = Group<'_>> {
        self.causes().into_iter().filter(|group| group.cases.len() > 1)
    }
}

/// The text with `*` for each number or quantity.
fn without_numbers(text: &str) -> String {
    replace_words(text, char::is_alphanumeric, |word| {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        if is_number { "*" } else { word }
    })
}
