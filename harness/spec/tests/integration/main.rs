//! Tests of the rules: an example that violates each rule, and properties that hold for all states.

#![expect(clippy::unwrap_used, reason = "a panic fails the test and names the location")]

mod always;
mod build;
mod generate;
mod laws;
mod metrics;
mod objects;
mod placement;
mod rate_limits;
mod rule_examples;
mod scale;
mod server;
mod volumes;
