//! Output for GitHub Actions: annotations on standard output, and the job summary.
//!
//! Owns the escaping of workflow commands. The caller decides whether the job runs on GitHub.

use std::io::Write as _;
use std::path::Path;

use super::escape::{workflow_message, workflow_property};
use super::{CaseRecord, CaseVerdict, Report, markdown};

/// Maximum number of annotations of each kind. GitHub shows ten per step, so the tenth annotation summarizes the rest.
const SHOWN: usize = 10;

/// Maximum size of a summary in bytes; GitHub rejects more than 1 MiB.
const SUMMARY: usize = 200 * 1024;

/// Annotations for failed, inconclusive and unexpectedly passed cases, stale entries, findings, and reasons for a partial result.
pub fn annotations(report: &Report) -> Vec<String> {
    let is_error = |case: &&CaseRecord| case.counts_as_failure() || case.verdict == CaseVerdict::Error;
    let errors: Vec<&CaseRecord> = report.cases.iter().filter(is_error).collect();
    let is_warning = |case: &&CaseRecord| case.needs_attention() && !is_error(case);
    let is_surprise = |case: &&CaseRecord| case.verdict == CaseVerdict::Pass && !case.reason.is_empty();
    let warnings = report
        .cases
        .iter()
        .filter(|case| is_warning(case) || is_surprise(case));
    let mut lines = annotate(report, "error", &errors);
    lines.extend(annotate(report, "warning", &warnings.collect::<Vec<_>>()));
    for wrong in report.stale_entries() {
        lines.push(format!(
            "::error title=known failures::{}",
            workflow_message(&wrong)
        ));
    }
    for finding in report.unexcused_findings() {
        let text = format!(
            "{}: {} ({})",
            finding.role,
            finding.text,
            finding.occurrences_in_words()
        );
        lines.push(format!(
            "::error title=finding {}::{}",
            finding.rule,
            workflow_message(&text)
        ));
    }
    for reason in &report.partial {
        lines.push(format!("::notice title=partial::{}", workflow_message(reason)));
    }
    lines
}

fn annotate(report: &Report, kind: &str, cases: &[&CaseRecord]) -> Vec<String> {
    let shown = if cases.len() > SHOWN { SHOWN - 1 } else { SHOWN };
    let mut lines: Vec<String> = cases
        .iter()
        .take(shown)
        .map(|case| annotation(report, kind, case))
        .collect();
    if cases.len() > shown {
        let rest: Vec<&str> = cases.iter().skip(shown).map(|case| case.id.as_str()).collect();
        let text = format!("{} more:\n{}", rest.len(), rest.join("\n"));
        lines.push(format!(
            "::{kind} title=and more cases::{}",
            workflow_message(&text)
        ));
    }
    lines
}

fn annotation(report: &Report, kind: &str, case: &CaseRecord) -> String {
    let (file, line) = annotation_position(report, case);
    let title = format!("{}: {}", case.verdict, case.id);
    let text = match &case.explanation {
        Some(explanation) => format!("{}\n{}\n\n{explanation}", case.title, case.reason),
        None => format!("{}\n{}", case.title, case.reason),
    };
    format!(
        "::{kind} file={},line={line},title={}::{}",
        workflow_property(&file),
        workflow_property(&title),
        workflow_message(&text)
    )
}

/// File and line of the annotation. The repository of a tested program does not contain the case files of this project, so the annotation
/// refers to the line of the manifest with the feature or role that selects the case.
fn annotation_position(report: &Report, case: &CaseRecord) -> (String, u64) {
    let manifest = report.command.iter().find_map(|word| word.strip_prefix("--sut="));
    let Some(manifest) = manifest else {
        return (case.file.clone(), case.line);
    };
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    let names = case.features.iter().chain(&report.system.roles);
    let line = names.into_iter().find_map(|name| {
        let line = text.lines().position(|line| line.contains(name.as_str()))?;
        u64::try_from(line + 1).ok()
    });
    (manifest.to_owned(), line.unwrap_or(1))
}

/// Appends the report to the job summary, the file named by `GITHUB_STEP_SUMMARY`.
pub fn append_summary(report: &Report, file: &Path) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(file, "{}", markdown::page(report, SUMMARY))
}

/// A workflow command that disables workflow commands until [`resume_commands`], because the output of systems under test could contain some.
pub fn stop_commands(token: &str) -> String {
    format!("::stop-commands::{token}")
}

/// Ends the effect of [`stop_commands`].
pub fn resume_commands(token: &str) -> String {
    format!("::{token}::")
}
