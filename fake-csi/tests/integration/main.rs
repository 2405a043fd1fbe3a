//! Tests of the driver through its socket, as a publisher uses it, and of its binary.

pub mod fuzzed;
#[cfg(feature = "program")]
mod program;
mod wire;
