//! Covering arrays: few rows that contain every allowed combination of two or three values. Uses indexes; does not know names.
//!
//! The search is greedy, one row at a time, like AETG: a row starts with a combination that no row contains yet, and each further axis gets
//! the value that adds most such combinations. Deterministic: the same space always results in the same rows.
//!
//! Names of cases consist of row values, so rows should remain stable. Therefore a wider search runs only if the first search finds too
//! many rows.

use std::collections::BTreeMap;

/// Size of the combinations that the rows must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Strength {
    /// All pairs of values of two axes.
    #[default]
    Pairs,
    /// All triples of values of three axes.
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

/// The number of values of each axis, and the excluded combinations of values.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) sizes: Vec<usize>,
    pub(super) excluded: Vec<Exclusion>,
}

/// An excluded combination: some axes, each with its excluded values.
pub(super) type Exclusion = Vec<(usize, Vec<usize>)>;

/// Values of some axes as (axis index, value index), in the order of the axes.
type Combination = Vec<(usize, usize)>;

/// An incomplete row: for each axis the index of its value, or None.
type Partial = Vec<Option<usize>>;

/// A combination of axis values encoded as one number, so that lookups do not allocate memory.
type Key = u64;

/// The wider search runs if the number of rows exceeds the lower bound (`least`) by this factor.
const WASTE_MAX: usize = 2;

/// Rows that contain every pair of values of two axes, for axes with these numbers of values. A row has one value index for each axis.
pub fn pairs(sizes: &[usize]) -> Vec<Vec<usize>> {
    let space = Space {
        sizes: sizes.to_vec(),
        excluded: Vec::new(),
    };
    cover(&space, Strength::Pairs)
}

/// Rows that contain every allowed combination of values of two axes (pairs) or three axes (triples).
pub(super) fn cover(space: &Space, strength: Strength) -> Vec<Vec<usize>> {
    let strength = strength.size().min(space.sizes.len());
    let rows = Search::new(space, strength).rows(&[TieBreak::First]);
    if rows.len() <= min_row_count(&space.sizes, strength) * WASTE_MAX {
        return rows;
    }
    let wider = Search::new(space, strength).rows(&[TieBreak::First, TieBreak::Last]);
    if wider.len() < rows.len() { wider } else { rows }
}

/// Lower bound for the number of rows: the product of the value counts of the largest axes.
fn min_row_count(sizes: &[usize], strength: usize) -> usize {
    let mut largest = sizes.to_vec();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    largest[..strength].iter().product()
}

/// How the search chooses between axis values that add equally many combinations.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TieBreak {
    First,
    Last,
}

/// Encodes a combination of axis values; the order of the axes does not matter.
fn key(values: impl IntoIterator<Item = (usize, usize)>) -> Key {
    const AXIS: u32 = 9;
    const VALUE: u32 = 12;
    let mut parts = [0; 3];
    let mut size = 0;
    for (part, (axis, value)) in parts.iter_mut().zip(values) {
        debug_assert!(
            axis < 1 << AXIS && value < 1 << VALUE,
            "too many axes or values for a key"
        );
        *part = (axis as Key) << VALUE | value as Key;
        size += 1;
    }
    parts[..size].sort_unstable();
    parts[..size]
        .iter()
        .fold(0, |key, part| key << (AXIS + VALUE) | part)
}

/// Greedy search for rows. `missing` are the combinations that no row contains yet.
struct Search<'a> {
    space: &'a Space,
    missing: BTreeMap<Key, Combination>,
    /// The sets of axes for which a row contains a combination.
    of_row: Vec<Vec<usize>>,
    /// `of_fixed[n]`: for a row in which n axes have values, the sets of these axes that form a combination with one more axis.
    of_fixed: Vec<Vec<Vec<usize>>>,
}

impl<'a> Search<'a> {
    fn new(space: &'a Space, strength: usize) -> Self {
        let axes = space.sizes.len();
        let of_row = subsets(axes, strength);
        let possible = of_row.iter().flat_map(|axes| space.combinations(axes));
        let possible = possible.filter(|it| space.is_possible(it));
        Search {
            space,
            missing: possible.map(|it| (key(it.iter().copied()), it)).collect(),
            of_fixed: (0..axes)
                .map(|fixed| subsets(fixed, strength.saturating_sub(1)))
                .collect(),
            of_row,
        }
    }

    /// Finds all rows of the array. Each is the candidate that adds most combinations; the candidates differ in tie break and first axis.
    fn rows(mut self, ties: &[TieBreak]) -> Vec<Vec<usize>> {
        let axes = self.space.sizes.len();
        let mut rows: Vec<Vec<usize>> = Vec::new();
        while let Some((_, first)) = self.missing.first_key_value() {
            let turns = ties
                .iter()
                .flat_map(|tie| (0..axes).map(move |turn| (turn, *tie)));
            let candidates: Vec<_> = turns
                .filter_map(|(turn, tie)| self.row(first, turn, tie))
                .collect();
            let gain = |row: &Vec<usize>| {
                combination_keys(row, &self.of_row)
                    .filter(|it| self.is_missing(it))
                    .count()
            };
            // Candidates are reversed, because `max_by_key` returns the last of equally good ones, and the first one is wanted.
            let Some(row) = candidates.into_iter().rev().max_by_key(gain) else {
                break;
            };
            for combination in combination_keys(&row, &self.of_row) {
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

    /// A row that contains the combination, filled greedily from axis `turn` on. None if every completion is excluded.
    fn row(&self, combination: &Combination, turn: usize, tie: TieBreak) -> Option<Vec<usize>> {
        let mut row = self.space.partial_row(combination);
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
                let gain = self.count_added_combinations(&fixed, (axis, value));
                let better = |(most, _)| gain > most || gain == most && tie == TieBreak::Last;
                if best.is_none_or(better) && self.space.can_be_completed(&mut row) {
                    best = Some((gain, value));
                }
            }
            row[axis] = Some(best?.1);
        }
        row.into_iter().collect()
    }

    /// Number of missing combinations that a row with the values `fixed` contains in addition if the value `added` is set.
    fn count_added_combinations(&self, fixed: &Combination, added: (usize, usize)) -> usize {
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

/// The combinations of axis values that a row contains, encoded as keys.
fn combination_keys<'r>(row: &'r [usize], of_row: &'r [Vec<usize>]) -> impl Iterator<Item = Key> + use<'r> {
    of_row
        .iter()
        .map(|axes| key(axes.iter().map(|axis| (*axis, row[*axis]))))
}

/// All subsets of the numbers `0..of` that have `size` elements, each in ascending order.
pub(super) fn subsets(of: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with_last = |last: usize| {
        let before = subsets(last, size - 1).into_iter();
        before.map(move |mut chosen| {
            chosen.push(last);
            chosen
        })
    };
    (0..of).flat_map(with_last).collect()
}

impl Space {
    /// All combinations of values of these axes, including excluded ones.
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

    pub(super) fn is_possible(&self, combination: &Combination) -> bool {
        self.can_be_completed(&mut self.partial_row(combination))
    }

    pub(super) fn allows(&self, row: &[usize]) -> bool {
        let row: Partial = row.iter().copied().map(Some).collect();
        !self.is_excluded(&row)
    }

    fn partial_row(&self, combination: &Combination) -> Partial {
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

    /// All rows that contain no excluded combination.
    fn allowed(space: &Space) -> Vec<Vec<usize>> {
        let axes: Vec<usize> = (0..space.sizes.len()).collect();
        let all = space.combinations(&axes).into_iter();
        let rows = all.map(|row| row.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
        rows.filter(|row| space.allows(row)).collect()
    }

    proptest! {
        #[test]
        fn rows_cover_exactly_the_allowed_combinations(space in space(), triples in any::<bool>()) {
            let strength = if triples { Strength::Triples } else { Strength::Pairs };
            let size = strength.size().min(space.sizes.len());
            let rows = cover(&space, strength);
            let of_row = subsets(space.sizes.len(), size);
            let occur: BTreeSet<Key> = rows.iter().flat_map(|row| combination_keys(row, &of_row)).collect();
            let wanted: BTreeSet<Key> = allowed(&space).iter().flat_map(|row| combination_keys(row, &of_row)).collect();
            prop_assert_eq!(occur, wanted);
            prop_assert_eq!(&rows, &cover(&space, strength));
        }

        #[test]
        fn rows_without_exclusions_stay_near_the_lower_bound(sizes in prop::collection::vec(2..8_usize, 3..8)) {
            let least = min_row_count(&sizes, 2);
            let rows = cover(&Space { sizes, excluded: Vec::new() }, Strength::Pairs).len();
            prop_assert!(rows <= least * WASTE_MAX, "{rows} rows, and {least} are needed");
        }
    }

    /// A search that always chooses the first of equally good values needs 34 rows.
    #[test]
    fn the_wider_search_reduces_rows_of_a_space_with_many_ties() {
        let space = Space {
            sizes: vec![4; 7],
            excluded: Vec::new(),
        };
        assert!(cover(&space, Strength::Pairs).len() <= 30);
    }
}
