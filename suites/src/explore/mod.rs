//! Exploration: random clusters and events, generated from a seed as ordinary cases.
//!
//! ```text
//! seed → generate → history (a value) → case → run and verdict
//! ```
//!
//! A history is data in the case format, so that it can be minimized. Does not know any system under test.

mod axes;
mod case;
mod cluster;
mod event;
mod explored;
mod explorer;
mod finding;
pub(crate) mod focus;
mod generate;
mod history;
mod records;
mod reduce;
mod rng;
mod shrink;
mod signature;
mod sizes;
mod state;
mod text;
mod write;

pub use axes::Axes;
pub use case::case;
pub use explored::{Explored, FoundRecord, Programs};
pub use explorer::{Exploration, Explorer, Until};
pub use finding::{Finding, FindingError, Reproduced, WrittenCase};
pub use focus::{FOCUSES, Focus};
pub use generate::{Generated, generate};
pub use history::History;
pub use shrink::{ShrinkLimits, Shrunk, shrink};
pub use signature::Signature;
pub use text::ExcusedRules;
