//! A line plot as SVG; lines are distinguishable by dashes and markers, not only by colour.

use std::fmt::Write as _;

use crate::study::{Axis, Line, Plot};
use maud::{Markup, html};

/// Size of the plot area, and width of the margins, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 20.0;
/// Half the width of a marker on a plotted line, in pixels.
const MARK: f64 = 3.5;
/// Maximum number of markers per plotted line.
const MARKS: usize = 24;
/// Approximate number of ticks per axis.
const TICKS: f64 = 5.0;

/// Number of line styles, named `line-0` and so on in `page.css`. Further lines reuse the styles.
const STYLES: usize = 6;

/// Width and height of a plot in pixels.
pub(super) fn size() -> (f64, f64) {
    (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM)
}

/// Renders the axes and lines of the plot, without title and legend.
pub(super) fn plot_area(plot: &Plot) -> Markup {
    let (x, y) = (
        Scale::of(&plot.x, plot, |point| point.0),
        Scale::of(&plot.y, plot, |point| point.1),
    );
    html! {
        (axes(plot, &x, &y))
        @for (number, line) in plot.lines.iter().enumerate() { (drawn(line, number % STYLES, &x, &y)) }
    }
}

/// Renders the plot with its legend.
pub(super) fn figure(plot: &Plot) -> Markup {
    let (width, height) = size();
    html! {
        figure {
            div.wide {
                svg.plot viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img"
                    aria-label={ (plot.title) ": " (text_alternative(plot)) } {
                    (plot_area(plot))
                }
            }
            figcaption { (legend(plot)) }
        }
    }
}

/// The last point of each line as text, for screen readers.
pub(super) fn text_alternative(plot: &Plot) -> String {
    let ends = plot.lines.iter().filter_map(|line| {
        let (x, y) = line.points.last()?;
        Some(format!("{} ends at {} with {}", line.name, short(*x), short(*y)))
    });
    ends.collect::<Vec<_>>().join("; ")
}

/// Maps values to fractions of the length of an axis.
struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Scale {
    fn of(axis: &Axis, plot: &Plot, of: fn(&(f64, f64)) -> f64) -> Self {
        let points = plot.lines.iter().flat_map(|line| &line.points).map(of);
        let (mut low, mut high) = points.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        match axis.is_logarithmic {
            true => low = low.max(1.0),
            false => low = low.min(0.0),
        }
        if high <= low {
            high = low + 1.0;
        }
        Self {
            low,
            high,
            is_logarithmic: axis.is_logarithmic,
        }
    }

    fn share(&self, value: f64) -> f64 {
        match self.is_logarithmic {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// Values at the ticks of the axis: powers of ten on a logarithmic axis, multiples of 1, 2 or 5 times a power of ten on a linear axis.
    fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let powers = self.low.log10().ceil() as i32..=self.high.log10().floor() as i32;
            return powers.map(|power| 10_f64.powi(power)).collect();
        }
        let rough = (self.high - self.low) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough);
        let step = factor.unwrap_or(10.0) * power;
        let steps = ((self.high - self.low) / step).floor() as u32;
        (0..=steps)
            .map(|number| self.low + f64::from(number) * step)
            .collect()
    }
}

fn x_px(scale: &Scale, value: f64) -> f64 {
    LEFT + WIDTH * scale.share(value)
}

fn y_px(scale: &Scale, value: f64) -> f64 {
    TOP + HEIGHT * (1.0 - scale.share(value))
}

/// Formats a pixel coordinate with one decimal.
fn px(pixels: f64) -> String {
    format!("{pixels:.1}")
}

fn axes(plot: &Plot, x: &Scale, y: &Scale) -> Markup {
    let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
    html! {
        path.axis d={ "M" (LEFT) " " (TOP) "V" (bottom) "H" (right) } {}
        @for value in y.ticks() {
            @let at = y_px(y, value);
            line.grid x1=(LEFT) y1=(px(at)) x2=(right) y2=(px(at)) {}
            text.tick x=(LEFT - 6.0) y=(px(at + 4.0)) { (short(value)) }
        }
        @for value in x.ticks() {
            @let at = x_px(x, value);
            line.grid x1=(px(at)) y1=(TOP) x2=(px(at)) y2=(bottom) {}
            text.tick x=(px(at + 4.0)) y=(bottom + 16.0) { (short(value)) }
        }
        text.time x=(right) y=(bottom + 36.0) { (plot.x.label) " →" }
        text.step-name x="4" y=(bottom + 36.0) { "↑ " (plot.y.label) }
    }
}

fn drawn(line: &Line, style: usize, x: &Scale, y: &Scale) -> Markup {
    let coordinates: Vec<(f64, f64)> = line
        .points
        .iter()
        .map(|point| (x_px(x, point.0), y_px(y, point.1)))
        .collect();
    let mut path = String::new();
    for (number, (x, y)) in coordinates.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
    }
    let every = coordinates.len().div_ceil(MARKS).max(1);
    html! {
        g class={ "line-" (style) } {
            path.series d=(path) {}
            @for (x, y) in coordinates.iter().step_by(every) { (mark(style, *x, *y)) }
        }
    }
}

/// Renders a marker: a circle, a square or a triangle, depending on the line style.
fn mark(style: usize, x: f64, y: f64) -> Markup {
    let (width, corner) = (2.0 * MARK, MARK + 1.0);
    html! {
        @match style % 3 {
            0 => circle.mark cx=(px(x)) cy=(px(y)) r=(MARK) {},
            1 => rect.mark x=(px(x - MARK)) y=(px(y - MARK)) width=(width) height=(width) {},
            _ => path.mark d={ "M" (px(x)) " " (px(y - corner)) "L" (px(x + corner)) " " (px(y + corner)) "H" (px(x - corner)) "Z" } {},
        }
    }
}

fn legend(plot: &Plot) -> Markup {
    html! {
        ul.legend {
            @for (number, line) in plot.lines.iter().enumerate() {
                li {
                    svg width="48" height="14" aria-hidden="true" { (legend_line(number)) }
                    (line.name)
                }
            }
        }
    }
}

/// Renders a piece of a plotted line for the legend, 48 by 14 pixels.
pub(super) fn legend_line(number: usize) -> Markup {
    let style = number % STYLES;
    html! {
        g class={ "line-" (style) } {
            path.series d="M2 7H46" {}
            (mark(style, 24.0, 7.0))
        }
    }
}

/// Formats a number in short form, such as `1.5 M`.
fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        large if large >= 1e9 => (value / 1e9, " G"),
        large if large >= 1e6 => (value / 1e6, " M"),
        large if large >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = format!("{value:.2}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{unit}")
}
