//! Mutations of fuzz seeds, for running fuzz targets without cargo-fuzz.

use proptest::prelude::*;

/// A fuzz seed with some bytes changed, inserted or removed, or with a part repeated; or random bytes.
pub(crate) fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..5_u8), 1..6);
    let changed = (prop::sample::select(seeds), changes).prop_map(|(mut bytes, changes)| {
        for (place, byte, how) in changes {
            let at = place.index(bytes.len().max(1));
            match how {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                3 => bytes.truncate(at),
                _ => {
                    let end = bytes.len().min(at + usize::from(byte));
                    bytes.extend_from_within(at..end);
                }
            }
        }
        bytes
    });
    prop_oneof![5 => changed, 1 => prop::collection::vec(any::<u8>(), 0..100)]
}
