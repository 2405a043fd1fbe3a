//! The driver as a publisher meets it, on its socket, and its program as somebody without a harness meets it.

pub mod fuzzed;
#[cfg(feature = "program")]
mod program;
mod wire;
