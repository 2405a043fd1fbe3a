//! The server as its clients see it, and its sources as a reader does. What other servers answered is in `full/tests/contract`.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod floors;
pub mod fuzzed;
mod imports;
mod kubectl;
mod quantity;
mod wire;
