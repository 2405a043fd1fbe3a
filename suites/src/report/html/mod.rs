//! `report.html`, a page for readers who do not know this project, and `requirements.html`, the same run by requirement.

mod anchor;
mod case;
mod diagram;
mod filter;
mod matrix;
mod plot;
pub(super) mod requirements;
mod stored_run;

use std::path::Path;

use harness::invocation::program;
use maud::{Markup, html};

use super::escape::printable_text;
use super::{CaseRecord, CaseVerdict, Report, page};
use crate::Catalogue;
use anchor::{anchor, to_requirement};

pub(super) use anchor::{CASES, REQUIREMENTS};

/// Maximum number of cases per section that are explained. Further cases are listed with their reason.
const EXPLAINED: usize = 100;

/// Renders `report.html`. `folder`: base of the paths in the report.
pub(super) fn page(report: &Report, folder: &Path) -> String {
    let headline = headline(report);
    let system = format!("{} {}", report.system.name, report.system.version);
    let title = format!("{headline}: {}", system.trim());
    let catalogue = Catalogue::load();
    let body = html! {
        header {
            h1 { (headline) }
            (about(report))
        }
        main {
            (matrix::table(report))
            (filter::buttons(report))
            @for (heading, note, cases) in sections(report).iter().filter(|section| !section.2.is_empty()) {
                section {
                    h2 { (heading) }
                    p { (note) }
                    @for (number, case) in cases.iter().enumerate() {
                        @if number < EXPLAINED { (case::article(case, catalogue, folder)) } @else { (case::line(case)) }
                    }
                }
            }
            (folded_case_list(report, catalogue, CaseVerdict::Pass, "Passed"))
            (folded_case_list(report, catalogue, CaseVerdict::Skip, "Skipped"))
        }
        (footer(report))
    };
    page::page(&title, &body)
}

fn headline(report: &Report) -> String {
    let run = report
        .cases
        .iter()
        .filter(|case| case.verdict != CaseVerdict::Skip)
        .count();
    let cases = if run == 1 { "case" } else { "cases" };
    match (
        report.counted_failures().count(),
        report.cases.iter().filter(|case| case.needs_attention()).count(),
    ) {
        (0, 0) => format!("Storage capacity: {run} {cases}, none failed"),
        (0, open) => format!("Storage capacity: {run} {cases}, none failed, {open} to look at"),
        (bad, _) => format!("Storage capacity: {bad} of {run} {cases} failed"),
    }
}

/// Introduction: the system under test, counts, causes of failures, findings, stale entries, and what a case is.
fn about(report: &Report) -> Markup {
    let system = &report.system;
    html! {
        p {
            "Tested: " strong { (system.name) " " (system.version) }
            @if !system.roles.is_empty() { " as " (system.roles.join(" and ")) }
            ". " (capitalized(&report.counts_in_words())) (format_args!(", in {:.1} s, on ", report.seconds))
            (report.started) "."
        }
        (causes(report))
        @if !report.partial.is_empty() {
            p { strong { "This result is partial:" } }
            ul { @for reason in &report.partial { li { (reason) } } }
        }
        @if !report.findings.is_empty() {
            p { strong { "Findings" } ": violations of rules that the harness checks in every case" }
            ul {
                @for finding in &report.findings {
                    li {
                        (finding.role) " " code { (finding.rule) } ": " (printable_text(&finding.text)) " "
                        span.quiet {
                            (finding.occurrences_in_words())
                            @if finding.known.is_some() { " (known)" }
                            @if let Some(demand) = finding.rule_text() { "; demanded: " (demand) }
                        }
                    }
                }
            }
        }
        p { a href=(REQUIREMENTS) { (requirements::TITLE) } ", with the result of this run beside each statement." }
        @let stale = report.stale_entries();
        @if !stale.is_empty() {
            p { strong { "Entries for known failures that matched no failure:" } }
            ul { @for wrong in &stale { li { (wrong) } } }
        }
        p.quiet {
            "Each case starts a small Kubernetes control plane of its own and a CSI driver with storage pools, lets the \
             programs under test work, and watches. The free capacity of a pool takes this path: the " em { "driver" } " returns it from GetCapacity, a "
            em { "publisher" } " writes that into CSIStorageCapacity objects in the " em { "API server" } ", and a "
            em { "scheduler" } " reads them to place pods. A failure reports the first of these steps that did not happen as expected."
        }
    }
}

/// The failures, grouped by their first missing link.
fn causes(report: &Report) -> Markup {
    let causes = report.causes();
    html! {
        @if !causes.is_empty() {
            h2 { "Failures, by the first step that was never observed" }
            ol.causes {
                @for group in &causes {
                    li {
                        strong { (printable_text(&group.link)) }
                        ul {
                            @for case in &group.cases {
                                li { a href={ "#" (anchor(case)) } { (case.id) } ": " (case.title) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Heading, note and cases of each section, most important first.
fn sections(report: &Report) -> [(&'static str, &'static str, Vec<&CaseRecord>); 4] {
    let of = |predicate: &dyn Fn(&CaseRecord) -> bool| {
        report.cases.iter().filter(|case| predicate(case)).collect()
    };
    [
        (
            "Failures",
            "These cases count against the system.",
            of(&CaseRecord::counts_as_failure),
        ),
        (
            "Without a verdict",
            "These cases have no verdict about the system: they could not be run, or the host was too busy.",
            of(&|case| matches!(case.verdict, CaseVerdict::Error | CaseVerdict::Inconclusive)),
        ),
        (
            "Provisional failures",
            "The expectations of these cases are provisional, so the failures do not count against the system.",
            of(&|case| case.verdict.is_failure() && !case.counts_as_failure()),
        ),
        (
            "Known failures",
            "The manifest of the system lists each of these failures with an issue, and with the date until which it is excused.",
            of(&|case| case.verdict == CaseVerdict::KnownFailure),
        ),
    ]
}

/// A folded list of the cases whose verdict needs no explanation.
fn folded_case_list(report: &Report, catalogue: &Catalogue, verdict: CaseVerdict, heading: &str) -> Markup {
    let of_verdict = report.cases.iter().filter(|case| case.verdict == verdict);
    let cases: Vec<&CaseRecord> = of_verdict.collect();
    html! {
        @if !cases.is_empty() {
            section {
                details {
                    summary { h2 { (heading) ": " (cases.len()) } }
                    ul.cases {
                        @for case in cases {
                            li id=(anchor(case)) data-kind=(filter::kind(case)) {
                                code { (case.id) } " " (case.title)
                                @if !case.reason.is_empty() { " — " em { (printable_text(&case.reason)) } }
                                (requirement_links(case, catalogue))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn requirement_links(case: &CaseRecord, catalogue: &Catalogue) -> Markup {
    let known = case.requirements.iter();
    html! {
        @for id in known.filter(|id| catalogue.entry(id).is_some()) {
            " " a.quiet href=(to_requirement(id)) { (id) }
        }
    }
}

fn footer(report: &Report) -> Markup {
    let settings = &report.settings;
    let features = &report.system.features;
    html! {
        footer {
            p {
                "Created by csi-capacity-harness " (report.harness) " with " code { (program()) " " (report.command.join(" ")) }
                ": poll interval " (settings.refresh_milliseconds) " ms, bounds × " (settings.patience) ", "
                (settings.attempts) " attempt(s) per case, API server " (settings.api_server) "."
                @if !features.is_empty() { " It claims " (features.join(", ")) "." }
                " The same record is in " code { "report.json" } ", format " (report.format) "."
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
