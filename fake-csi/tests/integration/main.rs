//! The driver as a publisher meets it, on its socket, and its program as somebody without a harness meets it.

#[cfg(feature = "program")]
mod program;
mod wire;
