//! The rules, each broken at least once, and the laws that all of them keep.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod always;
mod broken;
mod build;
mod draw;
mod laws;
mod metrics;
mod objects;
mod paces;
mod placement;
mod scale;
mod server;
mod volumes;
