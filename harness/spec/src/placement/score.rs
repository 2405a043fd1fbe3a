//! The score of a node that takes the pod (KEP-4049, "Scoring").
//!
//! Requested over capacity for each class, through the shape, averaged over the classes with equal weight. Where several objects let the
//! pod pass, or an object has a maximum and no capacity, the documents leave open what is scored, so that a node has a set of scores.

use std::collections::{BTreeMap, BTreeSet};

use super::shape::Shape;
use crate::world::capacity::bytes;
use crate::world::{CapacityObject, Claim, Scoring, Volume};

/// A node with what the pod's claims would take there.
#[derive(Default)]
pub(super) struct Candidate<'w> {
    /// Classes of claims that an existing volume satisfies: bytes requested, bytes of the volumes.
    volumes: BTreeMap<&'w str, (i128, i128)>,
    /// Classes of claims whose volumes are to be made.
    claims: BTreeMap<&'w str, Dynamic>,
}

/// The claims of one class whose volumes are to be made.
#[derive(Default)]
struct Dynamic {
    requested: i128,
    /// For each claim, the capacities that may be counted for it.
    capacities: Vec<BTreeSet<Counted>>,
}

/// What is counted as the capacity of a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    /// So many bytes.
    Bytes(i128),
    /// Nothing is known, so the class does not count.
    Nothing,
}

impl<'w> Candidate<'w> {
    /// Counts a claim that an existing volume satisfies.
    pub(super) fn add_volume(&mut self, claim: &Claim, volume: &'w Volume) {
        let of_class = self.volumes.entry(&volume.class).or_default();
        of_class.0 += claim.request.map_or(0, bytes);
        of_class.1 += volume.capacity.map_or(0, bytes);
    }

    /// Counts a claim whose volume is to be made, by one of these objects.
    pub(super) fn add_claim(&mut self, claim: &'w Claim, objects: Vec<&CapacityObject>) {
        let of_class = self.claims.entry(&claim.class).or_default();
        of_class.requested += claim.request.map_or(0, bytes);
        let counted = objects.into_iter().flat_map(counted);
        of_class.capacities.push(counted.collect());
    }

    /// The scores that the node may have. One volume that exists is enough for claims without one not to count (KEP-4049, "Conditions
    /// for scoring static or dynamic provisioning").
    pub(super) fn scores(&self, scoring: Scoring, shape: &Shape, is_kep_text: bool) -> BTreeSet<i64> {
        let classes: Vec<BTreeSet<Option<i64>>> = match scoring {
            Scoring::Off => Vec::new(),
            Scoring::Volumes | Scoring::Capacity if !self.volumes.is_empty() => {
                let of_class =
                    |(requested, capacity): &(i128, i128)| Some(shape.score(percent(*requested, *capacity)));
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
        averages(&classes)
    }
}

/// What may be counted for an object. The score is by capacity; that a maximum alone must not break it is all that is demanded.
fn counted(object: &CapacityObject) -> Vec<Counted> {
    match (object.capacity, object.maximum) {
        (Some(capacity), _) => vec![Counted::Bytes(bytes(capacity))],
        (None, maximum) => vec![
            Counted::Bytes(maximum.map_or(0, bytes)),
            Counted::Bytes(0),
            Counted::Nothing,
        ],
    }
}

impl Dynamic {
    fn scores(&self, shape: &Shape, is_kep_text: bool) -> BTreeSet<Option<i64>> {
        let score = |counted: Counted| match counted {
            Counted::Bytes(capacity) => Some(shape.score(percent(self.requested, capacity))),
            Counted::Nothing => None,
        };
        if !is_kep_text {
            // The capacity of a class counts once, whichever of its claims it was found for.
            return self.capacities.iter().flatten().map(|it| score(*it)).collect();
        }
        let mut sums = BTreeSet::from([0]);
        for capacities in &self.capacities {
            let bytes = |counted: &Counted| match counted {
                Counted::Bytes(bytes) => *bytes,
                Counted::Nothing => 0,
            };
            let added = sums
                .iter()
                .flat_map(|sum| capacities.iter().map(move |it| sum + bytes(it)));
            sums = added.collect();
        }
        sums.into_iter().map(|sum| score(Counted::Bytes(sum))).collect()
    }
}

/// Requested over capacity in whole percent; no capacity is full.
fn percent(requested: i128, capacity: i128) -> i64 {
    let percent = (requested * 100).checked_div(capacity.max(0)).unwrap_or(100);
    // No shape goes beyond 100.
    i64::try_from(percent).unwrap_or(100)
}

/// The means over the classes that count, rounded, for every choice of one score per class. None counts: 0.
fn averages(classes: &[BTreeSet<Option<i64>>]) -> BTreeSet<i64> {
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
        // Half a point counts as one.
        _ => (2 * sum + count) / (2 * count),
    };
    sums.into_iter().map(mean).collect()
}
