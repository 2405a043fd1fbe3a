//! `report.md`, and the job summary of GitHub Actions: a table of areas, and folded failures.

use harness::invocation::program;
use std::fmt::Write as _;

use super::escape::{markdown, markdown_block, xml};
use super::{CaseRecord, CaseVerdict, Report};

/// The report as Markdown of about `limit` bytes at most: failures beyond the limit are listed without their explanation.
pub(super) fn page(report: &Report, limit: usize) -> String {
    let mut out = String::new();
    let name = format!("{} {}", report.system.name, report.system.version);
    let stale = report.stale_entries();
    let word = if report.counted_failures().next().is_some()
        || !stale.is_empty()
        || report.unexcused_findings().next().is_some()
    {
        "failed"
    } else {
        "result"
    };
    push_line(
        &mut out,
        &format!("## Storage capacity: {word} of {}\n", markdown(name.trim())),
    );
    push_line(
        &mut out,
        &format!("**{}** in {:.1} s\n", report.counts_in_words(), report.seconds),
    );
    for group in report.repeated_causes() {
        push_line(&mut out, &format!("- {}", markdown(&group.heading())));
    }
    for finding in &report.findings {
        let known = finding.known.as_ref().map_or("", |_| " (known)");
        let text = format!(
            "{} {}: {} ({}){known}",
            finding.role,
            finding.rule,
            finding.text,
            finding.occurrences_in_words()
        );
        push_line(&mut out, &format!("- finding: {}", markdown(&text)));
        if let Some(demand) = finding.rule_text() {
            push_line(&mut out, &format!("  - demanded: {}", markdown(&demand)));
        }
    }
    for reason in &report.partial {
        push_line(&mut out, &format!("- partial: {}", markdown(reason)));
    }
    for wrong in &stale {
        push_line(&mut out, &format!("- wrong: {}", markdown(wrong)));
    }
    if !report.partial.is_empty() || !stale.is_empty() {
        out.push('\n');
    }
    areas(&mut out, report);
    let open: Vec<&CaseRecord> = report
        .cases
        .iter()
        .filter(|case| case.needs_attention())
        .collect();
    failures(&mut out, &open, limit);
    push_known_failures(&mut out, report);
    push_line(
        &mut out,
        &format!(
            "\nCreated by csi-capacity-harness {} with <code>{program} {}</code>, API server {}, {}.",
            markdown(&report.harness),
            markdown(&report.command.join(" ")),
            markdown(&report.settings.api_server),
            markdown(&report.started),
            program = program()
        ),
    );
    out
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// Writes a table with one row per area, and one column per verdict that occurs.
fn areas(out: &mut String, report: &Report) {
    let columns = || {
        CaseVerdict::ALL
            .into_iter()
            .filter(|verdict| report.count(*verdict) > 0)
    };
    let head: String = columns()
        .map(|verdict| format!(" {} |", verdict.words()))
        .collect();
    let rule: String = columns().map(|_| "---:|").collect();
    push_line(out, &format!("| | area |{head}\n|---|---|{rule}"));
    for (area, counts) in report.verdicts_by_area() {
        let is_bad = report.counted_failures().any(|case| case.area() == area);
        let mark = if is_bad { "❌" } else { "✅" };
        let is_shown = counts.keys().any(|verdict| *verdict != CaseVerdict::Skip);
        let mark = if is_shown { mark } else { "➖" };
        let cells: String = columns()
            .map(|verdict| {
                let count = counts.get(&verdict).copied().unwrap_or_default();
                if count == 0 {
                    " |".to_owned()
                } else {
                    format!(" {count} |")
                }
            })
            .collect();
        push_line(out, &format!("| {mark} | {} |{cells}", markdown(&area)));
    }
    out.push('\n');
}

fn failures(out: &mut String, open: &[&CaseRecord], limit: usize) {
    let mut left_out = Vec::new();
    for case in open {
        let text = failure(case);
        // Keep enough of the size limit for the names of omitted failures.
        if out.len() + text.len() + open.len() * 80 > limit {
            left_out.push(case);
        } else {
            out.push_str(&text);
        }
    }
    if left_out.is_empty() {
        return;
    }
    push_line(
        out,
        &format!(
            "\n{} more, whose explanations are in the full report:\n",
            left_out.len()
        ),
    );
    const NAMED: usize = 50;
    for case in left_out.iter().take(NAMED) {
        push_line(out, &format!("- {}", markdown(&case.id)));
    }
    if left_out.len() > NAMED {
        push_line(out, &format!("- and {} more", left_out.len() - NAMED));
    }
}

fn failure(case: &CaseRecord) -> String {
    let mut out = String::new();
    let words = case.verdict.words();
    let _ = write!(
        out,
        "<details><summary>{words}: <b>{}</b>: {}</summary>\n\n{}\n\n",
        in_html(&case.id),
        in_html(&case.title),
        markdown(&case.reason)
    );
    if let Some(explanation) = &case.explanation {
        out.push_str(&markdown_block(explanation));
    }
    out.push_str("\n</details>\n");
    out
}

/// Lists known failures with their reasons, so that readers do not mistake them for passes.
fn push_known_failures(out: &mut String, report: &Report) {
    let of = |verdict: CaseVerdict| report.cases.iter().filter(move |case| case.verdict == verdict);
    if of(CaseVerdict::KnownFailure).next().is_some() {
        push_line(out, "\nKnown failures:\n");
        for case in of(CaseVerdict::KnownFailure) {
            push_line(
                out,
                &format!("- {}: {}", markdown(&case.id), markdown(&case.reason)),
            );
        }
    }
    let surprising: Vec<_> = of(CaseVerdict::Pass)
        .filter(|case| !case.reason.is_empty())
        .collect();
    for case in surprising {
        push_line(
            out,
            &format!("- {} {}", markdown(&case.id), markdown(&case.reason)),
        );
    }
}

/// Escapes text in an HTML line, where GitHub renders mentions but no Markdown.
fn in_html(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    xml(&line).replace('@', "&#64;")
}
