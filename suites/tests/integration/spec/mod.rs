//! The specification against everything that is recorded, and against every explicit expectation of the cases: the worlds of
//! external-provisioner, the decisions of kube-scheduler, and `capacities:` and `placement:` of all cases; and against the reference
//! scheduler, in random worlds.
//!
//! Recordings and references share no code with it, so where two of the three differ one of them is wrong.

#![expect(
    clippy::print_stdout,
    reason = "what is compared and what is left out is counted, and said"
)]

mod cases;
mod catalogue;
mod decisions;
mod rewritten;
mod scheduler;
mod worlds;
