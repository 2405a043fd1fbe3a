//! Studies, sweeps and the self-test as libraries. The commands are tested in xtask.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod selftest;
mod study;
mod sweep;
#[path = "../../../tests/integration/known/systems.rs"]
mod systems;
