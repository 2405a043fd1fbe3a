//! SVG sequence diagram: one column per participant, time downwards, one arrow per fact. The harness selects the facts.

use harness::report::{Message, Participant, SequenceDiagram, sequence_diagram};
use maud::{Markup, html};

use super::super::CaseRecord;
use super::super::escape::printable_text;
use super::anchor::anchor;
use super::stored_run::StoredRun;

/// Pixels: width of the time column, distance of columns, height of a text line, space after a fact, and height of the header.
const TIMES: usize = 84;
const COLUMN: usize = 104;
const LINE: usize = 16;
const SPACE: usize = 10;
const HEAD: usize = 34;

/// Maximum width of a letter in any font, in pixels.
const LETTER: usize = 8;

/// Maximum letters per line, and lines per fact.
const LETTERS: usize = 68;
const LINES: usize = 3;

/// The sequence diagram with its caption; empty without facts.
pub(super) fn figure(stored_run: &StoredRun, case: &CaseRecord) -> Markup {
    let diagram = sequence_diagram(&stored_run.facts, &stored_run.failure);
    html! {
        @if !diagram.messages.is_empty() {
            figure {
                figcaption {
                    h4 { "Requests, events and calls between programs" }
                    p.quiet {
                        "Time runs downwards, in seconds since the start of the step. The facts in bold with a \
                         full dot decided the verdict."
                    }
                }
                div.wide { (drawing(&diagram, &anchor(case))) }
            }
        }
    }
}

fn drawing(diagram: &SequenceDiagram, id: &str) -> Markup {
    let mut y = HEAD + SPACE;
    let rows: Vec<(&Message, Vec<String>, usize)> = diagram
        .messages
        .iter()
        .map(|message| {
            let (lines, at) = (wrap(&printable_text(&message.text)), y);
            y += lines.len() * LINE + SPACE;
            (message, lines, at)
        })
        .collect();
    let height = y;
    let width = TIMES + diagram.participants.len() * COLUMN + LETTERS * LETTER;
    html! {
        svg.diagram viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img"
            aria-label={ "Space-time diagram of " (id) "; the text below contains the same facts" } {
            defs {
                marker id={ "tip-" (id) } viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9"
                    markerUnits="userSpaceOnUse" orient="auto" { path.tip d="M0 0L8 4L0 8z" {} }
            }
            @for (at, participant) in diagram.participants.iter().enumerate() {
                @let x = column_center(at);
                line.lane x1=(x) y1=(HEAD) x2=(x) y2=(height) {}
                text.lane-name x=(x) y="18" { (name(participant)) }
            }
            @for (message, lines, y) in &rows { (row(message, lines, &diagram.participants, *y, id)) }
        }
    }
}

fn column_center(participant: usize) -> usize {
    TIMES + participant * COLUMN + COLUMN / 2
}

/// The name of a participant, clipped to the width of the column. A tooltip shows the full name.
fn name(participant: &Participant) -> Markup {
    const FITTING: usize = 13;
    let name = participant.name();
    html! {
        @match name.char_indices().nth(FITTING) {
            Some((end, _)) => { title { (name) } (name[..end]) "…" }
            None => (name),
        }
    }
}

fn row(message: &Message, lines: &[String], participants: &[Participant], y: usize, id: &str) -> Markup {
    let place = |participant: &Participant| {
        column_center(
            participants
                .iter()
                .position(|other| other == participant)
                .unwrap_or_default(),
        )
    };
    let (from, to) = (place(&message.from), place(&message.to));
    let (base, line) = (y + LINE - 4, y + LINE / 2);
    let end = if from < to { to - 2 } else { to + 2 };
    let text_from = TIMES + participants.len() * COLUMN;
    html! {
        g.fact.decides[message.decides] {
            text.time x=(TIMES - 12) y=(base) { (format_args!("{:+.3}", message.seconds)) }
            circle cx=(from) cy=(line) r="4" {}
            @if from != to {
                line x1=(from) y1=(line) x2=(end) y2=(line) marker-end={ "url(#tip-" (id) ")" } {}
            }
            @for (at, text) in lines.iter().enumerate() {
                text x=(text_from) y=(base + at * LINE) { (text) }
            }
        }
    }
}

/// Wraps a text at spaces. A text with too many lines is cut, and ends with `…`.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        for piece in pieces(word) {
            let last = lines.last().map_or(0, |line| line.chars().count());
            if last > 0 && last + 1 + piece.chars().count() > LETTERS {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&piece);
            }
        }
    }
    if lines.len() > LINES {
        lines.truncate(LINES);
        if let Some(line) = lines.last_mut() {
            line.push('…');
        }
    }
    lines
}

/// Splits a word that is longer than a line.
fn pieces(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters
        .chunks(LETTERS)
        .map(|piece| piece.iter().collect())
        .collect()
}
