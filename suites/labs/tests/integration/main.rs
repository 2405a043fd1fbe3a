//! Tests studies, sweeps and the self-test through the library API. The commands are tested in xtask.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod selftest;
mod study;
mod sweep;
#[path = "../../../tests/integration/known/systems.rs"]
mod systems;
