//! Generated sizes: a few frequent sizes, sizes with one byte more or less, and sizes at the limits of the type.

use harness::scenario::Bytes;

use super::cluster::Size;
use super::rng::SeededRng;

/// Common sizes, in ascending order.
const COMMON: [&str; 6] = ["1Gi", "2Gi", "3Gi", "5Gi", "10Gi", "20Gi"];

/// Pool sizes with space for several claims, so that the scores of the nodes differ slightly.
const LARGE: [&str; 4] = ["30Gi", "40Gi", "70Gi", "100Gi"];

/// Sizes that are easily computed wrongly: `1500m` is one and a half bytes.
const UNUSUAL: [&str; 8] = [
    "1",
    "1500m",
    "1.5Gi",
    "1500M",
    "10737418240",
    "10Gi+1",
    "10Gi-1",
    "5Gi+1",
];

/// Sizes from 2^53 bytes, where JSON numbers lose precision, up to the limit of int64.
const HUGE: [&str; 8] = ["8Ei-1", "9E", "4Ei", "1Ei", "1E", "8Pi-1", "8Pi", "8Pi+1"];

const ZERO: &str = "0";

/// A random size of a claim or a volume.
pub(super) fn size(rng: &mut SeededRng) -> Size {
    let list: &[&str] = match rng.below(20) {
        0..=1 => &UNUSUAL,
        2..=3 => &HUGE,
        _ => &COMMON,
    };
    (*rng.pick(list)).to_owned()
}

/// A random size of a claim that shares a node with other claims.
pub(super) fn small_claim_size(rng: &mut SeededRng) -> Size {
    match rng.one_in(6) {
        true => size(rng),
        false => (*rng.pick(&COMMON[..5])).to_owned(),
    }
}

/// A random size of a pool, which may be 0.
pub(super) fn pool_size(rng: &mut SeededRng) -> Size {
    match rng.below(10) {
        0 => ZERO.to_owned(),
        1..=4 => (*rng.pick(&LARGE)).to_owned(),
        _ => size(rng),
    }
}

/// A random size of a pool, and a maximum volume size of at most that size.
pub(super) fn pool_size_with_maximum(rng: &mut SeededRng) -> (Size, Size) {
    let bytes = |size: &Size| size.parse::<Bytes>().ok().map(|bytes| bytes.count());
    let (one, other) = (pool_size(rng), pool_size(rng));
    match bytes(&one) < bytes(&other) {
        true => (other, one),
        false => (one, other),
    }
}

/// Sizes that are simpler than the given size, simplest first; empty if the text is no size.
pub(super) fn simpler_sizes(size: &str) -> &'static [&'static str] {
    let special: [&[&str]; 3] = [&UNUSUAL, &HUGE, &LARGE];
    if size == ZERO || special.iter().any(|list| list.contains(&size)) {
        return &COMMON;
    }
    let index = COMMON.iter().position(|usual| *usual == size);
    &COMMON[..index.unwrap_or(0)]
}
