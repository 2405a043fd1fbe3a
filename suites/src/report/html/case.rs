//! HTML of a case that did not pass: requirements, actions, expected vs. actual, and the causal chain.

use std::path::Path;

use harness::judge::{DiffRow, RowState};
use maud::{Markup, html};

use super::super::escape::printable_text;
use super::super::{CaseRecord, IndicatorRecord, IndicatorState};
use super::anchor::{anchor, to_requirement};
use super::filter::kind;
use super::stored_run::StoredRun;
use super::{diagram, plot};
use crate::Catalogue;

/// HTML of a case with all details.
pub(super) fn article(case: &CaseRecord, catalogue: &Catalogue, folder: &Path) -> Markup {
    let run = case.folder.as_ref();
    let stored_run = run.and_then(|run| StoredRun::load(&folder.join(run)));
    html! {
        article id=(anchor(case)) data-kind=(kind(case)) {
            h3 { span.verdict { (case.verdict.words()) } " " (case.title) }
            p {
                code { (case.id) } (format_args!(" · {:.2} s · ", case.seconds)) code { (case.file) ":" (case.line) }
            }
            p.reason { (printable_text(&case.reason)) }
            (requirements(case, catalogue))
            @if let Some(stored_run) = &stored_run {
                (journal_sections(stored_run, case))
            } @else if case.explanation.is_some() {
                p.quiet { "This run has no readable journal, so there is no diagram." }
            }
            (health(&case.health))
            @if let Some(explanation) = &case.explanation {
                details {
                    summary { "Terminal output, with the commands to run the case and to evaluate the stored run again" }
                    pre { (printable_text(explanation)) }
                }
            }
        }
    }
}

/// The health indicators, grouped by the question that they answer.
fn health(indicators: &[IndicatorRecord]) -> Markup {
    let groups = indicators.chunk_by(|one, next| one.question == next.question);
    html! {
        @if !indicators.is_empty() {
            details {
                summary { "Health indicators of the cluster at the end of the run" }
                @for group in groups {
                    h4 { (group[0].question) }
                    ul {
                        @for indicator in group {
                            li {
                                @match indicator.state {
                                    IndicatorState::Good => "✓ ",
                                    IndicatorState::Bad | IndicatorState::Risk => { strong { "✗ " } },
                                    IndicatorState::Untidy => "– ",
                                    IndicatorState::Unknown => "? ",
                                }
                                (printable_text(&indicator.subject)) ": " (printable_text(&indicator.message))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// HTML of a case in one line, for reports with too many cases to explain each.
pub(super) fn line(case: &CaseRecord) -> Markup {
    html! {
        p id=(anchor(case)) data-kind=(kind(case)) { (case.verdict.words()) " " code { (case.id) } ": " (printable_text(&case.reason)) }
    }
}

fn requirements(case: &CaseRecord, catalogue: &Catalogue) -> Markup {
    html! {
        @if !case.requirements.is_empty() {
            h4 { "Requirements" }
            ul {
                @for id in &case.requirements {
                    li {
                        @if let Some(known) = catalogue.get(id) {
                            (known.text) " "
                            span.quiet { "(" a href=(to_requirement(id)) { (known.id) } ", " (known.source) ")" }
                        } @else {
                            (id)
                        }
                    }
                }
            }
        }
    }
}

/// The parts of the case that are computed from its journal: actions, table, causal chain, diagram and plots.
fn journal_sections(stored_run: &StoredRun, case: &CaseRecord) -> Markup {
    html! {
        (step_actions(stored_run))
        (rows(&stored_run.failure.rows))
        (chain(stored_run))
        (diagram::figure(stored_run, case))
        (plot::figures(stored_run, case))
    }
}

/// The actions of the harness in the step that failed, and the reason for the failed expectation.
fn step_actions(stored_run: &StoredRun) -> Markup {
    let (plan, failure) = (&stored_run.plan, &stored_run.failure);
    let Some(step) = plan.steps.get(failure.step) else {
        return Markup::default();
    };
    let expect = failure.expect.and_then(|at| step.expect.get(at));
    html! {
        h4 { "Actions of step " (failure.step + 1) " of " (plan.steps.len()) ", “" (step.id) "”" }
        @if !step.actions.is_empty() {
            ol {
                @for (_, text) in &step.actions { li { (printable_text(text)) } }
            }
        } @else if failure.step == 0 {
            p { "None: the programs had just been started." }
        } @else {
            p { "None: the programs continued to run." }
        }
        @if let Some(expect) = expect {
            p { "Expected, because " (expect.why.trim_end_matches('.')) "." }
        }
    }
}

/// Table of expected vs. actual rows, differences first.
fn rows(rows: &[DiffRow]) -> Markup {
    const ROWS: usize = 40;
    let mut sorted: Vec<&DiffRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.state == RowState::Same);
    html! {
        @if !rows.is_empty() {
            h4 { "Expected and actual" }
            div.wide {
                table {
                    thead {
                        tr { th scope="col" { "object" } th scope="col" { "expected" } th scope="col" { "actual" } th scope="col" {} }
                    }
                    tbody {
                        @for row in sorted.iter().take(ROWS) { (diff_row(row)) }
                    }
                }
            }
        }
        @if sorted.len() > ROWS { p { "and " (sorted.len() - ROWS) " more" } }
    }
}

fn diff_row(row: &DiffRow) -> Markup {
    let (class, note) = match row.state {
        RowState::Same => ("same", "= as expected"),
        RowState::Missing => ("wrong", "− missing"),
        RowState::Extra => ("wrong", "+ not expected"),
        RowState::Differs => ("wrong", "≠ differs"),
    };
    html! {
        tr class=(class) {
            th scope="row" { (printable_text(&row.subject.cells().join(" "))) }
            td { (printable_text(&row.want)) }
            td { (printable_text(&row.got)) }
            td { (note) }
        }
    }
}

/// The causal chain, with its first missing link marked.
fn chain(stored_run: &StoredRun) -> Markup {
    let links = &stored_run.failure.chain.links;
    let first_missing = links.iter().position(|link| link.fact.is_none());
    let seen = |at: usize| match links[at].fact {
        Some(_) => ("seen", "✓ seen:"),
        None if links[at].is_violation => ("missing", "✗ violated:"),
        None if first_missing == Some(at) => ("missing", "✗ first missing:"),
        None => ("missing", "✗ missing:"),
    };
    html! {
        @if !links.is_empty() {
            h4 { "Causal chain" }
            ol.chain {
                @for (at, link) in links.iter().enumerate() {
                    @let (class, mark) = seen(at);
                    li class=(class) {
                        (mark) " " (printable_text(&link.text))
                        @if !link.note.is_empty() { " — " strong { (printable_text(&link.note)) } }
                    }
                }
            }
        }
    }
}
