//! The matrix of areas and verdicts, with a way from every number that matters to its cases.

use super::super::escape::xml;
use super::super::{CaseVerdict, Report};
use super::anchor::anchor;

/// One row per area, one column per verdict that there is.
pub(super) fn table(report: &Report) -> String {
    let columns: Vec<CaseVerdict> = CaseVerdict::ALL
        .into_iter()
        .filter(|verdict| report.count(*verdict) > 0)
        .collect();
    let mut out = "<section>\n<h2>Areas</h2>\n<div class=\"wide\"><table class=\"matrix\">\n<thead><tr><th scope=\"col\">area</th>\
                   <th scope=\"col\">result</th>"
        .to_owned();
    for verdict in &columns {
        out.push_str(&format!("<th scope=\"col\">{}</th>", verdict.words()));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (area, counts) in report.matrix() {
        let bad = report.bad().filter(|case| case.area() == area).count();
        let run: usize = counts
            .iter()
            .filter(|(verdict, _)| **verdict != CaseVerdict::Skip)
            .map(|it| it.1)
            .sum();
        let passed = counts.get(&CaseVerdict::Pass).copied().unwrap_or_default();
        let (class, word) = match (bad, run) {
            (0, 0) => ("none", "not run"),
            (0, _) if run == passed => ("good", "✓ pass"),
            (0, _) => ("part", "◐ in part"),
            _ => ("bad", "✗ FAIL"),
        };
        out.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td class=\"{class}\">{word}</td>",
            xml(&area)
        ));
        for verdict in &columns {
            out.push_str(&cell(report, &area, *verdict, counts.get(verdict).copied()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
    out
}

/// A number; for what is explained below, with a link to the first such case.
fn cell(report: &Report, area: &str, verdict: CaseVerdict, count: Option<usize>) -> String {
    let Some(count) = count else {
        return "<td></td>".to_owned();
    };
    let mut cases = report.cases.iter();
    let first = cases.find(|case| case.verdict == verdict && case.area() == area);
    match first.filter(|case| !matches!(case.verdict, CaseVerdict::Pass | CaseVerdict::Skip)) {
        Some(case) => format!("<td><a href=\"#{}\">{count}</a></td>", anchor(case)),
        None => format!("<td>{count}</td>"),
    }
}
