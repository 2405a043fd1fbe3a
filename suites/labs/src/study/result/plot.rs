//! Line plots. Does not know pixels.

use serde::Serialize;

/// A plot with two axes and one or several lines.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plot {
    /// Title, in a sentence.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines, drawn in this order.
    pub lines: Vec<Line>,
}

/// An axis of a plot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Whether the scale is logarithmic.
    pub is_logarithmic: bool,
}

/// A line, with points from left to right.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Name of the line in the legend.
    pub name: String,
    /// Coordinates (x, y) of the points.
    pub points: Vec<(f64, f64)>,
}

impl Axis {
    /// Creates a linear axis with this label.
    pub fn linear(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_logarithmic: false,
        }
    }

    /// Creates a logarithmic axis with this label.
    pub fn logarithmic(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_logarithmic: true,
        }
    }
}
