//! Test that the generated code matches `csi.proto`.

use csi_proto::{GENERATED, stamp};

#[test]
fn generated_code_matches_csi_proto() {
    let [source, generated] = GENERATED;
    let (said, code) = generated.split_once('\n').unwrap_or_default();
    assert!(
        said == stamp(source, code),
        "src/csi.v1.rs is stale, or was changed by hand; run `cargo run -p csi-proto --features generate`"
    );
}
