//! Runs the fuzz target of the socket on its seeds and on mutated seeds, so that a plain test run covers the target without cargo-fuzz.

#[path = "../../fuzz/src/lib.rs"]
pub mod fuzz;

use std::path::Path;

use proptest::prelude::*;

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/connection");
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read(entry.expect("the folder can be read").path()).expect("seeds can be read")
    };
    entries.map(read).collect()
}

#[test]
fn seeds_close_their_connection() {
    seeds().iter().for_each(|seed| fuzz::fuzz_connection(seed));
}

proptest! {
    #[test]
    fn mutated_seeds_close_their_connection(
        mut bytes in prop::sample::select(seeds()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        fuzz::fuzz_connection(&bytes);
    }
}
