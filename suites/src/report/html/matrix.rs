//! Table of areas and verdicts, with links to the cases.

use maud::{Markup, html};

use super::super::{CaseVerdict, Report};
use super::anchor::anchor;

/// A table with one row per area, and one column per verdict that occurs.
pub(super) fn table(report: &Report) -> Markup {
    let columns: Vec<CaseVerdict> = CaseVerdict::ALL
        .into_iter()
        .filter(|verdict| report.count(*verdict) > 0)
        .collect();
    html! {
        section {
            h2 { "Areas" }
            div.wide {
                table.matrix {
                    thead {
                        tr {
                            th scope="col" { "area" }
                            th scope="col" { "result" }
                            @for verdict in &columns { th scope="col" { (verdict.words()) } }
                        }
                    }
                    tbody {
                        @for (area, counts) in report.verdicts_by_area() {
                            @let count = |verdict: CaseVerdict| counts.get(&verdict).copied();
                            @let run = counts.values().sum::<usize>() - count(CaseVerdict::Skip).unwrap_or_default();
                            @let (class, word) = result(report, &area, run, count(CaseVerdict::Pass).unwrap_or_default());
                            tr {
                                th scope="row" { (area) }
                                td class=(class) { (word) }
                                @for verdict in &columns { td { (cell(report, &area, *verdict, count(*verdict))) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// CSS class and text for the result of an area, given its numbers of executed and passed cases.
fn result(report: &Report, area: &str, run: usize, passed: usize) -> (&'static str, &'static str) {
    let bad = report
        .counted_failures()
        .filter(|case| case.area() == area)
        .count();
    match (bad, run) {
        (0, 0) => ("none", "not run"),
        (0, _) if run == passed => ("good", "✓ pass"),
        (0, _) => ("part", "◐ in part"),
        _ => ("bad", "✗ FAIL"),
    }
}

/// A count with a link to the first counted case, if that case is explained below.
fn cell(report: &Report, area: &str, verdict: CaseVerdict, count: Option<usize>) -> Markup {
    let mut cases = report.cases.iter();
    let first = cases.find(|case| case.verdict == verdict && case.area() == area);
    let explained = first.filter(|case| !matches!(case.verdict, CaseVerdict::Pass | CaseVerdict::Skip));
    html! {
        @match (count, explained) {
            (Some(count), Some(case)) => a href={ "#" (anchor(case)) } { (count) },
            (Some(count), None) => (count),
            (None, _) => {}
        }
    }
}
