//! Generated sizes: a few frequent ones, some with one byte more or less, and some at the limits of the type.

use harness::scenario::Bytes;

use super::dice::Dice;
use super::world::Size;

/// Ascending.
const USUAL: [&str; 6] = ["1Gi", "2Gi", "3Gi", "5Gi", "10Gi", "20Gi"];

/// Large enough for several claims, so that scores differ slightly.
const ROOMY: [&str; 4] = ["30Gi", "40Gi", "70Gi", "100Gi"];

/// Sizes that are easily computed wrongly: `1500m` is one and a half bytes.
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

/// Near the limit of int64, and from 2^53 bytes on, where JSON numbers lose precision.
const HUGE: [&str; 8] = ["8Ei-1", "9E", "4Ei", "1Ei", "1E", "8Pi-1", "8Pi", "8Pi+1"];

/// Zero bytes.
const NONE: &str = "0";

/// The size of a claim or a volume.
pub(super) fn size(dice: &mut Dice) -> Size {
    let list: &[&str] = match dice.below(20) {
        0..=1 => &ODD,
        2..=3 => &HUGE,
        _ => &USUAL,
    };
    (*dice.pick(list)).to_owned()
}

/// The size of one of several claims.
pub(super) fn small(dice: &mut Dice) -> Size {
    match dice.one_in(6) {
        true => size(dice),
        false => (*dice.pick(&USUAL[..5])).to_owned(),
    }
}

/// The size of a pool, which may be 0.
pub(super) fn room(dice: &mut Dice) -> Size {
    match dice.below(10) {
        0 => NONE.to_owned(),
        1..=4 => (*dice.pick(&ROOMY)).to_owned(),
        _ => size(dice),
    }
}

/// The size of a pool, and a maximum volume size that does not exceed it.
pub(super) fn room_with_largest(dice: &mut Dice) -> (Size, Size) {
    let bytes = |size: &Size| size.parse::<Bytes>().ok().map(|bytes| bytes.count());
    let (one, other) = (room(dice), room(dice));
    match bytes(&one) < bytes(&other) {
        true => (other, one),
        false => (one, other),
    }
}

/// Sizes simpler than this one, simplest first; empty if it is no size.
pub(super) fn simpler(size: &str) -> &'static [&'static str] {
    let others: [&[&str]; 3] = [&ODD, &HUGE, &ROOMY];
    if size == NONE || others.iter().any(|list| list.contains(&size)) {
        return &USUAL;
    }
    let place = USUAL.iter().position(|usual| *usual == size);
    &USUAL[..place.unwrap_or(0)]
}
