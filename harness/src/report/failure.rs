//! The text that explains a failure: requirement, step, expected and actual values, the causal chain with its first missing link, timeline,
//! and commands to run next.

use std::fmt::Write as _;

use super::{Paint, timeline};
use crate::journal::Fact;
use crate::judge::{DiffRow, Failure, RowState};
use crate::plan::Plan;

/// Data about a failed case that the caller provides for the failure text.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The requirements that the case tests, from the catalogue.
    pub requirements: Vec<Requirement>,
    /// Whether the harness was delayed, so that the result is inconclusive.
    pub is_inconclusive: bool,
    /// Error messages in the logs of the programs under test.
    pub logged_errors: Vec<String>,
    /// Command that runs only this case again.
    pub rerun: String,
    /// Additional lines for the user, such as paths of files and other commands.
    pub files: Vec<String>,
}

/// A requirement from the requirement catalogue.
#[derive(Debug, Clone)]
pub struct Requirement {
    /// Id of the requirement.
    pub id: String,
    /// The requirement in one sentence.
    pub text: String,
    /// The document that contains the requirement.
    pub source: String,
    /// Verbatim sentence of the document; `None` if the document has no such sentence.
    pub quote: Option<String>,
    /// Document of the quote, if it differs from `source`.
    pub quote_from: Option<String>,
    /// The part of the requirement's `text` that the quote does not require.
    pub beyond: Option<String>,
}

impl Requirement {
    /// The quote of the requirement with its id and source; without a quote, the `text` of the catalogue.
    pub fn sentence(&self) -> String {
        let source = self.quote_from.as_ref().unwrap_or(&self.source);
        match &self.quote {
            Some(quote) => format!("“{quote}” ({}, {source})", self.id),
            None => format!("{} ({}, derived)", self.text, self.id),
        }
    }
}

/// Maximum number of rows in the table of expected and actual values. Rows without a difference are dropped first.
const ROWS_MAX: usize = 10;

/// Formats the text that explains a failure, in about forty lines at most.
pub fn format_failure(
    plan: &Plan,
    facts: &[Fact],
    failure: &Failure,
    context: &Context,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let word = match context.is_inconclusive {
        true => "UNDECIDED",
        false => "FAIL",
    };
    let took = facts.last().map_or(0.0, |fact| fact.at().as_secs_f64());
    write_line(
        &mut out,
        &format!("{}  {}  {took:.2}s", paint.bad(word), paint.strong(plan.id())),
    );
    write_line(&mut out, &format!("  title   {}", plan.title));
    for requirement in context.requirements.iter().take(3) {
        write_line(&mut out, &format!("  must    {}", requirement.sentence()));
    }
    if let Some(beyond) = &plan.beyond {
        write_line(&mut out, &format!("  beyond the documents: {beyond}"));
    }
    if let Some(step) = plan.steps.get(failure.step) {
        let position = format!("{}:{}", plan.source, step.line);
        let number = format!("{} of {}", failure.step + 1, plan.steps.len());
        write_line(
            &mut out,
            &format!("  step    {number} “{}” {}", step.id, paint.dim(&position)),
        );
        if let Some(expect) = failure.expect.and_then(|at| step.expect.get(at)) {
            write_line(&mut out, &format!("  why     {}", expect.why));
        }
    }
    write_line(&mut out, &format!("  verdict {}", failure.summary));
    if context.is_inconclusive {
        write_line(
            &mut out,
            "          but the host was too busy: the harness itself stalled for a large part of that time",
        );
    }
    write_rows(&mut out, &failure.rows, paint);
    write_chain(&mut out, failure, facts, paint);
    write_line(&mut out, "  timeline (t=0 at the start of the step, * decided)");
    for entry in timeline::timeline(facts, failure) {
        write_line(&mut out, &format!("    {entry}"));
    }
    // If a program exited, the failure's summary already contains the last lines of the program.
    if failure.exit.is_none() {
        for (at, logged) in context.logged_errors.iter().enumerate() {
            write_line(
                &mut out,
                &format!("  {:<7} {logged}", if at == 0 { "log" } else { "" }),
            );
        }
    }
    if !context.rerun.is_empty() {
        write_line(&mut out, &format!("  rerun   {}", context.rerun));
    }
    for file in &context.files {
        write_line(&mut out, &format!("  {file}"));
    }
    out
}

fn write_line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Writes the expected and actual values as a table, with the differing rows first.
fn write_rows(out: &mut String, rows: &[DiffRow], paint: Paint) {
    if rows.is_empty() {
        return;
    }
    let mut sorted: Vec<&DiffRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.state == RowState::Same);
    let subject = |row: &DiffRow| row.subject.cells().join("  ");
    let width = |of: &dyn Fn(&DiffRow) -> usize| sorted.iter().map(|row| of(row)).max().unwrap_or(0).min(60);
    let subjects = width(&|row| subject(row).chars().count());
    let wants = width(&|row| row.want.chars().count()).max(4);
    write_line(
        out,
        &format!("      {:<subjects$}  {:<wants$}  {}", "", "want", "got"),
    );
    for row in sorted.iter().take(ROWS_MAX) {
        let (mark, note) = match row.state {
            RowState::Same => ("=", ""),
            RowState::Missing => ("-", "  missing"),
            RowState::Extra => ("+", "  extra"),
            RowState::Differs => ("~", "  differs"),
        };
        let text = format!(
            "    {mark} {:<subjects$}  {:<wants$}  {}{note}",
            subject(row),
            row.want,
            row.got
        );
        write_line(
            out,
            &if row.state == RowState::Same {
                paint.dim(&text)
            } else {
                text
            },
        );
    }
    if sorted.len() > ROWS_MAX {
        let mut more = String::new();
        let _ = write!(more, "    … and {} more rows", sorted.len() - ROWS_MAX);
        write_line(out, &more);
    }
}

fn write_chain(out: &mut String, failure: &Failure, facts: &[Fact], paint: Paint) {
    let started = facts
        .iter()
        .find(|fact| fact.seq == failure.step_started)
        .map_or(0.0, |f| f.at().as_secs_f64());
    let first_missing = failure.chain.links.iter().position(|link| link.fact.is_none());
    for (at, link) in failure.chain.links.iter().enumerate() {
        let label = if at == 0 { "chain  " } else { "       " };
        let evidence = link
            .fact
            .and_then(|seq| facts.iter().find(|fact| fact.seq == seq));
        let text = match evidence {
            Some(fact) => format!("[x] {}  {:+.3}s", link.text, fact.at().as_secs_f64() - started),
            None if first_missing == Some(at) => {
                let (mark, arrow) = match link.is_violation {
                    true => ("[!]", "<-- violated"),
                    false => ("[ ]", "<-- first missing link"),
                };
                let text = paint.bad(&format!("{mark} {}: {}", link.text, link.note));
                format!("{text}  {arrow}")
            }
            None => format!("[ ] {}: {}", link.text, link.note),
        };
        write_line(out, &format!("  {label} {text}"));
    }
}
