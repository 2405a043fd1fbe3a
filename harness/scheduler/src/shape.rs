//! The scoring function: maps utilisation in percent to a score by linear interpolation (`VolumeBindingArgs.shape`, KEP-4049).

use std::str::FromStr;

use serde_json::Value;

/// Maximum score of a shape point. The maximum node score is [`NODE_SCORE_FACTOR`] times as large.
const SCORE_MAX: i64 = 10;
const UTILIZATION_MAX: i64 = 100;
/// Factor between shape scores and node scores.
const NODE_SCORE_FACTOR: i64 = 10;

/// One point of a scoring function (shape).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// Utilisation in percent, 0 to 100.
    pub utilization: i64,
    /// Score at this utilisation, 0 to 10.
    pub score: i64,
}

/// A validated scoring function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    points: Vec<ShapePoint>,
}

/// Why the points of a shape are invalid. The wording is kube-scheduler's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Utilisations must be strictly increasing.
    #[error("shape[{index}].utilization: Invalid value: {value}: values must be sorted in increasing order")]
    Unsorted {
        /// Index of the first point that is out of order.
        index: usize,
        /// Utilisation of the first point that is out of order.
        value: i64,
    },
    /// The utilisation or the score of a point is out of range.
    #[error("shape[{index}].{field}: Invalid value: {value}: not in valid range [0, {max}]")]
    Range {
        /// Index of the shape point.
        index: usize,
        /// `utilization` or `score`.
        field: &'static str,
        /// The value that is out of range.
        value: i64,
        /// The maximum value of the field.
        max: i64,
    },
    /// The text is neither `utilization=score,…` nor a JSON list.
    #[error("shape: Invalid value: {text:?}: write points as utilization=score, separated by commas")]
    Malformed {
        /// The text that cannot be parsed.
        text: String,
    },
}

impl Shape {
    /// Validates the points and creates a shape. Without points: the default shape.
    pub fn new(points: &[ShapePoint]) -> Result<Self, ShapeError> {
        if points.is_empty() {
            return Ok(Self::most_free());
        }
        let unsorted = points
            .windows(2)
            .position(|pair| pair[0].utilization >= pair[1].utilization);
        if let Some(before) = unsorted {
            let value = points[before + 1].utilization;
            return Err(ShapeError::Unsorted {
                index: before + 1,
                value,
            });
        }
        for (index, point) in points.iter().enumerate() {
            check_range(index, "utilization", point.utilization, UTILIZATION_MAX)?;
            check_range(index, "score", point.score, SCORE_MAX)?;
        }
        Ok(Self {
            points: points.to_vec(),
        })
    }

    /// The default shape of KEP-4049: more free space scores higher.
    pub fn most_free() -> Self {
        Self::line(SCORE_MAX, 0)
    }

    /// The opposite of the default shape: less free space scores higher.
    pub fn least_free() -> Self {
        Self::line(0, SCORE_MAX)
    }

    /// The node score, 0 to 100, for a utilisation in percent. Divisions truncate towards zero, as in Kubernetes.
    pub fn score(&self, utilization: i64) -> i64 {
        let at = |point: &ShapePoint| point.score * NODE_SCORE_FACTOR;
        let Some(next) = self
            .points
            .iter()
            .position(|point| utilization <= point.utilization)
        else {
            return self.points.last().map_or(0, at);
        };
        let right = &self.points[next];
        let Some(left) = next.checked_sub(1).map(|previous| &self.points[previous]) else {
            return at(right);
        };
        let rise = (at(right) - at(left)) * (utilization - left.utilization);
        at(left) + rise / (right.utilization - left.utilization)
    }

    fn line(score_when_empty: i64, score_when_full: i64) -> Self {
        let point = |utilization, score| ShapePoint { utilization, score };
        Self {
            points: vec![
                point(0, score_when_empty),
                point(UTILIZATION_MAX, score_when_full),
            ],
        }
    }
}

/// Parses `utilization=score` points separated by commas, such as `0=10,100=0`, or a JSON list as in the configuration file.
pub fn parse_points(text: &str) -> Result<Vec<ShapePoint>, ShapeError> {
    if text.starts_with('[') {
        return parse_list(text).ok_or_else(|| ShapeError::Malformed {
            text: text.to_owned(),
        });
    }
    let point = |part: &str| {
        let (utilization, score) = part.split_once('=')?;
        Some(ShapePoint {
            utilization: i64::from_str(utilization.trim()).ok()?,
            score: i64::from_str(score.trim()).ok()?,
        })
    };
    let parsed: Option<Vec<_>> = text.split(',').map(point).collect();
    parsed.ok_or_else(|| ShapeError::Malformed {
        text: text.to_owned(),
    })
}

/// Parses the JSON form that the configuration file uses.
fn parse_list(text: &str) -> Option<Vec<ShapePoint>> {
    let list: Vec<Value> = serde_json::from_str(text).ok()?;
    let point = |point: &Value| {
        Some(ShapePoint {
            utilization: point["utilization"].as_i64()?,
            score: point["score"].as_i64()?,
        })
    };
    list.iter().map(point).collect()
}

fn check_range(index: usize, field: &'static str, value: i64, max: i64) -> Result<(), ShapeError> {
    if (0..=max).contains(&value) {
        return Ok(());
    }
    Err(ShapeError::Range {
        index,
        field,
        value,
        max,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shape(text: &str) -> Result<Shape, ShapeError> {
        Shape::new(&parse_points(text)?)
    }

    /// Values measured with kube-scheduler 1.36, for shapes with integer scores.
    #[test]
    fn interpolation_equals_kube_scheduler() {
        let utilizations = [-5, 5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 105];
        for (text, expected) in [
            ("0=10,100=0", [100, 95, 85, 75, 65, 55, 45, 35, 25, 15, 5, 0]),
            ("0=0,100=10", [0, 5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 100]),
            (
                "0=10,33=7,100=1",
                [100, 96, 87, 78, 69, 60, 51, 42, 33, 24, 15, 10],
            ),
            ("20=3,21=9,77=4", [30, 30, 30, 87, 78, 69, 60, 51, 42, 40, 40, 40]),
            ("50=7", [70; 12]),
        ] {
            let shape = shape(text).unwrap();
            assert_eq!(
                utilizations.map(|utilization| shape.score(utilization)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_shapes_return_the_errors_of_kube_scheduler() {
        for (text, expected) in [
            (
                "1=1,1=2",
                "shape[1].utilization: Invalid value: 1: values must be sorted in increasing order",
            ),
            (
                "0=1,101=2",
                "shape[1].utilization: Invalid value: 101: not in valid range [0, 100]",
            ),
            (
                "0=11",
                "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
            ),
            (
                "0:1",
                "shape: Invalid value: \"0:1\": write points as utilization=score, separated by commas",
            ),
        ] {
            assert_eq!(shape(text).unwrap_err().to_string(), expected);
        }
        assert_eq!(Shape::new(&[]).unwrap(), Shape::most_free());
    }

    fn points() -> impl Strategy<Value = Vec<ShapePoint>> {
        let utilizations = proptest::sample::subsequence((0..=UTILIZATION_MAX).collect::<Vec<_>>(), 1..8);
        (utilizations, proptest::collection::vec(0..=SCORE_MAX, 8)).prop_map(|(utilizations, scores)| {
            let points = utilizations.into_iter().zip(scores);
            points
                .map(|(utilization, score)| ShapePoint { utilization, score })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn scores_hit_the_points_and_stay_between_adjacent_points(points in points(), utilization in -10_i64..120) {
            let shape = Shape::new(&points).unwrap();
            for point in &points {
                prop_assert_eq!(shape.score(point.utilization), point.score * NODE_SCORE_FACTOR);
            }
            let left = points.iter().rev().find(|point| point.utilization <= utilization).unwrap_or(&points[0]);
            let right = points.iter().find(|point| point.utilization >= utilization).unwrap_or(&points[points.len() - 1]);
            let (low, high) = (left.score.min(right.score), left.score.max(right.score));
            let score = shape.score(utilization);
            prop_assert!((low * NODE_SCORE_FACTOR..=high * NODE_SCORE_FACTOR).contains(&score), "{} at {}", score, utilization);
        }
    }

    #[test]
    fn points_are_parsed_in_flag_and_json_form() {
        let point = |utilization, score| ShapePoint { utilization, score };
        let text = r#"[{"utilization": 0, "score": 10}, {"utilization": 100, "score": 3}]"#;
        assert_eq!(parse_points(text), Ok(vec![point(0, 10), point(100, 3)]));
        for wrong in ["[", r#"[{"utilization": 0}]"#, r#"[{"score": 0}]"#] {
            let text = wrong.to_owned();
            assert_eq!(parse_points(wrong), Err(ShapeError::Malformed { text }));
        }
    }
}
