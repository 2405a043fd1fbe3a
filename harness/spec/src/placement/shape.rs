//! The shape of the score function: maps utilization to score by linear interpolation (KEP-4049, `VolumeBindingArgs.shape`).

use crate::world::{Scheduler, Scoring, ShapePoint};

/// Factor between scores in a shape (0 to 10) and scores of nodes (0 to 100).
const SCALE: i64 = 10;

/// The points of a score function, sorted by utilization; at least one.
pub(super) struct Shape {
    points: Vec<ShapePoint>,
}

impl Shape {
    /// The shape of a scheduler: the configured one, or the default of its feature gate. KEP-4049 prefers nodes with more free space,
    /// KEP-1845 those with less.
    pub(super) fn of(scheduler: &Scheduler) -> Self {
        let line = |first, last| {
            let point = |utilization, score| ShapePoint { utilization, score };
            vec![point(0, first), point(100, last)]
        };
        let own = scheduler.shape.as_ref().filter(|points| !points.is_empty());
        let by_default = || match scheduler.scoring_mode() {
            Scoring::Volumes => line(0, 10),
            Scoring::Capacity | Scoring::Off => line(10, 0),
        };
        Shape {
            points: own.cloned().unwrap_or_else(by_default),
        }
    }

    /// The score from 0 to 100 for a utilization in percent. Integer divisions truncate, as in kube-scheduler.
    pub(super) fn score(&self, percent: i64) -> i64 {
        let scaled = |point: &ShapePoint| point.score * SCALE;
        let after = self.points.iter().position(|point| percent <= point.utilization);
        match after {
            Some(0) => self.points.first().map_or(0, scaled),
            Some(at) => {
                let (low, high) = (&self.points[at - 1], &self.points[at]);
                let rise = scaled(high) - scaled(low);
                scaled(low) + rise * (percent - low.utilization) / (high.utilization - low.utilization)
            }
            None => self.points.last().map_or(0, scaled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(points: &[(i64, i64)]) -> Shape {
        let point = |(utilization, score): &(i64, i64)| ShapePoint {
            utilization: *utilization,
            score: *score,
        };
        Shape {
            points: points.iter().map(point).collect(),
        }
    }

    /// Expects scores that kube-scheduler computed, from 5 percent below the first shape point to 5 percent above the last.
    #[test]
    fn scores_between_points_are_linear_and_truncated() {
        for (points, expected) in [
            (
                &[(0, 10), (100, 0)][..],
                [100, 95, 85, 75, 65, 55, 45, 35, 25, 15, 5, 0],
            ),
            (
                &[(0, 0), (100, 10)],
                [0, 5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 100],
            ),
            (
                &[(0, 10), (33, 7), (100, 1)],
                [100, 96, 87, 78, 69, 60, 51, 42, 33, 24, 15, 10],
            ),
            (
                &[(20, 3), (21, 9), (77, 4)],
                [30, 30, 30, 87, 78, 69, 60, 51, 42, 40, 40, 40],
            ),
            (&[(50, 3)], [30; 12]),
        ] {
            let percents = [-5, 5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 105];
            assert_eq!(
                percents.map(|percent| shape(points).score(percent)),
                expected,
                "{points:?}"
            );
        }
    }
}
