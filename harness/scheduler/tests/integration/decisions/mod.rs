//! Decisions through the library's API: feasible nodes, reasons and scores.
//!
//! Runs no scheduling loop.

mod capacity;
mod index;
mod messages;
mod nodes;
mod reasons;
mod scoring;
mod test_cluster;
mod volumes;
