//! `selftest.md`: the problems, the defects as a table, and the folded failure of each case that must detect a defect.

use super::{DefectResult, FileViolationCoverage, SelftestReport, UnviolatedRequirement};
use suites::harness::invocation::program;
use suites::report::escape::{markdown, markdown_block, xml};

/// Renders the self-test report as Markdown.
pub fn page(report: &SelftestReport) -> String {
    let mut out = format!("## {}\n\n", markdown(&headline(report)));
    for problem in &report.problems {
        let case = problem.case.as_deref().unwrap_or_default();
        out.push_str(&format!("- **{}** {}\n", markdown(case), markdown(&problem.text)));
    }
    for open in &report.undecided {
        out.push_str(&format!("- undecided: {}\n", markdown(open)));
    }
    out.push_str(
        "\n| | defect | what it does | modelled on | to be detected by | detected by |\n|---|---|---|---|---|---:|\n",
    );
    for defect in &report.defects {
        out.push_str(&defect_row(defect));
    }
    out.push('\n');
    for defect in &report.defects {
        out.push_str(&folded_failures(defect));
    }
    if let Some(demands) = &report.demands {
        out.push_str(&never_violated(&demands.files));
    }
    out.push_str(&format!(
        "\nCreated by csi-capacity-harness {} with <code>{program} {}</code>, {}.\n",
        markdown(&report.harness),
        markdown(&report.command.join(" ")),
        markdown(&report.started),
        program = program()
    ));
    out
}

/// Whether the self-test passed, in one line.
pub(super) fn headline(report: &SelftestReport) -> String {
    let word = match (report.problems.len(), report.undecided.len()) {
        (0, 0) => "all defects detected".to_owned(),
        (0, open) => format!("{open} undecided"),
        (1, _) => "1 problem".to_owned(),
        (problems, _) => format!("{problems} problems"),
    };
    let partial = report.partial.iter().map(|why| format!("; partial: {why}"));
    format!(
        "Self-test: {word}; {} of {} defects detected as expected, {}{}",
        report.count_defects_with_claims_held(),
        report.defects.len(),
        report.baseline_summary(),
        partial.collect::<String>(),
    )
}

/// Lists, for each case file, the requirements that no defect detected by its cases violates. Requirements of core cases are bold.
fn never_violated(files: &FileViolationCoverage) -> String {
    let mut out = format!("\n{}.\n\n", markdown(&files.to_string()));
    for UnviolatedRequirement {
        file,
        requirement,
        core,
    } in &files.unbroken
    {
        let mark = if *core { "**" } else { "" };
        out.push_str(&format!(
            "- {mark}{}{mark} {}\n",
            markdown(requirement),
            markdown(file)
        ));
    }
    out
}

fn defect_row(defect: &DefectResult) -> String {
    let claimed: Vec<&str> = defect.claims.iter().map(|claim| claim.case.as_str()).collect();
    format!(
        "| {} | {} | {} | {} | {} | {} of {} |\n",
        defect.status(),
        markdown(&defect.name),
        markdown(&defect.text),
        markdown(&defect.source),
        markdown(&claimed.join(", ")),
        defect.caught_by.len(),
        defect.caught_by.len() + defect.missed_by.len(),
    )
}

fn folded_failures(defect: &DefectResult) -> String {
    let folds = defect.claims.iter().filter_map(|claim| {
        Some(format!(
            "<details><summary>{}: <b>{}</b></summary>\n\n{}\n\n</details>\n",
            defect.status(),
            xml(&defect.name),
            markdown_block(claim.explanation.as_ref()?)
        ))
    });
    folds.collect()
}
