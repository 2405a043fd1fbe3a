//! Compares the specification with recordings of external-provisioner and kube-scheduler, with every explicit `capacities:` and
//! `placement:` expectation of the cases, and with the reference scheduler in random clusters.
//!
//! Recordings and references share no code with the specification, so a difference means that one of the three is wrong.

#![expect(
    clippy::print_stdout,
    reason = "prints the numbers of compared and skipped expectations"
)]

mod cases;
mod catalogue;
mod decisions;
mod rewritten;
mod scheduler;
mod worlds;
