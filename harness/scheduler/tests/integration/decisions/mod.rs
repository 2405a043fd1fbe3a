//! Tests of decisions through the library's API, without the scheduling loop: feasible nodes, reasons and scores.

mod capacity;
mod index;
mod messages;
mod nodes;
mod reasons;
mod scoring;
mod test_cluster;
mod volumes;
