//! The rules, each broken at least once.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod broken;
mod build;
