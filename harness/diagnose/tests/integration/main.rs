//! Explanations, findings and indicators as a caller of the library sees them, for worlds made of a few objects.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod budgets;
mod causes;
mod explanation;
mod health;
mod inventory;
mod random;
#[path = "../../../scheduler/tests/integration/decisions/reasons.rs"]
#[allow(dead_code, reason = "the tests of the scheduler use the rest")]
mod reasons;
#[path = "../../../scheduler/tests/integration/decisions/world.rs"]
#[allow(dead_code, reason = "the tests of the scheduler use the rest")]
mod world;
