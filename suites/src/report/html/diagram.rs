//! The space-time diagram: a column for each party, time downwards, an arrow for each fact. Draws what the harness has chosen.

use std::fmt::Write as _;

use harness::report::{Lane, Moment, scene};

use super::super::CaseRecord;
use super::super::escape::xml;
use super::anchor::anchor;
use super::story::Story;

/// Pixels: the times on the left, the way between two columns, the height of a line of text, and the space around a fact.
const TIMES: usize = 84;
const COLUMN: usize = 104;
const LINE: usize = 16;
const SPACE: usize = 10;
const HEAD: usize = 34;

/// Pixels that a letter takes at most, whatever font there is.
const LETTER: usize = 8;

/// Letters in a line, and lines of a fact at most.
const LETTERS: usize = 68;
const LINES: usize = 3;

/// The diagram with its caption.
pub(super) fn figure(story: &Story, case: &CaseRecord) -> String {
    let scene = scene(&story.facts, &story.failure);
    if scene.moments.is_empty() {
        return String::new();
    }
    let texts: Vec<Vec<String>> = scene.moments.iter().map(|moment| wrap(&moment.text)).collect();
    let height = HEAD
        + texts
            .iter()
            .map(|lines| lines.len() * LINE + SPACE)
            .sum::<usize>()
        + SPACE;
    let words = TIMES + scene.lanes.len() * COLUMN;
    let width = words + LETTERS * LETTER;
    let id = anchor(case);
    let mut svg = format!(
        "<svg class=\"diagram\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Space-time diagram of {id}; the same facts stand in the text below\">\n<defs><marker id=\"tip-{id}\" \
         viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"tip\" \
         d=\"M0 0L8 4L0 8z\"/></marker></defs>\n",
    );
    for (at, lane) in scene.lanes.iter().enumerate() {
        let x = middle(at);
        let _ = writeln!(
            svg,
            "<line class=\"lane\" x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{height}\"/>\
             <text class=\"lane-name\" x=\"{x}\" y=\"18\">{}</text>",
            name(lane)
        );
    }
    let mut y = HEAD + SPACE;
    for (moment, lines) in scene.moments.iter().zip(&texts) {
        svg.push_str(&row(moment, lines, &scene.lanes, y, &id));
        y += lines.len() * LINE + SPACE;
    }
    svg.push_str("</svg>\n");
    format!(
        "<figure>\n<figcaption><h4>Who said what to whom</h4><p class=\"quiet\">Time goes downwards and is in seconds since the step \
         began. The verdict rests on the facts in bold with a full dot.</p></figcaption>\n<div class=\"wide\">{svg}</div>\n</figure>\n"
    )
}

fn middle(lane: usize) -> usize {
    TIMES + lane * COLUMN + COLUMN / 2
}

/// Names are clipped to the column; the whole one is what a pointer shows.
fn name(lane: &Lane) -> String {
    const FITTING: usize = 13;
    match lane.name().char_indices().nth(FITTING) {
        Some((end, _)) => format!("<title>{}</title>{}…", xml(lane.name()), xml(&lane.name()[..end])),
        None => xml(lane.name()),
    }
}

fn row(moment: &Moment, lines: &[String], lanes: &[Lane], y: usize, id: &str) -> String {
    let place = |lane: &Lane| middle(lanes.iter().position(|other| other == lane).unwrap_or_default());
    let (from, to) = (place(&moment.from), place(&moment.to));
    let class = if moment.decides { "fact decides" } else { "fact" };
    let base = y + LINE - 4;
    let line = y + LINE / 2;
    let mut out = format!(
        "<g class=\"{class}\"><text class=\"time\" x=\"{}\" y=\"{base}\">{:+.3}</text><circle cx=\"{from}\" cy=\"{line}\" r=\"4\"/>",
        TIMES - 12,
        moment.seconds
    );
    if from != to {
        let end = if from < to { to - 2 } else { to + 2 };
        let _ = write!(
            out,
            "<line x1=\"{from}\" y1=\"{line}\" x2=\"{end}\" y2=\"{line}\" marker-end=\"url(#tip-{id})\"/>"
        );
    }
    let x = TIMES + lanes.len() * COLUMN;
    for (at, text) in lines.iter().enumerate() {
        let y = base + at * LINE;
        let _ = write!(out, "<text x=\"{x}\" y=\"{y}\">{}</text>", xml(text));
    }
    out.push_str("</g>\n");
    out
}

/// Breaks a text at its spaces, and says so where it is cut off.
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

/// A word that is longer than a line is broken anywhere.
fn pieces(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters
        .chunks(LETTERS)
        .map(|piece| piece.iter().collect())
        .collect()
}
