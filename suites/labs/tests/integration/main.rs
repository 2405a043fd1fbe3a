//! Studies, sweeps and the self-test as libraries. The commands are tested in xtask.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod selftest;
mod study;
mod sweep;
#[path = "../../../tests/integration/known/systems.rs"]
mod systems;
