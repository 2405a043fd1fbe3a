//! What the objects of a cluster mean for a pending pod.
//!
//! ```text
//! capture     the situation of a pending pod as a case file
//! documents   objects in YAML and JSON texts
//! inventory   the objects of a cluster or of texts, as a snapshot of the scheduler
//! explain     why a pod or claim fits which nodes
//! snapshot    every object of a cluster at one moment, and what a dump lacks
//! lint        objects that contradict each other or are of no use
//! health      indicators for an operator
//! ```
//!
//! The verdicts are the reference scheduler's; nothing here decides anew. Knows no terminal.

pub mod capture;
pub mod documents;
pub mod explain;
pub mod health;
pub mod inventory;
pub mod lint;
pub mod snapshot;
