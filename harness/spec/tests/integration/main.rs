//! Tests of the rules: an example that violates each, and properties that always hold.

#![expect(clippy::unwrap_used, reason = "a panic fails the test and names the location")]

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
