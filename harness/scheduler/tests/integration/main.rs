//! The scheduler as a library decides, as a program starts, and as an observer of the Kubernetes API sees it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod decisions;
mod program;
mod scheduling;
mod wire;
