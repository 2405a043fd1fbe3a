//! README badges: an SVG, and the JSON of a shields.io endpoint.

use harness::scenario::Level;
use maud::html;
use serde_json::json;

use super::{CaseRecord, CaseVerdict, Report, page};

struct Badge {
    label: String,
    message: String,
    colour: Colour,
}

/// Colour name of shields.io, and its hex value.
type Colour = (&'static str, &'static str);

const GOOD: Colour = ("brightgreen", "#2e7d32");
const PART: Colour = ("yellow", "#946200");
const BAD: Colour = ("red", "#b3261e");
const UNKNOWN: Colour = ("lightgrey", "#5f6368");

/// JSON for <https://shields.io/badges/endpoint-badge>.
pub(super) fn endpoint(report: &Report) -> String {
    let badge = badge(report);
    let endpoint = json!({
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": badge.colour.0,
        "isError": badge.colour == BAD,
    });
    format!("{endpoint}\n")
}

pub(super) fn svg(report: &Report) -> String {
    let Badge {
        label,
        message,
        colour: (_, colour),
    } = badge(report);
    let (left, right) = (width(&label), width(&message));
    let all = left + right;
    let text = |text: &str, middle: usize, long: usize| {
        // `textLength` makes the text fit independent of the font.
        html! { text x=(middle) y="14" textLength=(long) lengthAdjust="spacingAndGlyphs" { (text) } }
    };
    page::html_file_text(&html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(all) height="20" role="img" aria-label={ (label) ": " (message) } {
            title { (label) ": " (message) }
            clipPath id="round" { rect width=(all) height="20" rx="3" {} }
            g clip-path="url(#round)" {
                rect width=(left) height="20" fill="#444" {}
                rect x=(left) width=(right) height="20" fill=(colour) {}
            }
            g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" {
                (text(&label, left / 2, left - PADDING))
                (text(&message, left + right / 2, right - PADDING))
            }
        }
    })
}

/// Total horizontal padding of a text, in pixels.
const PADDING: usize = 12;

/// Approximate width of a text, in pixels.
fn width(text: &str) -> usize {
    const LETTER: usize = 7;
    text.chars().count() * LETTER + PADDING
}

fn badge(report: &Report) -> Badge {
    let roles = report.system.roles.join(" + ");
    let (passed, all) = count_passed_and_executed(report, |case| case.level == Level::Core);
    let mut message = format!("core {passed}/{all}");
    let (passed, all) = count_passed_and_executed(report, |case| case.level == Level::Extended);
    if all > 0 {
        message.push_str(&format!(", extended {passed}/{all}"));
    }
    match report.system.features.len() {
        0 => {}
        1 => message.push_str(" + 1 feature"),
        features => message.push_str(&format!(" + {features} features")),
    }
    let is_undecided = report.count(CaseVerdict::Inconclusive) + report.count(CaseVerdict::Error) > 0;
    let colour = if report.counted_failures().next().is_some()
        || !report.stale_entries().is_empty()
        || report.unexcused_findings().next().is_some()
    {
        BAD
    } else if is_undecided || count_passed_and_executed(report, |_| true).1 == 0 {
        UNKNOWN
    } else if report.partial.is_empty() && report.count(CaseVerdict::KnownFailure) == 0 {
        GOOD
    } else {
        PART
    };
    if colour == PART || !report.partial.is_empty() {
        message.push_str(" (partial)");
    }
    Badge {
        label: format!("capacity {roles}").trim_end().to_owned(),
        message,
        colour,
    }
}

/// Number of passed cases, and number of executed cases, among the cases that match.
fn count_passed_and_executed(report: &Report, predicate: impl Fn(&CaseRecord) -> bool) -> (usize, usize) {
    let run = report
        .cases
        .iter()
        .filter(|case| case.verdict != CaseVerdict::Skip && predicate(case));
    run.fold((0, 0), |(passed, all), case| {
        (passed + usize::from(case.verdict == CaseVerdict::Pass), all + 1)
    })
}
