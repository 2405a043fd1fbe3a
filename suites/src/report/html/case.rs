//! One case that did not pass: what was demanded, what was done, what was seen instead, and where the chain of causes ends.

use std::path::Path;

use harness::judge::{DiffRow, RowState};

use super::super::CaseRecord;
use super::super::escape::xml;
use super::anchor::anchor;
use super::story::Story;
use super::{diagram, plot};
use crate::Catalogue;

/// The case with all that explains it.
pub(super) fn article(case: &CaseRecord, catalogue: &Catalogue, folder: &Path) -> String {
    let mut out = format!(
        "<article id=\"{}\">\n<h3><span class=\"verdict\">{}</span> {}</h3>\n<p><code>{}</code> · {:.2} s · \
         <code>{}:{}</code></p>\n",
        anchor(case),
        words(case),
        xml(&case.title),
        xml(&case.id),
        case.seconds,
        xml(&case.file),
        case.line,
    );
    out.push_str(&format!("<p class=\"reason\">{}</p>\n", xml(&case.reason)));
    out.push_str(&requirements(case, catalogue));
    match case
        .folder
        .as_ref()
        .and_then(|run| Story::load(&folder.join(run)))
    {
        Some(story) => out.push_str(&told(&story, case)),
        None if case.explanation.is_some() => {
            out.push_str(
                "<p class=\"quiet\">The journal of this run is not here, so there is no diagram.</p>\n",
            );
        }
        None => {}
    }
    if let Some(explanation) = &case.explanation {
        out.push_str(&format!(
            "<details><summary>The same as the terminal shows it, with the commands to run and to judge it again</summary>\n\
             <pre>{}</pre>\n</details>\n",
            xml(explanation)
        ));
    }
    out.push_str("</article>\n");
    out
}

/// The case in one line, where there are too many.
pub(super) fn line(case: &CaseRecord) -> String {
    format!(
        "<p id=\"{}\">{} <code>{}</code>: {}</p>\n",
        anchor(case),
        words(case),
        xml(&case.id),
        xml(&case.reason)
    )
}

fn words(case: &CaseRecord) -> String {
    xml(case.verdict.words())
}

fn requirements(case: &CaseRecord, catalogue: &Catalogue) -> String {
    if case.requirements.is_empty() {
        return String::new();
    }
    let mut out = "<h4>What is demanded</h4>\n<ul>\n".to_owned();
    for id in &case.requirements {
        out.push_str(&match catalogue.get(id) {
            Some(known) => format!(
                "<li>{} <span class=\"quiet\">({}, {})</span></li>\n",
                xml(&known.text),
                xml(&known.id),
                xml(&known.source)
            ),
            None => format!("<li>{}</li>\n", xml(id)),
        });
    }
    out.push_str("</ul>\n");
    out
}

/// What only the journal knows.
fn told(story: &Story, case: &CaseRecord) -> String {
    let mut out = step(story);
    out.push_str(&rows(&story.failure.rows));
    out.push_str(&chain(story));
    out.push_str(&diagram::figure(story, case));
    out.push_str(&plot::figures(story, case));
    out
}

/// What the harness did, and why it expected something of that.
fn step(story: &Story) -> String {
    let (plan, failure) = (&story.plan, &story.failure);
    let Some(step) = plan.steps.get(failure.step) else {
        return String::new();
    };
    let mut out = format!(
        "<h4>What was done: step {} of {}, “{}”</h4>\n",
        failure.step + 1,
        plan.steps.len(),
        xml(&step.id)
    );
    if step.actions.is_empty() {
        out.push_str("<p>Nothing but waiting: the programs ");
        out.push_str(if failure.step == 0 {
            "had just been started.</p>\n"
        } else {
            "went on running.</p>\n"
        });
    } else {
        out.push_str("<ol>\n");
        for (_, text) in &step.actions {
            out.push_str(&format!("<li>{}</li>\n", xml(text)));
        }
        out.push_str("</ol>\n");
    }
    if let Some(expect) = failure.expect.and_then(|at| step.expect.get(at)) {
        out.push_str(&format!(
            "<p>Expected, because {}.</p>\n",
            xml(expect.why.trim_end_matches('.'))
        ));
    }
    out
}

/// Wanted against got, the differences first.
fn rows(rows: &[DiffRow]) -> String {
    const ROWS: usize = 40;
    if rows.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&DiffRow> = rows.iter().collect();
    sorted.sort_by_key(|row| row.state == RowState::Same);
    let mut out = "<h4>Wanted and got</h4>\n<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">of</th>\
                   <th scope=\"col\">wanted</th><th scope=\"col\">got</th><th scope=\"col\"></th></tr></thead>\n<tbody>\n"
        .to_owned();
    for row in sorted.iter().take(ROWS) {
        let (class, note) = match row.state {
            RowState::Same => ("same", "= as wanted"),
            RowState::Missing => ("wrong", "− missing"),
            RowState::Extra => ("wrong", "+ not wanted"),
            RowState::Differs => ("wrong", "≠ differs"),
        };
        out.push_str(&format!(
            "<tr class=\"{class}\"><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{note}</td></tr>\n",
            xml(&row.subject.cells().join(" ")),
            xml(&row.want),
            xml(&row.got)
        ));
    }
    out.push_str("</tbody>\n</table></div>\n");
    if sorted.len() > ROWS {
        out.push_str(&format!("<p>and {} more</p>\n", sorted.len() - ROWS));
    }
    out
}

/// What had to happen, one thing because of the other, up to the first that did not.
fn chain(story: &Story) -> String {
    let links = &story.failure.chain.links;
    if links.is_empty() {
        return String::new();
    }
    let first_missing = links.iter().position(|link| link.fact.is_none());
    let mut out = "<h4>How far it came</h4>\n<ol class=\"chain\">\n".to_owned();
    for (at, link) in links.iter().enumerate() {
        let (class, mark) = match (link.fact, first_missing == Some(at)) {
            (Some(_), _) => ("seen", "✓ seen:"),
            (None, true) => ("missing", "✗ first missing:"),
            (None, false) => ("missing", "✗ missing:"),
        };
        let note = match link.note.as_str() {
            "" => String::new(),
            note => format!(" <strong>{}</strong>", xml(note)),
        };
        out.push_str(&format!(
            "<li class=\"{class}\">{mark} {}{}{note}</li>\n",
            xml(&link.text),
            if note.is_empty() { "" } else { " —" }
        ));
    }
    out.push_str("</ol>\n");
    out
}
