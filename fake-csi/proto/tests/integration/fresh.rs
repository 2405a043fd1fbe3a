//! The generated code is that of `csi.proto`, as the generator wrote it.

use csi_proto::{GENERATED, stamp};

#[test]
fn the_generated_code_is_fresh() {
    let [source, generated] = GENERATED;
    let (said, code) = generated.split_once('\n').unwrap_or_default();
    assert!(
        said == stamp(source, code),
        "src/csi.v1.rs is stale, or was changed by hand; run `cargo run -p csi-proto --features generate`"
    );
}
