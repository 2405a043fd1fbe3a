//! `requirements.html`: requirements by document and section, with their result in this run and other evidence.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};

use super::super::escape::printable_text;
use super::super::{CaseRecord, CaseVerdict, Report, page};
use super::anchor::{CASES, to_case};
use crate::{Catalogue, Entry};

/// Title of the page and of links to it.
pub(super) const TITLE: &str = "Requirements of the documents, and their evidence";

/// Number of cases shown per requirement. Further cases are folded.
const SHOWN: usize = 6;

/// The cases of each requirement.
type Cases<'r> = BTreeMap<&'r str, Vec<&'r CaseRecord>>;

pub(in crate::report) fn page(report: &Report, _: &Path) -> String {
    let catalogue = Catalogue::load();
    let cases = by_requirement(report, catalogue);
    let body = html! {
        header {
            h1 { (TITLE) }
            (about(report, catalogue, &cases))
        }
        main {
            @for (number, document) in catalogue.documents().iter().enumerate() {
                section id={ "document-" (number + 1) } {
                    h2 { (document.name) ": " (document.title) }
                    @for section in &document.sections {
                        h3 { (section) }
                        (table(catalogue.of_section(document, section), &cases))
                    }
                }
            }
        }
    };
    page::page(TITLE, &body)
}

/// Cases by requirement, most significant first. Unknown requirements in a report of another version are ignored.
fn by_requirement<'r>(report: &'r Report, catalogue: &Catalogue) -> Cases<'r> {
    let mut cases: Cases<'_> = BTreeMap::new();
    for case in &report.cases {
        let known = case.requirements.iter();
        for id in known.filter(|id| catalogue.entry(id).is_some()) {
            cases.entry(id).or_default().push(case);
        }
    }
    cases
        .values_mut()
        .for_each(|cases| cases.sort_by_key(|case| rank(case)));
    cases
}

/// Sort order of cases by verdict: failures come first.
fn rank(case: &CaseRecord) -> u8 {
    match case.verdict {
        _ if case.counts_as_failure() => 0,
        CaseVerdict::Fail | CaseVerdict::Flaky => 1,
        CaseVerdict::Error => 2,
        CaseVerdict::Inconclusive => 3,
        CaseVerdict::KnownFailure => 4,
        CaseVerdict::Pass => 5,
        CaseVerdict::Skip => 6,
    }
}

/// Number of requirements per result, as text.
fn counts(cases: &Cases<'_>) -> String {
    let mut counts: BTreeMap<CaseVerdict, usize> = BTreeMap::new();
    for case in cases.values().filter_map(|cases| cases.first()) {
        *counts.entry(case.verdict).or_default() += 1;
    }
    let words = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", verdict.words()));
    words.collect::<Vec<_>>().join(", ")
}

fn about(report: &Report, catalogue: &Catalogue, cases: &Cases<'_>) -> Markup {
    let all = catalogue.ids().count();
    let without_case = catalogue.ids().filter(|id| !cases.contains_key(id));
    let without_case: Vec<&Entry> = without_case.filter_map(|id| catalogue.entry(id)).collect();
    let otherwise = without_case
        .iter()
        .filter(|entry| !entry.shown_by.is_empty())
        .count();
    let reason = without_case.iter().filter(|entry| entry.reason.is_some()).count();
    html! {
        p {
            "Each requirement has a number. Result of the " (all) " requirements in the cases of "
            a href=(CASES) { "this run" } " on " (report.started) " against " strong { (report.system.name) " " (report.system.version) }
            ": " @if !cases.is_empty() { (counts(cases)) ". " }
            "Of the " (without_case.len()) " without a case in this run, " (otherwise) " have other evidence, " (reason)
            " cannot be tested, for the reason given in the table, and " (without_case.len() - otherwise - reason) " have no evidence here."
        }
        p.quiet {
            "A requirement has failed if one of its cases has. Other evidence is not run here: a test or a recorded exchange of this \
             repository, a measurement, or a study. A reason is given if a requirement demands nothing of a program."
        }
        ul {
            @for (number, document) in catalogue.documents().iter().enumerate() {
                li { a href={ "#document-" (number + 1) } { (document.name) } ": " (document.title) }
            }
        }
    }
}

/// A table with one row per requirement.
fn table<'c>(entries: impl Iterator<Item = (&'c str, &'c Entry)>, cases: &Cases<'_>) -> Markup {
    html! {
        div.wide {
            table.demands {
                thead {
                    tr {
                        th scope="col" { "number" }
                        th scope="col" { "requirement" }
                        th scope="col" { "in this run" }
                        th scope="col" { "evidence" }
                    }
                }
                tbody {
                    @for (id, entry) in entries {
                        (row(id, entry, cases.get(id).map_or(&[], Vec::as_slice)))
                    }
                }
            }
        }
    }
}

fn row(id: &str, entry: &Entry, cases: &[&CaseRecord]) -> Markup {
    let (class, words) = result(cases.first().copied());
    html! {
        tr id=(id) {
            th scope="row" { (id) }
            td { (entry.text) }
            td class=(class) { (words) }
            td {
                (case_links(cases))
                @for evidence in &entry.shown_by {
                    p { (evidence.kind()) " " code { (evidence) } }
                }
                @if let Some(reason) = &entry.reason { p.quiet { (reason) } }
                @if cases.is_empty() && entry.shown_by.is_empty() && entry.reason.is_none() {
                    p.quiet { "no case of this run, and no other evidence" }
                }
            }
        }
    }
}

/// CSS class and text for the result of a requirement, given its most significant case.
fn result(case: Option<&CaseRecord>) -> (&'static str, String) {
    let Some(case) = case else {
        return ("none", "not run".to_owned());
    };
    let words = case.verdict.words();
    match rank(case) {
        0 => ("bad", format!("✗ {words}")),
        1 => ("part", format!("◐ {words} (provisional)")),
        5 => ("good", format!("✓ {words}")),
        6 => ("none", format!("– {words}")),
        _ => ("part", format!("◐ {words}")),
    }
}

/// Links to the cases. Each case that did not pass is shown with its verdict.
fn case_links(cases: &[&CaseRecord]) -> Markup {
    let (first, rest) = cases.split_at(cases.len().min(SHOWN));
    html! {
        @for case in first { (line(case)) }
        @if !rest.is_empty() {
            details {
                summary { "and " (rest.len()) " more" }
                @for case in rest { (line(case)) }
            }
        }
    }
}

fn line(case: &CaseRecord) -> Markup {
    html! {
        p {
            a href=(to_case(case)) { code { (printable_text(&case.id)) } }
            @if case.verdict != CaseVerdict::Pass { " " (case.verdict.words()) }
        }
    }
}
