//! HTML of a case that did not pass: requirements, actions, expected vs. actual, and the causal chain.

use std::path::Path;

use harness::judge::{DiffRow, RowState};
use maud::{Markup, html};

use super::super::escape::plain;
use super::super::{CaseRecord, IndicatorRecord, IndicatorState};
use super::anchor::{anchor, to_requirement};
use super::filter::kind;
use super::stored_run::StoredRun;
use super::{diagram, plot};
use crate::Catalogue;

/// A case with all details.
pub(super) fn article(case: &CaseRecord, catalogue: &Catalogue, folder: &Path) -> Markup {
    let run = case.folder.as_ref();
    let stored_run = run.and_then(|run| StoredRun::load(&folder.join(run)));
    html! {
        article id=(anchor(case)) data-kind=(kind(case)) {
            h3 { span.verdict { (case.verdict.words()) } " " (case.title) }
            p {
                code { (case.id) } (format_args!(" · {:.2} s · ", case.seconds)) code { (case.file) ":" (case.line) }
            }
            p.reason { (plain(&case.reason)) }
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
                    pre { (plain(explanation)) }
                }
            }
        }
    }
}

/// The health indicators, each with the question that it answers.
fn health(indicators: &[IndicatorRecord]) -> Markup {
    let groups = indicators.chunk_by(|one, next| one.question == next.question);
    html! {
        @if !indicators.is_empty() {
            details {
                summary { "Health indicators of the cluster at the end" }
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
                                (plain(&indicator.subject)) ": " (plain(&indicator.message))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A case in one line, for reports with too many cases to explain each.
pub(super) fn line(case: &CaseRecord) -> Markup {
    html! {
        p id=(anchor(case)) data-kind=(kind(case)) { (case.verdict.words()) " " code { (case.id) } ": " (plain(&case.reason)) }
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

/// The sections of the page that are computed from the journal of the case.
fn journal_sections(stored_run: &StoredRun, case: &CaseRecord) -> Markup {
    html! {
        (step(stored_run))
        (rows(&stored_run.failure.rows))
        (chain(stored_run))
        (diagram::figure(stored_run, case))
        (plot::figures(stored_run, case))
    }
}

/// The harness's actions in the step, and the failed expectation with its reason.
fn step(stored_run: &StoredRun) -> Markup {
    let (plan, failure) = (&stored_run.plan, &stored_run.failure);
    let Some(step) = plan.steps.get(failure.step) else {
        return Markup::default();
    };
    let expect = failure.expect.and_then(|at| step.expect.get(at));
    html! {
        h4 { "Actions of step " (failure.step + 1) " of " (plan.steps.len()) ", “" (step.id) "”" }
        @if !step.actions.is_empty() {
            ol {
                @for (_, text) in &step.actions { li { (plain(text)) } }
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
                        @for row in sorted.iter().take(ROWS) { (compared(row)) }
                    }
                }
            }
        }
        @if sorted.len() > ROWS { p { "and " (sorted.len() - ROWS) " more" } }
    }
}

fn compared(row: &DiffRow) -> Markup {
    let (class, note) = match row.state {
        RowState::Same => ("same", "= as expected"),
        RowState::Missing => ("wrong", "− missing"),
        RowState::Extra => ("wrong", "+ not expected"),
        RowState::Differs => ("wrong", "≠ differs"),
    };
    html! {
        tr class=(class) {
            th scope="row" { (plain(&row.subject.cells().join(" "))) }
            td { (plain(&row.want)) }
            td { (plain(&row.got)) }
            td { (note) }
        }
    }
}

/// The causal chain up to its first missing link.
fn chain(stored_run: &StoredRun) -> Markup {
    let links = &stored_run.failure.chain.links;
    let first_missing = links.iter().position(|link| link.fact.is_none());
    let seen = |at: usize| match links[at].fact {
        Some(_) => ("seen", "✓ seen:"),
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
                        (mark) " " (plain(&link.text))
                        @if !link.note.is_empty() { " — " strong { (plain(&link.note)) } }
                    }
                }
            }
        }
    }
}
