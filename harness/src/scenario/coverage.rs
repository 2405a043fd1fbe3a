//! How many pairs of values of two axes occur in cases. Does not know how rows are generated.

/// Pair coverage of two axes, in one file or in all cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairCoverage {
    /// Name of the first axis.
    pub first: String,
    /// Name of the second axis.
    pub second: String,
    /// Number of allowed pairs that occur in at least one case.
    pub covered: usize,
    /// Number of pairs of values that the axes allow.
    pub possible: usize,
    /// Allowed pairs of values that occur in no case.
    pub missing: Vec<(String, String)>,
}

impl PairCoverage {
    /// Coverage of two axes before any pair is counted.
    pub fn of(first: &str, second: &str) -> Self {
        PairCoverage {
            first: first.to_owned(),
            second: second.to_owned(),
            covered: 0,
            possible: 0,
            missing: Vec::new(),
        }
    }

    /// Counts an allowed pair of axis values. `occurs`: whether at least one case contains the pair.
    pub fn add(&mut self, value: &str, with: &str, occurs: bool) {
        self.possible += 1;
        match occurs {
            true => self.covered += 1,
            false => self.missing.push((value.to_owned(), with.to_owned())),
        }
    }
}
