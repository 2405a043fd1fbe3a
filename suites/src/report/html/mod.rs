//! `report.html`: one page that needs nothing else, for people who may never have heard of this project.
//!
//! No script, no link to a style or a font: what is seen is in the file. Every foreign text goes through [`xml`]. The page is
//! well-formed XML too, so that a parser can hold it to that.

mod anchor;
mod case;
mod diagram;
mod matrix;
mod plot;
mod story;

use std::path::Path;

use super::escape::xml;
use super::{CaseRecord, CaseVerdict, Report};
use crate::Catalogue;

/// What pages look like.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Cases that are explained at most; further ones are named with their reason.
const EXPLAINED: usize = 100;

/// The page. `folder`: what the paths in the record start from.
pub(super) fn page(report: &Report, folder: &Path) -> String {
    let title = headline(report);
    let system = format!("{} {}", report.system.name, report.system.version);
    let catalogue = Catalogue::load();
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}: {system}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<header>\n<h1>{title}</h1>\n",
        title = xml(&title),
        system = xml(system.trim()),
    );
    out.push_str(&about(report));
    out.push_str("</header>\n<main>\n");
    out.push_str(&matrix::table(report));
    for (heading, note, cases) in sections(report) {
        if cases.is_empty() {
            continue;
        }
        out.push_str(&format!("<section>\n<h2>{heading}</h2>\n<p>{note}</p>\n"));
        for (number, case) in cases.into_iter().enumerate() {
            out.push_str(&match number {
                0..EXPLAINED => case::article(case, &catalogue, folder),
                _ => case::line(case),
            });
        }
        out.push_str("</section>\n");
    }
    out.push_str(&rest(report));
    out.push_str("</main>\n");
    out.push_str(&footer(report));
    out.push_str("</body>\n</html>\n");
    out
}

fn headline(report: &Report) -> String {
    let run = report
        .cases
        .iter()
        .filter(|case| case.verdict != CaseVerdict::Skip)
        .count();
    let cases = if run == 1 { "case" } else { "cases" };
    match (
        report.bad().count(),
        report.cases.iter().filter(|case| case.is_open()).count(),
    ) {
        (0, 0) => format!("Storage capacity: {run} {cases}, none failed"),
        (0, open) => format!("Storage capacity: {run} {cases}, none failed, {open} to look at"),
        (bad, _) => format!("Storage capacity: {bad} of {run} {cases} failed"),
    }
}

/// What was tested, and what a case is.
fn about(report: &Report) -> String {
    let mut out = format!(
        "<p>Tested: <strong>{} {}</strong>{}. {}, in {:.1} s, on {}.</p>\n",
        xml(&report.system.name),
        xml(&report.system.version),
        match report.system.roles.as_slice() {
            [] => String::new(),
            roles => format!(" as {}", xml(&roles.join(" and "))),
        },
        xml(&capitalized(&report.counts_in_words())),
        report.seconds,
        xml(&report.started),
    );
    if !report.partial.is_empty() {
        out.push_str("<p><strong>This result is partial:</strong></p>\n<ul>\n");
        for reason in &report.partial {
            out.push_str(&format!("<li>{}</li>\n", xml(reason)));
        }
        out.push_str("</ul>\n");
    }
    if !report.findings.is_empty() {
        out.push_str("<p><strong>Findings</strong>: what a program did wrong beside the point of the cases</p>\n<ul>\n");
        for finding in &report.findings {
            let known = finding.known.as_ref().map_or("", |_| " (known)");
            out.push_str(&format!(
                "<li>{} <code>{}</code>: {} <span class=\"quiet\">{}{known}{}</span></li>\n",
                xml(&finding.role),
                xml(&finding.rule),
                xml(&finding.text),
                xml(&finding.extent()),
                finding
                    .demand()
                    .map_or_else(String::new, |demand| format!("; demanded: {}", xml(&demand)))
            ));
        }
        out.push_str("</ul>\n");
    }
    let idle = report.idle_entries();
    if !idle.is_empty() {
        out.push_str("<p><strong>Entries for known failures that excuse nothing:</strong></p>\n<ul>\n");
        for wrong in &idle {
            out.push_str(&format!("<li>{}</li>\n", xml(wrong)));
        }
        out.push_str("</ul>\n");
    }
    out.push_str(
        "<p class=\"quiet\">Each case starts a small Kubernetes control plane of its own and a CSI driver with storage pools, lets the \
         programs under test work, and watches. A pool’s free bytes go one way: the <em>driver</em> answers GetCapacity, a \
         <em>publisher</em> writes that into CSIStorageCapacity objects in the <em>API server</em>, and a <em>scheduler</em> reads \
         them to place pods. A failure says where on that way it went wrong.</p>\n",
    );
    out
}

/// Heading, note, and the cases below it, most important first.
fn sections(report: &Report) -> [(&'static str, &'static str, Vec<&CaseRecord>); 4] {
    let of =
        |is_meant: &dyn Fn(&CaseRecord) -> bool| report.cases.iter().filter(|case| is_meant(case)).collect();
    [
        (
            "Failures",
            "These count against the system.",
            of(&CaseRecord::is_bad),
        ),
        (
            "Without a verdict",
            "These say nothing about the system: they could not be run, or the machine was too busy to decide.",
            of(&|case| matches!(case.verdict, CaseVerdict::Error | CaseVerdict::Inconclusive)),
        ),
        (
            "Provisional failures",
            "What these cases demand is not settled yet, so they do not count.",
            of(&|case| case.verdict.is_failure() && !case.is_bad()),
        ),
        (
            "Known failures",
            "The manifest of the system names them with an issue and the day until which they are excused.",
            of(&|case| case.verdict == CaseVerdict::KnownFailure),
        ),
    ]
}

/// What passed and what was skipped, folded.
fn rest(report: &Report) -> String {
    let mut out = String::new();
    for (verdict, heading) in [(CaseVerdict::Pass, "Passed"), (CaseVerdict::Skip, "Skipped")] {
        let cases: Vec<_> = report
            .cases
            .iter()
            .filter(|case| case.verdict == verdict)
            .collect();
        if cases.is_empty() {
            continue;
        }
        out.push_str(&format!(
            "<section>\n<details><summary><h2>{heading}: {}</h2></summary>\n<ul class=\"cases\">\n",
            cases.len()
        ));
        for case in cases {
            out.push_str(&format!(
                "<li><code>{}</code> {}{}</li>\n",
                xml(&case.id),
                xml(&case.title),
                match case.reason.as_str() {
                    "" => String::new(),
                    reason => format!(" — <em>{}</em>", xml(reason)),
                }
            ));
        }
        out.push_str("</ul>\n</details>\n</section>\n");
    }
    out
}

fn footer(report: &Report) -> String {
    let settings = &report.settings;
    let features = match report.system.features.as_slice() {
        [] => String::new(),
        features => format!(" It claims {}.", xml(&features.join(", "))),
    };
    format!(
        "<footer>\n<p>Made by csi-capacity-harness {} with <code>cargo xtask {}</code>: poll interval {} ms, bounds × {}, \
         {} attempt(s) per case, API server {}.{features} The same record stands in <code>report.json</code>, format {}.</p>\n</footer>\n",
        xml(&report.harness),
        xml(&report.command.join(" ")),
        settings.refresh_milliseconds,
        settings.patience,
        settings.attempts,
        xml(&settings.api_server),
        report.format,
    )
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
