//! The score of a feasible node (KEP-4049, "Scoring").
//!
//! For each StorageClass, the requested size is divided by the capacity and mapped to a score by the shape; the score of the node is the
//! mean over the classes. If several objects are sufficient, or an object has a maximum but no capacity, the KEP does not define which
//! value is scored, so a node has a set of possible scores.

use std::collections::{BTreeMap, BTreeSet};

use super::shape::Shape;
use crate::world::capacity::bytes;
use crate::world::{CapacityObject, Claim, Scoring, Volume};

/// A node, and how the pod's unbound PVCs would get volumes on it.
#[derive(Default)]
pub(super) struct Candidate<'w> {
    /// Statically bound PVCs by StorageClass: sum of the requested bytes, sum of the bytes of the PersistentVolumes.
    volumes: BTreeMap<&'w str, (i128, i128)>,
    /// PVCs that would be provisioned, by StorageClass.
    claims: BTreeMap<&'w str, DynamicClaims>,
}

/// The PVCs of one StorageClass that would be provisioned.
#[derive(Default)]
struct DynamicClaims {
    requested: i128,
    /// For each PVC, the capacities that the scheduler may score.
    capacities: Vec<BTreeSet<ScoredCapacity>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ScoredCapacity {
    Bytes(i128),
    /// The capacity is unknown, so the class is not scored.
    Unknown,
}

impl<'w> Candidate<'w> {
    /// Adds a PVC that would be bound to an existing volume.
    pub(super) fn add_volume(&mut self, claim: &Claim, volume: &'w Volume) {
        let of_class = self.volumes.entry(&volume.class).or_default();
        of_class.0 += claim.request.map_or(0, bytes);
        of_class.1 += volume.capacity.map_or(0, bytes);
    }

    /// Adds a PVC that would be provisioned with the capacity of one of these objects.
    pub(super) fn add_claim(&mut self, claim: &'w Claim, objects: Vec<&CapacityObject>) {
        let of_class = self.claims.entry(&claim.class).or_default();
        of_class.requested += claim.request.map_or(0, bytes);
        let counted = objects.into_iter().flat_map(scored_capacities);
        of_class.capacities.push(counted.collect());
    }

    /// The possible scores. If any PVC would be bound statically, PVCs that would be provisioned do not count (KEP-4049, "Conditions for
    /// scoring static or dynamic provisioning").
    pub(super) fn scores(&self, scoring: Scoring, shape: &Shape, is_kep_text: bool) -> BTreeSet<i64> {
        let classes: Vec<BTreeSet<Option<i64>>> = match scoring {
            Scoring::Off => Vec::new(),
            Scoring::Volumes | Scoring::Capacity if !self.volumes.is_empty() => {
                let of_class = |(requested, capacity): &(i128, i128)| {
                    Some(shape.score(utilization_percent(*requested, *capacity)))
                };
                self.volumes
                    .values()
                    .map(|it| BTreeSet::from([of_class(it)]))
                    .collect()
            }
            Scoring::Volumes => Vec::new(),
            Scoring::Capacity => self
                .claims
                .values()
                .map(|it| it.scores(shape, is_kep_text))
                .collect(),
        };
        rounded_means(&classes)
    }
}

/// The capacities of an object that the scheduler may score. Without `capacity`, the KEP does not define the value, and only requires that
/// scoring does not fail.
fn scored_capacities(object: &CapacityObject) -> Vec<ScoredCapacity> {
    match (object.capacity, object.maximum) {
        (Some(capacity), _) => vec![ScoredCapacity::Bytes(bytes(capacity))],
        (None, maximum) => vec![
            ScoredCapacity::Bytes(maximum.map_or(0, bytes)),
            ScoredCapacity::Bytes(0),
            ScoredCapacity::Unknown,
        ],
    }
}

impl DynamicClaims {
    fn scores(&self, shape: &Shape, is_kep_text: bool) -> BTreeSet<Option<i64>> {
        let score = |counted: ScoredCapacity| match counted {
            ScoredCapacity::Bytes(capacity) => {
                Some(shape.score(utilization_percent(self.requested, capacity)))
            }
            ScoredCapacity::Unknown => None,
        };
        if !is_kep_text {
            // The capacity of the class counts once, not once per PVC. Any of its PVCs may determine the scored object.
            return self.capacities.iter().flatten().map(|it| score(*it)).collect();
        }
        let mut sums = BTreeSet::from([0]);
        for capacities in &self.capacities {
            let bytes = |counted: &ScoredCapacity| match counted {
                ScoredCapacity::Bytes(bytes) => *bytes,
                ScoredCapacity::Unknown => 0,
            };
            let added = sums
                .iter()
                .flat_map(|sum| capacities.iter().map(move |it| sum + bytes(it)));
            sums = added.collect();
        }
        sums.into_iter()
            .map(|sum| score(ScoredCapacity::Bytes(sum)))
            .collect()
    }
}

/// Requested size divided by capacity, in whole percent; 100 if the capacity is zero.
fn utilization_percent(requested: i128, capacity: i128) -> i64 {
    let percent = (requested * 100).checked_div(capacity.max(0)).unwrap_or(100);
    // The points of a score function end at 100 percent utilization.
    i64::try_from(percent).unwrap_or(100)
}

/// The rounded means over the classes that are scored, for every combination of their scores; 0 if no class is scored.
fn rounded_means(classes: &[BTreeSet<Option<i64>>]) -> BTreeSet<i64> {
    let mut sums: BTreeSet<(i64, i64)> = BTreeSet::from([(0, 0)]);
    for scores in classes {
        let added = sums.iter().flat_map(|(sum, count)| {
            scores.iter().map(move |score| match score {
                Some(score) => (sum + score, count + 1),
                None => (*sum, *count),
            })
        });
        sums = added.collect();
    }
    let mean = |(sum, count): (i64, i64)| match count {
        0 => 0,
        // Rounds half up.
        _ => (2 * sum + count) / (2 * count),
    };
    sums.into_iter().map(mean).collect()
}
