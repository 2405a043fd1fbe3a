//! Covering arrays: few rows in which every allowed combination of so many values occurs. Knows axes and values by their numbers alone.
//!
//! Greedy, one row at a time, as AETG does: a row begins with a combination that is still missing, and each further axis takes the value
//! that adds most of those. The same space always gives the same rows.

use std::collections::BTreeSet;

/// How many values occur together in every allowed combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Strength {
    /// Two.
    #[default]
    Pairs,
    /// Three.
    Triples,
}

impl Strength {
    fn size(self) -> usize {
        match self {
            Strength::Pairs => 2,
            Strength::Triples => 3,
        }
    }
}

/// Axes with so many values each, and what does not occur together.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) sizes: Vec<usize>,
    pub(super) excluded: Vec<Exclusion>,
}

/// Values that do not occur together: for each of its axes some of them.
pub(super) type Exclusion = Vec<(usize, Vec<usize>)>;

/// Values of some axes, in the order of the axes: (axis, value).
type Combination = Vec<(usize, usize)>;

/// A row that is not complete: the value of each axis that has one.
type Partial = Vec<Option<usize>>;

/// The rows in which every combination of this strength occurs that any allowed row has.
pub(super) fn cover(space: &Space, strength: Strength) -> Vec<Vec<usize>> {
    let strength = strength.size().min(space.sizes.len());
    let mut missing: BTreeSet<Combination> = BTreeSet::new();
    for axes in choices(space.sizes.len(), strength) {
        missing.extend(
            space
                .combinations(&axes)
                .into_iter()
                .filter(|it| space.is_possible(it)),
        );
    }
    let mut rows: Vec<Vec<usize>> = Vec::new();
    while let Some(first) = missing.first().cloned() {
        let candidates =
            (0..space.sizes.len()).filter_map(|turn| space.row(&first, &missing, strength, turn));
        let gain = |row: &Vec<usize>| found(row, strength).filter(|it| missing.contains(it)).count();
        // Of several that are as good, the first.
        let Some(row) = candidates.rev().max_by_key(gain) else {
            break;
        };
        for combination in found(&row, strength) {
            missing.remove(&combination);
        }
        rows.push(row);
    }
    rows.sort();
    rows
}

/// All combinations of this size that a row has.
fn found(row: &[usize], strength: usize) -> impl Iterator<Item = Combination> {
    let of = |axes: Vec<usize>| axes.into_iter().map(|axis| (axis, row[axis])).collect();
    choices(row.len(), strength).into_iter().map(of)
}

/// All ways to choose so many of the first numbers, each in ascending order.
pub(super) fn choices(of: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with_last = |last: usize| {
        let before = choices(last, size - 1).into_iter();
        before.map(move |mut chosen| {
            chosen.push(last);
            chosen
        })
    };
    (0..of).flat_map(with_last).collect()
}

impl Space {
    /// All values of these axes together, allowed or not.
    pub(super) fn combinations(&self, axes: &[usize]) -> Vec<Combination> {
        let mut all = vec![Combination::new()];
        for axis in axes {
            let longer = |begun: Combination| {
                (0..self.sizes[*axis]).map(move |value| {
                    let mut combination = begun.clone();
                    combination.push((*axis, value));
                    combination
                })
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    /// Whether any allowed row has a combination.
    pub(super) fn is_possible(&self, combination: &Combination) -> bool {
        self.can_be_completed(&mut self.begun(combination))
    }

    /// Whether a row is allowed.
    pub(super) fn allows(&self, row: &[usize]) -> bool {
        let row: Partial = row.iter().copied().map(Some).collect();
        !self.is_excluded(&row)
    }

    fn begun(&self, combination: &Combination) -> Partial {
        let mut row = vec![None; self.sizes.len()];
        for (axis, value) in combination {
            row[*axis] = Some(*value);
        }
        row
    }

    fn is_excluded(&self, row: &Partial) -> bool {
        let has =
            |(axis, values): &(usize, Vec<usize>)| row[*axis].is_some_and(|value| values.contains(&value));
        self.excluded.iter().any(|exclusion| exclusion.iter().all(has))
    }

    fn can_be_completed(&self, row: &mut Partial) -> bool {
        if self.is_excluded(row) {
            return false;
        }
        let Some(open) = row.iter().position(Option::is_none) else {
            return true;
        };
        let can = (0..self.sizes[open]).any(|value| {
            row[open] = Some(value);
            self.can_be_completed(row)
        });
        row[open] = None;
        can
    }

    /// A row with a combination, and with as many missing ones as can be had when axes are filled from this one on.
    fn row(
        &self,
        combination: &Combination,
        missing: &BTreeSet<Combination>,
        strength: usize,
        turn: usize,
    ) -> Option<Vec<usize>> {
        let mut row = self.begun(combination);
        for axis in (0..row.len()).map(|axis| (axis + turn) % self.sizes.len()) {
            if row[axis].is_some() {
                continue;
            }
            let fixed: Combination = row
                .iter()
                .enumerate()
                .filter_map(|(axis, value)| Some((axis, (*value)?)))
                .collect();
            let mut best: Option<(usize, usize)> = None;
            for value in 0..self.sizes[axis] {
                row[axis] = Some(value);
                let gain = gain(&fixed, (axis, value), missing, strength);
                if best.is_none_or(|(most, _)| gain > most) && self.can_be_completed(&mut row) {
                    best = Some((gain, value));
                }
            }
            row[axis] = Some(best?.1);
        }
        row.into_iter().collect()
    }
}

/// How many missing combinations a value adds to those that are fixed.
fn gain(
    fixed: &Combination,
    added: (usize, usize),
    missing: &BTreeSet<Combination>,
    strength: usize,
) -> usize {
    let others = choices(fixed.len(), strength - 1).into_iter();
    let with = others.map(|places| {
        let mut combination: Combination = places.into_iter().map(|place| fixed[place]).collect();
        combination.push(added);
        combination.sort_unstable();
        combination
    });
    with.filter(|combination| missing.contains(combination)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows may be so many times what the two (or three) largest axes need alone.
    const WASTE_MAX: usize = 2;

    fn space() -> impl Strategy<Value = Space> {
        let sizes = prop::collection::vec(1..6_usize, 2..6);
        let excluded = prop::collection::vec((any::<(usize, usize, usize, usize)>(), 1..3_usize), 0..4);
        (sizes, excluded).prop_map(|(sizes, excluded)| {
            let exclusion = |((a, v, b, w), few): ((usize, usize, usize, usize), usize)| {
                let (a, b) = (a % sizes.len(), b % sizes.len());
                let some = |axis: usize, from: usize| (from % sizes[axis]..sizes[axis]).take(few).collect();
                vec![(a, some(a, v)), (b, some(b, w))]
            };
            let excluded = excluded.into_iter().map(exclusion).collect();
            Space { sizes, excluded }
        })
    }

    /// All rows that are allowed, one by one.
    fn allowed(space: &Space) -> Vec<Vec<usize>> {
        let axes: Vec<usize> = (0..space.sizes.len()).collect();
        let all = space.combinations(&axes).into_iter();
        let rows = all.map(|row| row.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
        rows.filter(|row| space.allows(row)).collect()
    }

    proptest! {
        #[test]
        fn every_combination_of_an_allowed_row_occurs_and_no_row_is_excluded(space in space(), triples in any::<bool>()) {
            let strength = if triples { Strength::Triples } else { Strength::Pairs };
            let size = strength.size().min(space.sizes.len());
            let rows = cover(&space, strength);
            let occur: BTreeSet<Combination> = rows.iter().flat_map(|row| found(row, size)).collect();
            let wanted: BTreeSet<Combination> = allowed(&space).iter().flat_map(|row| found(row, size)).collect();
            prop_assert_eq!(occur, wanted);
            prop_assert_eq!(&rows, &cover(&space, strength));
        }

        #[test]
        fn without_exclusions_rows_are_few(sizes in prop::collection::vec(2..8_usize, 3..8)) {
            let mut largest = sizes.clone();
            largest.sort_unstable_by(|a, b| b.cmp(a));
            let least = largest[0] * largest[1];
            let rows = cover(&Space { sizes, excluded: Vec::new() }, Strength::Pairs).len();
            prop_assert!(rows <= least * WASTE_MAX, "{rows} rows, and {least} are needed");
        }
    }
}
