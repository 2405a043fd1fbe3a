//! Groups failed cases by cause: the first missing link of their causal chain.

use std::collections::BTreeMap;

use super::{CaseRecord, Report};
use crate::said::Said;

/// Cases that fail at the same first missing link.
#[derive(Debug)]
pub struct Group<'r> {
    /// The link, with `*` for names and values that vary between runs; for an exited program, the reason.
    pub link: String,
    /// At least two cases, in the order in which they ended.
    pub cases: Vec<&'r CaseRecord>,
}

impl Group<'_> {
    /// Number of cases and the link, as text.
    pub fn heading(&self) -> String {
        let has_link = self.cases[0]
            .said
            .as_ref()
            .is_some_and(|said| !said.link.is_empty());
        let what = if has_link { "first missing link" } else { "cause" };
        format!(
            "{} failures have the same {what}: {}",
            self.cases.len(),
            self.link
        )
    }
}

impl Report {
    /// Groups of at least two failures with the same first missing link, largest group first.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut by_link: BTreeMap<String, Vec<&CaseRecord>> = BTreeMap::new();
        for case in self.bad() {
            if let Some(link) = case.said.as_ref().map(Said::lasting) {
                by_link.entry(link).or_default().push(case);
            }
        }
        let several = by_link.into_iter().filter(|(_, cases)| cases.len() > 1);
        let mut groups: Vec<Group<'_>> = several.map(|(link, cases)| Group { link, cases }).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.cases.len()));
        groups
    }
}
