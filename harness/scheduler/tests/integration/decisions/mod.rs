//! Tests of decisions through the library's API: feasible nodes, reasons and scores.
//!
//! These tests do not run the scheduling loop.

mod capacity;
mod index;
mod messages;
mod nodes;
mod reasons;
mod scoring;
mod test_cluster;
mod volumes;
