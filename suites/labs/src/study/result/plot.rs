//! Line plots. Does not know pixels.

use serde::Serialize;

/// A plot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plot {
    /// Title, in a sentence.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
}

/// An axis.
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
    /// Name in the legend.
    pub name: String,
    /// Coordinates.
    pub points: Vec<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_logarithmic: false,
        }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_logarithmic: true,
        }
    }
}
