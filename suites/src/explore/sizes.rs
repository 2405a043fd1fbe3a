//! Sizes: a few that are often the same, and now and then one byte more or less, or a figure at the edge of what there can be.

use harness::scenario::Bytes;

use super::dice::Dice;
use super::world::Size;

/// From the smallest.
const USUAL: [&str; 6] = ["1Gi", "2Gi", "3Gi", "5Gi", "10Gi", "20Gi"];

/// Room for several claims, so that scores differ by a little.
const ROOMY: [&str; 4] = ["30Gi", "40Gi", "70Gi", "100Gi"];

/// Sizes that programs may compute wrongly with: `1500m` is a byte and a half.
const ODD: [&str; 8] = [
    "1",
    "1500m",
    "1.5Gi",
    "1500M",
    "10737418240",
    "10Gi+1",
    "10Gi-1",
    "5Gi+1",
];

/// Where 64 bits end, and, from 2^53 bytes on, where numbers in JSON are no longer exact.
const HUGE: [&str; 8] = ["8Ei-1", "9E", "4Ei", "1Ei", "1E", "8Pi-1", "8Pi", "8Pi+1"];

/// No room at all.
const NONE: &str = "0";

/// A size of a claim, or of a volume.
pub(super) fn size(dice: &mut Dice) -> Size {
    let list: &[&str] = match dice.below(20) {
        0..=1 => &ODD,
        2..=3 => &HUGE,
        _ => &USUAL,
    };
    (*dice.pick(list)).to_owned()
}

/// A size of one of several claims.
pub(super) fn small(dice: &mut Dice) -> Size {
    match dice.one_in(6) {
        true => size(dice),
        false => (*dice.pick(&USUAL[..5])).to_owned(),
    }
}

/// A size of storage, which may be none.
pub(super) fn room(dice: &mut Dice) -> Size {
    match dice.below(10) {
        0 => NONE.to_owned(),
        1..=4 => (*dice.pick(&ROOMY)).to_owned(),
        _ => size(dice),
    }
}

/// A size of storage, and of the largest volume in it, which is no larger.
pub(super) fn room_with_largest(dice: &mut Dice) -> (Size, Size) {
    let bytes = |size: &Size| size.parse::<Bytes>().ok().map(|bytes| bytes.count());
    let (one, other) = (room(dice), room(dice));
    match bytes(&one) < bytes(&other) {
        true => (other, one),
        false => (one, other),
    }
}

/// The sizes that are simpler than this one, the simplest first; none: it is no size.
pub(super) fn simpler(size: &str) -> &'static [&'static str] {
    let others: [&[&str]; 3] = [&ODD, &HUGE, &ROOMY];
    if size == NONE || others.iter().any(|list| list.contains(&size)) {
        return &USUAL;
    }
    let place = USUAL.iter().position(|usual| *usual == size);
    &USUAL[..place.unwrap_or(0)]
}
