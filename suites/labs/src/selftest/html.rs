//! `selftest.html`: the matrix of defects and areas of cases, and the failure text of each case that must detect a defect.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use suites::harness::invocation::program;

use super::markdown::headline;
use super::{DefectResult, FileViolationCoverage, SelftestReport, UnviolatedRequirement};
use suites::report::escape::printable_text;
use suites::report::whole_page;

/// Renders the self-test report as an HTML page.
pub fn page(report: &SelftestReport) -> String {
    let title = headline(report);
    let body = html! {
        header {
            h1 { (title) }
            p.quiet {
                "Each defect makes one of the references wrong on purpose. The case that is meant to detect a defect must fail with it, and \
                 the first event that the failure reports as missing must point at the defect; without a defect every case must pass."
            }
        }
        main {
            (problems(report))
            (matrix(report))
            @if let Some(demands) = &report.demands { (never_violated(&demands.files)) }
            section {
                h2 { "Defects" }
                @for defect in &report.defects { (defect_section(defect)) }
            }
        }
        footer {
            p {
                "Created by csi-capacity-harness " (report.harness) " with " code { (program()) " " (report.command.join(" ")) } " on "
                (report.started) ": " (report.runs) " runs (" (report.unreached) " pairs left out: the case never reaches the code that the defect changes) in " (format_args!("{:.1}", report.seconds))
                " s. The same record is in " code { "selftest.json" } ", format " (report.format) "."
            }
        }
    };
    whole_page(&title, &body)
}

fn problems(report: &SelftestReport) -> Markup {
    html! {
        @if !(report.problems.is_empty() && report.undecided.is_empty()) {
            section {
                h2 { "To look at" }
                ul {
                    @for problem in &report.problems {
                        li { code { (problem.case.as_deref().unwrap_or_default()) } " " (printable_text(&problem.text)) }
                    }
                    @for open in &report.undecided {
                        li { "undecided: " code { (open) } }
                    }
                }
            }
        }
    }
}

/// Lists, for each case file, the requirements that none of the defects detected by the file's cases violates.
fn never_violated(files: &FileViolationCoverage) -> Markup {
    html! {
        section {
            h2 { "Requirements" }
            p { (files) "." }
            ul {
                @for UnviolatedRequirement { file, requirement, core } in &files.unbroken {
                    li { code { (requirement) } " " (file) @if *core { " " span.bad { "core" } } }
                }
            }
        }
    }
}

/// For each area of cases: the number of cases that detected the defect, and the number that ran with it.
fn detections_by_area(defect: &DefectResult) -> BTreeMap<String, (usize, usize)> {
    let area = |id: &String| id.split('/').take(2).collect::<Vec<_>>().join("/");
    let mut areas: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for id in &defect.caught_by {
        areas.entry(area(id)).or_default().0 += 1;
    }
    for id in defect.caught_by.iter().chain(&defect.missed_by) {
        areas.entry(area(id)).or_default().1 += 1;
    }
    areas
}

/// Renders the matrix of detections: one row per defect, one column per area of cases.
fn matrix(report: &SelftestReport) -> Markup {
    let rows: Vec<_> = report
        .defects
        .iter()
        .map(|defect| (defect, detections_by_area(defect)))
        .collect();
    let areas: BTreeSet<&String> = rows.iter().flat_map(|(_, cells)| cells.keys()).collect();
    html! {
        section {
            h2 { "Matrix" }
            p { "Number of cases that detected the defect, of the cases that ran with it." }
            div.wide {
                table.matrix {
                    thead {
                        tr {
                            th scope="col" { "defect" }
                            th scope="col" { "claim" }
                            @for area in &areas { th scope="col" { (area) } }
                        }
                    }
                    tbody {
                        @for (defect, cells) in &rows {
                            tr {
                                th scope="row" { a href={ "#" (defect.name) } { (defect.name) } }
                                td class=(css_class(defect)) { (defect.status()) }
                                @for area in &areas {
                                    @match cells.get(*area) {
                                        Some((caught, all)) => td.none[*caught == 0] { (caught) " of " (all) },
                                        None => td {},
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn css_class(defect: &DefectResult) -> &'static str {
    match defect.status() {
        "caught" => "good",
        "-" => "none",
        _ => "bad",
    }
}

fn defect_section(defect: &DefectResult) -> Markup {
    html! {
        article id=(defect.name) {
            h3 { code { (defect.name) } " " span class=(css_class(defect)) { (defect.status()) } }
            p { (defect.text) ". After " (defect.source) "." }
            @for claim in &defect.claims {
                p.reason { (claim.case) ": " (printable_text(&claim.link)) }
                @if let Some(text) = &claim.explanation {
                    details {
                        summary { "The failure" }
                        pre { (printable_text(text)) }
                    }
                }
            }
        }
    }
}
