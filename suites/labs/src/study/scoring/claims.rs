//! Streams of claims with sizes from several distributions, reproducible by seed.

use crate::study::seeded_rng::SeededRng;

/// A distribution from which the sizes of claims are drawn, in GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    Equal,
    Uniform,
    MostlySmall,
    Doubling,
}

impl Sizes {
    pub(super) const ALL: [Self; 4] = [Self::Equal, Self::Uniform, Self::MostlySmall, Self::Doubling];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Equal => "all 10",
            Self::Uniform => "1 to 20",
            Self::MostlySmall => "four small, one of 20 to 59",
            Self::Doubling => "1, half as often 2, and so on to 64",
        }
    }

    /// Draws the size of the next claim, in GiB.
    fn next(self, rng: &mut SeededRng) -> u64 {
        match self {
            Self::Equal => 10,
            Self::Uniform => 1 + rng.random_below(20),
            Self::MostlySmall if rng.true_once_in(5) => 20 + rng.random_below(40),
            Self::MostlySmall => 1 + rng.random_below(5),
            Self::Doubling => {
                let mut size = 1;
                while size < 64 && rng.true_once_in(2) {
                    size *= 2;
                }
                size
            }
        }
    }

    /// Draws sizes of claims that in total request one and a half times the cluster's capacity `room`, so that the last claims do not fit.
    pub(super) fn stream(self, rng: &mut SeededRng, room: u64) -> Vec<u64> {
        let mut left = room + room / 2;
        let mut claims = Vec::new();
        while left > 0 {
            let size = self.next(rng);
            left = left.saturating_sub(size);
            claims.push(size);
        }
        claims
    }
}
