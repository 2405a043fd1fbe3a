//! The matrix of areas and verdicts, with a way from every number that matters to its cases.

use super::super::escape::xml;
use super::super::{Report, VERDICTS};
use super::anchor::anchor;

/// One row per area, one column per verdict that there is.
pub(super) fn table(report: &Report) -> String {
    let columns: Vec<_> = VERDICTS
        .iter()
        .filter(|(verdict, _)| report.count(verdict) > 0)
        .collect();
    let mut out = "<section>\n<h2>Areas</h2>\n<div class=\"wide\"><table class=\"matrix\">\n<thead><tr><th scope=\"col\">area</th>\
                   <th scope=\"col\">result</th>"
        .to_owned();
    for (_, words) in &columns {
        out.push_str(&format!("<th scope=\"col\">{words}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (area, counts) in report.matrix() {
        let bad = report.bad().filter(|case| case.area() == area).count();
        let run: usize = counts
            .iter()
            .filter(|(verdict, _)| **verdict != "skip")
            .map(|it| it.1)
            .sum();
        let passed = counts.get("pass").copied().unwrap_or_default();
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
        for (verdict, _) in &columns {
            out.push_str(&cell(report, &area, verdict, counts.get(verdict).copied()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
    out
}

/// A number; for what is explained below, with a link to the first such case.
fn cell(report: &Report, area: &str, verdict: &str, count: Option<usize>) -> String {
    let Some(count) = count else {
        return "<td></td>".to_owned();
    };
    let mut cases = report.cases.iter();
    let first = cases.find(|case| case.verdict == verdict && case.area() == area);
    match first.filter(|case| !matches!(case.verdict.as_str(), "pass" | "skip")) {
        Some(case) => format!("<td><a href=\"#{}\">{count}</a></td>", anchor(case)),
        None => format!("<td>{count}</td>"),
    }
}
