//! Streams of claims with sizes from several distributions, reproducible by seed.

use crate::study::seeded_rng::SeededRng;

/// A distribution from which the sizes of claims are drawn.
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

    /// The next claim, in GiB.
    fn next(self, rng: &mut SeededRng) -> u64 {
        match self {
            Self::Equal => 10,
            Self::Uniform => 1 + rng.below(20),
            Self::MostlySmall if rng.one_in(5) => 20 + rng.below(40),
            Self::MostlySmall => 1 + rng.below(5),
            Self::Doubling => {
                let mut size = 1;
                while size < 64 && rng.one_in(2) {
                    size *= 2;
                }
                size
            }
        }
    }

    /// Sizes of claims that together request one and a half times the capacity of the cluster, so that the last claims do not fit.
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
