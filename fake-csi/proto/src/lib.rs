//! The messages, clients and servers of the Container Storage Interface 1.12 that this project uses, generated from `csi.proto`.
//! Holds no behaviour: how a driver answers is the business of `fake-csi`, how it is asked that of its callers.
//!
//! `csi.v1.rs` is written by `cargo run -p csi-proto --features generate`; a test says when it is stale.

/// The package `csi.v1`, under the names of the specification.
#[allow(
    unused_qualifications,
    clippy::allow_attributes_without_reason,
    reason = "written by the generator, which uses full paths so that no message name can shadow them"
)]
pub mod v1 {
    include!("csi.v1.rs");
}

/// The source of the generated code, and that code, as they were built.
#[doc(hidden)]
pub const GENERATED: [&str; 2] = [include_str!("../csi.proto"), include_str!("csi.v1.rs")];

/// What the first line of the generated code says of its source and of the rest of itself: changing either by hand shows.
#[doc(hidden)]
pub fn stamp(source: &str, code: &str) -> String {
    // FNV-1a: no secret is kept, only forgetfulness found.
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
