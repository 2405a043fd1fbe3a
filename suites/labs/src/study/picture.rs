//! A plot as a stand-alone SVG file with title, legend and colours, for light and dark mode. Does not know studies.

use crate::study::Plot;
use maud::{PreEscaped, html};

use super::svg;

/// Height of the title area, and of one legend line, in pixels.
const TITLE: f64 = 30.0;
const LEGEND: f64 = 20.0;

/// Style sheet with the colours of the HTML page.
const STYLE: &str = "\
svg { --paper: #fff; --ink: #1b1f24; --quiet: #59636e; --rule: #d0d7de; --l0: #0b62c4; --l1: #c2410c; --l2: #1a7f37; --l4: #8a5a00; --l5: #b3261e;
  font: 12px ui-monospace, \"DejaVu Sans Mono\", monospace; }
@media (prefers-color-scheme: dark) { svg { --paper: #0f1318; --ink: #e6edf3; --quiet: #9aa6b2; --rule: #3a434d; --l0: #6cb6ff; --l1: #ffa657;
  --l2: #4ac26b; --l4: #e3b341; --l5: #ff7b72; } }
.paper { fill: var(--paper); } text { fill: var(--ink); } .title { font-weight: bold; }
.time, .tick { text-anchor: end; } .time, .tick, .step-name { fill: var(--quiet); }
.axis { fill: none; stroke: var(--quiet); } .grid { stroke: var(--rule); stroke-dasharray: 1 4; }
.series { fill: none; stroke: var(--line); stroke-width: 2.2; } .mark { fill: var(--paper); stroke: var(--line); stroke-width: 1.6; }
.line-0 { --line: var(--l0); } .line-1 { --line: var(--l1); } .line-2 { --line: var(--l2); } .line-3 { --line: var(--ink); }
.line-4 { --line: var(--l4); } .line-5 { --line: var(--l5); }
.line-1 .series { stroke-dasharray: 9 5; } .line-2 .series { stroke-dasharray: 3 4; } .line-3 .series { stroke-dasharray: 12 4 3 4; }
.line-4 .series { stroke-dasharray: 6 3; } .line-5 .series { stroke-dasharray: 2 6; }
";

/// Renders the plot as an SVG file.
pub(super) fn picture(plot: &Plot) -> String {
    let (width, field) = svg::size();
    let below = TITLE + field;
    let height = below + LEGEND * plot.lines.len() as f64 + 8.0;
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img"
            aria-label={ (plot.title) ": " (svg::text_alternative(plot)) } {
            style { (PreEscaped(STYLE)) }
            rect.paper width=(width) height=(height) {}
            text.title x="4" y="18" { (plot.title) }
            g transform={ "translate(0 " (TITLE) ")" } { (svg::plot_area(plot)) }
            @for (number, line) in plot.lines.iter().enumerate() {
                g transform={ "translate(90 " (below + LEGEND * number as f64) ")" } {
                    (svg::legend_line(number))
                    text x="60" y="11" { (line.name) }
                }
            }
        }
    };
    drawing.into_string() + "\n"
}
