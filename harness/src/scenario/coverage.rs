//! Pair coverage of cases for every two axes of a file. Does not know how rows are generated.

/// Pair coverage of two axes, of one file or of all cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairCoverage {
    /// The first axis.
    pub first: String,
    /// The second.
    pub second: String,
    /// Number of pairs that occur in a case.
    pub covered: usize,
    /// Number of pairs that occur in an allowed row.
    pub possible: usize,
    /// Allowed pairs that occur in no case.
    pub missing: Vec<(String, String)>,
}

impl PairCoverage {
    /// An empty count for these two axes.
    pub fn of(first: &str, second: &str) -> Self {
        PairCoverage {
            first: first.to_owned(),
            second: second.to_owned(),
            covered: 0,
            possible: 0,
            missing: Vec::new(),
        }
    }

    /// Counts an allowed pair; `occurs`: whether a case has it.
    pub fn add(&mut self, value: &str, with: &str, occurs: bool) {
        self.possible += 1;
        match occurs {
            true => self.covered += 1,
            false => self.missing.push((value.to_owned(), with.to_owned())),
        }
    }
}
