//! Diagnoses a pending pod from the objects of a cluster.
//!
//! ```text
//! capture     writes a case file that reproduces the situation of a pending pod
//! documents   splits YAML and JSON texts into objects
//! inventory   objects of a cluster or of texts, as a scheduler snapshot
//! explain     feasible nodes of a pod or PVC, and why other nodes are rejected
//! snapshot    every object of a cluster at one moment, and gaps of a dump
//! text        shortens texts and lists for messages
//! lint        contradictory and useless objects
//! health      indicators for an operator
//! ```
//!
//! Verdicts are those of the reference scheduler; this crate makes no decisions. Does not know terminals.

pub mod capture;
pub mod documents;
pub mod explain;
pub mod health;
pub mod inventory;
pub mod lint;
pub mod snapshot;
mod text;
