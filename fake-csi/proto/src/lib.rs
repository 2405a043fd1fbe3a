//! The messages, clients and servers of the Container Storage Interface 1.12 that this project uses, generated from `csi.proto`.
//! Contains no behaviour: `fake-csi` implements the driver side; callers of the driver use the generated clients.
//!
//! `cargo run -p csi-proto --features generate` writes `csi.v1.rs`; a test fails if it is stale.

/// The protobuf package `csi.v1`, with the names of the CSI specification.
#[allow(
    unused_qualifications,
    clippy::allow_attributes_without_reason,
    reason = "generated code, which uses full paths so that no message name can shadow them"
)]
pub mod v1 {
    include!("csi.v1.rs");
}

/// The texts of `csi.proto` and of the generated code at the time when this crate was compiled.
#[doc(hidden)]
pub const GENERATED: [&str; 2] = [include_str!("../csi.proto"), include_str!("csi.v1.rs")];

/// First line of the generated code: hashes of `csi.proto` and of the code, so that a test detects manual edits of either file.
#[doc(hidden)]
pub fn stamp(source: &str, code: &str) -> String {
    // FNV-1a is sufficient: the hash only detects a forgotten regeneration.
    let hash = |text: &str| {
        let bytes = text.bytes();
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    format!(
        "// Generated from csi.proto {:016x}; this is {:016x}.",
        hash(source),
        hash(code)
    )
}
