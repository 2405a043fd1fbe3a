//! Lines over an axis. Knows no pixels.

use serde::Serialize;

/// A plot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plot {
    /// What is seen, in a sentence.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is compared.
    pub lines: Vec<Line>,
}

/// One axis.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Axis {
    /// What it counts, with the unit.
    pub label: String,
    /// Equal distances are equal ratios, not equal differences.
    pub is_logarithmic: bool,
}

/// One line: its points from left to right.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// Places on both axes.
    pub points: Vec<(f64, f64)>,
}

impl Axis {
    /// Equal distances are equal differences.
    pub fn even(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_logarithmic: false,
        }
    }

    /// Equal distances are equal ratios.
    pub fn logarithmic(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            is_logarithmic: true,
        }
    }
}
