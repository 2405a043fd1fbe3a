//! How many pairs of values occur together in cases, for every two axes of a file. Does not know how rows are made.

/// Two axes, of a file or of all cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairCoverage {
    /// The first axis.
    pub first: String,
    /// The second.
    pub second: String,
    /// How many pairs of values some case has.
    pub covered: usize,
    /// How many some allowed row has.
    pub possible: usize,
    /// Those that no case has, and an allowed row would.
    pub missing: Vec<(String, String)>,
}

impl PairCoverage {
    /// Of these two axes, before anything is counted.
    pub fn of(first: &str, second: &str) -> Self {
        PairCoverage {
            first: first.to_owned(),
            second: second.to_owned(),
            covered: 0,
            possible: 0,
            missing: Vec::new(),
        }
    }

    /// Counts a pair that some allowed row has.
    pub fn add(&mut self, value: &str, with: &str, occurs: bool) {
        self.possible += 1;
        match occurs {
            true => self.covered += 1,
            false => self.missing.push((value.to_owned(), with.to_owned())),
        }
    }
}
