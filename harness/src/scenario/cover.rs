//! Covering arrays: few rows in which every allowed combination of so many values occurs. Knows axes and values by their numbers alone.
//!
//! Greedy, one row at a time, as AETG does: a row begins with a combination that is still missing, and each further axis takes the value
//! that adds most of those. The same space always gives the same rows.
//!
//! Rows are the names of cases, so a space keeps its rows as long as they are few enough, though a wider search might save one.

use std::collections::BTreeMap;

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

/// A combination as one number, in the order of combinations: looking for one allocates nothing.
type Key = u64;

/// Rows may be so many times what the two (or three) largest axes need alone.
const WASTE_MAX: usize = 2;

/// Rows in which every two values of different axes occur together; each row has the number of a value for each axis, which has as many
/// values as `sizes` says.
pub fn pairs(sizes: &[usize]) -> Vec<Vec<usize>> {
    let space = Space {
        sizes: sizes.to_vec(),
        excluded: Vec::new(),
    };
    cover(&space, Strength::Pairs)
}

/// The rows in which every combination of this strength occurs that any allowed row has.
pub(super) fn cover(space: &Space, strength: Strength) -> Vec<Vec<usize>> {
    let strength = strength.size().min(space.sizes.len());
    let rows = Search::new(space, strength).rows(&[Tie::First]);
    if rows.len() <= least(&space.sizes, strength) * WASTE_MAX {
        return rows;
    }
    let wider = Search::new(space, strength).rows(&[Tie::First, Tie::Last]);
    if wider.len() < rows.len() { wider } else { rows }
}

/// How many rows the largest axes need alone.
fn least(sizes: &[usize], strength: usize) -> usize {
    let mut largest = sizes.to_vec();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    largest[..strength].iter().product()
}

/// Which of several values that add as many combinations a row takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tie {
    First,
    Last,
}

/// The key of values, whose axes need no order.
fn key(values: impl IntoIterator<Item = (usize, usize)>) -> Key {
    const AXIS: u32 = 9;
    const VALUE: u32 = 12;
    let mut parts = [0; 3];
    let mut size = 0;
    for (part, (axis, value)) in parts.iter_mut().zip(values) {
        debug_assert!(
            axis < 1 << AXIS && value < 1 << VALUE,
            "a file has fewer axes and values"
        );
        *part = (axis as Key) << VALUE | value as Key;
        size += 1;
    }
    parts[..size].sort_unstable();
    parts[..size]
        .iter()
        .fold(0, |key, part| key << (AXIS + VALUE) | part)
}

/// The combinations that have no row yet.
struct Search<'a> {
    space: &'a Space,
    missing: BTreeMap<Key, Combination>,
    /// Of all axes, so many as a combination has.
    of_row: Vec<Vec<usize>>,
    /// By the number of values that are fixed: the choices that make a combination with one more.
    of_fixed: Vec<Vec<Vec<usize>>>,
}

impl<'a> Search<'a> {
    fn new(space: &'a Space, strength: usize) -> Self {
        let axes = space.sizes.len();
        let of_row = choices(axes, strength);
        let possible = of_row.iter().flat_map(|axes| space.combinations(axes));
        let possible = possible.filter(|it| space.is_possible(it));
        Search {
            space,
            missing: possible.map(|it| (key(it.iter().copied()), it)).collect(),
            of_fixed: (0..axes)
                .map(|fixed| choices(fixed, strength.saturating_sub(1)))
                .collect(),
            of_row,
        }
    }

    /// All rows, each the best of those that are found with these ways to settle ties.
    fn rows(mut self, ties: &[Tie]) -> Vec<Vec<usize>> {
        let axes = self.space.sizes.len();
        let mut rows: Vec<Vec<usize>> = Vec::new();
        while let Some((_, first)) = self.missing.first_key_value() {
            let turns = ties
                .iter()
                .flat_map(|tie| (0..axes).map(move |turn| (turn, *tie)));
            let candidates: Vec<_> = turns
                .filter_map(|(turn, tie)| self.row(first, turn, tie))
                .collect();
            let gain = |row: &Vec<usize>| found(row, &self.of_row).filter(|it| self.is_missing(it)).count();
            // Of several that are as good, the first.
            let Some(row) = candidates.into_iter().rev().max_by_key(gain) else {
                break;
            };
            for combination in found(&row, &self.of_row) {
                self.missing.remove(&combination);
            }
            rows.push(row);
        }
        rows.sort();
        rows
    }

    fn is_missing(&self, key: &Key) -> bool {
        self.missing.contains_key(key)
    }

    /// A row with a combination, and with as many missing ones as can be had when axes are filled from this one on.
    fn row(&self, combination: &Combination, turn: usize, tie: Tie) -> Option<Vec<usize>> {
        let mut row = self.space.begun(combination);
        let axes = row.len();
        for axis in (0..axes).map(|axis| (axis + turn) % axes) {
            if row[axis].is_some() {
                continue;
            }
            let values = row.iter().enumerate();
            let fixed: Combination = values
                .filter_map(|(axis, value)| Some((axis, (*value)?)))
                .collect();
            let mut best: Option<(usize, usize)> = None;
            for value in 0..self.space.sizes[axis] {
                row[axis] = Some(value);
                let gain = self.gain(&fixed, (axis, value));
                let better = |(most, _)| gain > most || gain == most && tie == Tie::Last;
                if best.is_none_or(better) && self.space.can_be_completed(&mut row) {
                    best = Some((gain, value));
                }
            }
            row[axis] = Some(best?.1);
        }
        row.into_iter().collect()
    }

    /// How many missing combinations a value adds to those that are fixed.
    fn gain(&self, fixed: &Combination, added: (usize, usize)) -> usize {
        let others = self.of_fixed[fixed.len()].iter();
        let with = others.map(|places| {
            key(places
                .iter()
                .map(|place| fixed[*place])
                .chain(std::iter::once(added)))
        });
        with.filter(|combination| self.is_missing(combination)).count()
    }
}

/// The combinations that a row has of these choices of axes.
fn found<'r>(row: &'r [usize], of_row: &'r [Vec<usize>]) -> impl Iterator<Item = Key> + use<'r> {
    of_row
        .iter()
        .map(|axes| key(axes.iter().map(|axis| (*axis, row[*axis]))))
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
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

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
            let of_row = choices(space.sizes.len(), size);
            let occur: BTreeSet<Key> = rows.iter().flat_map(|row| found(row, &of_row)).collect();
            let wanted: BTreeSet<Key> = allowed(&space).iter().flat_map(|row| found(row, &of_row)).collect();
            prop_assert_eq!(occur, wanted);
            prop_assert_eq!(&rows, &cover(&space, strength));
        }

        #[test]
        fn without_exclusions_rows_are_few(sizes in prop::collection::vec(2..8_usize, 3..8)) {
            let least = least(&sizes, 2);
            let rows = cover(&Space { sizes, excluded: Vec::new() }, Strength::Pairs).len();
            prop_assert!(rows <= least * WASTE_MAX, "{rows} rows, and {least} are needed");
        }
    }

    /// Where the first value of a tie gives 34 rows.
    #[test]
    fn a_space_in_which_the_first_of_a_tie_is_no_good_choice_has_few_rows() {
        let space = Space {
            sizes: vec![4; 7],
            excluded: Vec::new(),
        };
        assert!(cover(&space, Strength::Pairs).len() <= 30);
    }
}
