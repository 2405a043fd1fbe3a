//! Decisions through the library's API: feasible nodes, reasons and scores.
//!
//! Runs no scheduling loop.

mod capacity;
mod index;
mod nodes;
mod reasons;
mod refusals;
mod scoring;
mod volumes;
mod world;
