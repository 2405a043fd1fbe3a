//! Tests of the scheduler as a library, as a program, and through the Kubernetes API.

#![expect(clippy::unwrap_used, reason = "a panic fails the test and names the location")]

mod decisions;
mod program;
mod scheduling;
mod wire;
