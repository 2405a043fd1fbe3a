//! What the documents demand of storage-capacity tracking (KEP-1472), capacity scoring (KEP-4049) and CSI, as pure functions.
//!
//! ```text
//! world      what there is: nodes, drivers, classes, objects, claims, pods, and how the programs are set
//! objects    world → the CSIStorageCapacity objects that must, may and must not be there once everything is quiet
//! placement  world → the nodes that a pod may go to, the best of them, and why the others are excluded
//! always     world and history → what must hold at every moment
//! rules      every rule with the requirements that it comes from; a violation names one
//! ```
//!
//! Deliberately absent: clocks, input and output, tasks, and code of any publisher or scheduler. A rule is written down from the
//! documents; where they leave a choice, all of its outcomes are allowed, under a [`rules::Question`]. The requirement ids are those of
//! `suites/requirements.yaml`.

pub mod always;
pub mod objects;
pub mod placement;
pub mod rules;
pub mod violation;
pub mod world;

pub use rules::{Question, RULES, Rule};
pub use violation::{Subject, Violation};
pub use world::World;
