//! Tests of explanations, findings and indicators on small clusters, through the API of the library.

#![expect(clippy::unwrap_used, reason = "a panic fails the test and names the location")]

mod budgets;
mod causes;
mod explanation;
mod health;
mod inventory;
mod random;
#[path = "../../../scheduler/tests/integration/decisions/reasons.rs"]
#[allow(dead_code, reason = "only the scheduler's tests use the rest")]
mod reasons;
#[path = "../../../scheduler/tests/integration/decisions/test_cluster.rs"]
#[allow(dead_code, reason = "only the scheduler's tests use the rest")]
mod test_cluster;
