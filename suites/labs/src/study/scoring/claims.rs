//! Streams of claims with sizes from several distributions, reproducible by seed.

use crate::study::dice::Dice;

/// A distribution of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    Equal,
    Uniform,
    MostlySmall,
    Doubling,
}

impl Sizes {
    pub(super) const ALL: [Self; 4] = [Self::Equal, Self::Uniform, Self::MostlySmall, Self::Doubling];

    /// Name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Equal => "all 10",
            Self::Uniform => "1 to 20",
            Self::MostlySmall => "four small, one of 20 to 59",
            Self::Doubling => "1, half as often 2, and so on to 64",
        }
    }

    /// The next claim, in GiB.
    fn next(self, dice: &mut Dice) -> u64 {
        match self {
            Self::Equal => 10,
            Self::Uniform => 1 + dice.below(20),
            Self::MostlySmall if dice.one_in(5) => 20 + dice.below(40),
            Self::MostlySmall => 1 + dice.below(5),
            Self::Doubling => {
                let mut size = 1;
                while size < 64 && dice.one_in(2) {
                    size *= 2;
                }
                size
            }
        }
    }

    /// Claims whose total size is one and a half times the capacity, so that the last ones meet a full cluster.
    pub(super) fn stream(self, dice: &mut Dice, room: u64) -> Vec<u64> {
        let mut left = room + room / 2;
        let mut claims = Vec::new();
        while left > 0 {
            let size = self.next(dice);
            left = left.saturating_sub(size);
            claims.push(size);
        }
        claims
    }
}
