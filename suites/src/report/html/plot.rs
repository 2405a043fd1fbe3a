//! SVG step plot over time: true capacity of the pools, capacity that the driver reported, and published capacity.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use harness::journal::Observation;
use harness::judge::{RowState, Subject};
use harness::report::{CapacityField, Point, Series, capacity_series, format_bytes};
use maud::{Markup, html};

use super::super::CaseRecord;
use super::stored_run::StoredRun;

/// Pixels: plot area and margins.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 110.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
const RIGHT: f64 = 20.0;

/// Maximum number of plots per case, and of points per line.
const PLOTS: usize = 4;
const POINTS: usize = 400;

/// The plots of a case, starting with the capacities that differ from the failed expectation.
pub(super) fn figures(stored_run: &StoredRun, case: &CaseRecord) -> Markup {
    // The expected value of each capacity that differs; `None` if no object was expected.
    let wrong: BTreeMap<(String, String), Option<&str>> = stored_run
        .failure
        .rows
        .iter()
        .filter(|row| row.state != RowState::Same)
        .filter_map(|row| match &row.subject {
            Subject::Capacity { class, segment } => {
                let want = (row.state != RowState::Extra).then_some(row.want.as_str());
                Some(((class.clone(), segment.clone()), want))
            }
            _ => None,
        })
        .collect();
    let want = |series: &Series| {
        wrong
            .get(&(series.class.clone(), series.segment.clone()))
            .copied()
    };
    let mut all = capacity_series(&stored_run.plan, &stored_run.facts, wrong.keys().cloned());
    all.sort_by_key(|series| (want(series).is_none(), is_published_correctly(series)));
    html! {
        @if !all.is_empty() {
            figure {
                figcaption {
                    h4 { "Published and actual capacity" }
                    p.quiet {
                        span.key.truth {} " capacity of the pools · " span.key.published {}
                        " published capacity (dashed) · ○ capacity that the driver returned · vertical lines: steps. Seconds since the case \
                         began."
                    }
                }
                @for series in all.iter().take(PLOTS) { (plot(series, want(series), stored_run, case)) }
                @if all.len() > PLOTS { p.quiet { (all.len() - PLOTS) " more plots are not drawn." } }
            }
        }
    }
}

fn last_bytes(points: &[Point]) -> Option<i128> {
    points.last().and_then(|point| point.bytes)
}

fn is_published_correctly(series: &Series) -> bool {
    last_bytes(&series.truth) == last_bytes(&series.published)
}

/// Maps times and capacities in bytes to coordinates.
struct Scale {
    end_us: f64,
    top: f64,
}

impl Scale {
    fn of(series: &Series, end_us: u64) -> Self {
        let points = [&series.truth, &series.published, &series.reported];
        let values = points.into_iter().flatten().filter_map(|point| point.bytes);
        Scale {
            end_us: (end_us as f64).max(1.0),
            // Some headroom, so that the highest line is visible.
            top: values.max().unwrap_or(0).max(1) as f64 * 1.08,
        }
    }

    fn x(&self, at_us: u64) -> f64 {
        LEFT + WIDTH * (at_us as f64 / self.end_us).min(1.0)
    }

    fn y(&self, bytes: i128) -> f64 {
        TOP + HEIGHT * (1.0 - (bytes.max(0) as f64 / self.top))
    }
}

/// A coordinate with one decimal.
fn px(pixels: f64) -> String {
    format!("{pixels:.1}")
}

/// Draws one plot. `want`: the value that the failed expectation demands for this class and segment; `None` if the value is as expected,
/// inner `None` if no object is expected.
fn plot(series: &Series, want: Option<Option<&str>>, stored_run: &StoredRun, case: &CaseRecord) -> Markup {
    let end_us = stored_run.facts.last().map_or(0, |fact| fact.at_us);
    let scale = Scale::of(series, end_us);
    let what = match series.field {
        CapacityField::Capacity => "capacity",
        CapacityField::Maximum => "maximum volume size",
    };
    let (width, height) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    let wanted = match want {
        Some(None) => ", where no object was expected".to_owned(),
        Some(Some(want)) => format!(", where {want} was expected"),
        None => String::new(),
    };
    let (class, segment, ended) = (&series.class, &series.segment, describe_final_values(series));
    let sentence = format!("{what} of class {class} at {segment}: {ended}{wanted}");
    html! {
        p.wrong[want.is_some()] { (sentence) "." }
        div.wide {
            svg.plot viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img"
                aria-label={ (case.id) ": " (sentence) } {
                (frame(series, stored_run, &scale))
                path.truth d=(steps(&series.truth, &scale, end_us)) {}
                path.published d=(steps(&series.published, &scale, end_us)) {}
                (driver_responses(&series.reported, &scale))
            }
        }
    }
}

fn describe_final_values(series: &Series) -> String {
    let format = |points| last_bytes(points).map_or_else(|| "nothing".to_owned(), format_bytes);
    let published = format(&series.published);
    match series.truth.iter().any(|point| point.bytes.is_some()) {
        true => format!(
            "at the end the pools had {}, and {published} was published",
            format(&series.truth)
        ),
        // Either the case created the objects for a scheduler, or the capacity of the storage is unknown.
        false => format!("at the end {published} was published, and there is no pool to compare it with"),
    }
}

/// Circles at the responses of the driver. Overlapping circles are left out.
fn driver_responses(points: &[Point], scale: &Scale) -> Markup {
    const APART: f64 = 9.0;
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for point in points {
        let Some(bytes) = point.bytes else {
            continue;
        };
        let (x, y) = (scale.x(point.at_us), scale.y(bytes));
        if drawn
            .last()
            .is_none_or(|(last, at)| *at != y || x - last >= APART)
        {
            drawn.push((x, y));
        }
    }
    html! {
        @for (x, y) in drawn { circle.answered cx=(px(x)) cy=(px(y)) r="3" {} }
    }
}

/// Axes, tick values, and step boundaries.
fn frame(series: &Series, stored_run: &StoredRun, scale: &Scale) -> Markup {
    let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
    html! {
        path.axis d={ "M" (LEFT) " " (TOP) "V" (bottom) "H" (right) } {}
        text.time x=(LEFT) y=(bottom + 28.0) { "0" }
        text.time x=(right) y=(bottom + 28.0) { (format_args!("{:.2} s", scale.end_us / 1e6)) }
        @for bytes in ticks(series, scale) {
            @let y = scale.y(bytes);
            line.grid x1=(LEFT) y1=(px(y)) x2=(right) y2=(px(y)) {}
            text.tick x=(LEFT - 6.0) y=(px(y + 4.0)) { (format_bytes(bytes)) }
        }
        @for (x, name) in step_marks(stored_run, scale) {
            line.step x1=(px(x)) y1=(TOP) x2=(px(x)) y2=(bottom) {}
            @if let Some(name) = name { text.step-name x=(px(x)) y=(bottom + 13.0) { (name) } }
        }
    }
}

/// Step boundaries with names. Names that would overlap an earlier name are left out.
fn step_marks<'s>(stored_run: &'s StoredRun, scale: &Scale) -> Vec<(f64, Option<&'s str>)> {
    const LETTER: f64 = 7.0;
    const SPACE: f64 = 8.0;
    let mut free_from = LEFT;
    let mut marks = Vec::new();
    for fact in &stored_run.facts {
        if let Observation::StepStarted(mark) = fact.what {
            let x = scale.x(fact.at_us);
            let step = stored_run.plan.steps.get(mark.step);
            let name = step.map(|step| step.id.as_str()).filter(|_| x >= free_from);
            if let Some(name) = name {
                free_from = x + name.chars().count() as f64 * LETTER + SPACE;
            }
            marks.push((x, name));
        }
    }
    marks
}

/// Tick values of the capacity axis. Ticks whose texts would overlap are left out.
fn ticks(series: &Series, scale: &Scale) -> Vec<i128> {
    const APART: f64 = 14.0;
    let points = series
        .truth
        .iter()
        .chain(&series.published)
        .chain(&series.reported);
    let mut values: Vec<i128> = points.filter_map(|point| point.bytes).chain([0]).collect();
    values.sort_unstable();
    values.dedup();
    let mut ticks: Vec<i128> = Vec::new();
    for value in values {
        if ticks
            .last()
            .is_none_or(|last| scale.y(*last) - scale.y(value) >= APART)
        {
            ticks.push(value);
        }
    }
    ticks
}

/// SVG path of a step line, interrupted where there is no value.
fn steps(points: &[Point], scale: &Scale, end_us: u64) -> String {
    let mut path = String::new();
    let mut before: Option<i128> = None;
    for point in thinned(points) {
        let x = scale.x(point.at_us);
        match (before, point.bytes) {
            (Some(_), Some(bytes)) => {
                let _ = write!(path, "H{x:.1}V{:.1}", scale.y(bytes));
            }
            (None, Some(bytes)) => {
                let _ = write!(path, "M{x:.1} {:.1}", scale.y(bytes));
            }
            (Some(_), None) => {
                let _ = write!(path, "H{x:.1}");
            }
            (None, None) => {}
        }
        before = point.bytes;
    }
    if before.is_some() {
        let _ = write!(path, "H{:.1}", scale.x(end_us));
    }
    path
}

/// Every n-th point, so that at most about `POINTS` points remain, and the last point.
fn thinned(points: &[Point]) -> impl Iterator<Item = &Point> {
    let every = points.len().div_ceil(POINTS).max(1);
    let end = points.len().saturating_sub(1);
    let numbered = points.iter().enumerate();
    numbered
        .filter(move |(at, _)| at % every == 0 || *at == end)
        .map(|(_, point)| point)
}
