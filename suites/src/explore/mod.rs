//! Exploration: random clusters and events, generated from a seed as ordinary cases.
//!
//! ```text
//! seed → draw → history (a value) → case → run and verdict
//! ```
//!
//! A history is a value in the case format, so that it can be minimized. Does not know any system under test.

mod axes;
mod case;
mod dice;
mod draw;
mod event;
mod explored;
mod explorer;
mod finding;
pub(crate) mod focus;
mod history;
mod records;
mod reduce;
mod shrink;
mod signature;
mod sizes;
mod state;
mod text;
mod world;
mod write;

pub use axes::Axes;
pub use case::case;
pub use draw::{Drawn, draw};
pub use explored::{Explored, FoundRecord, Programs};
pub use explorer::{Exploration, Explorer, Until};
pub use finding::{Finding, FindingError, Repeated, Written};
pub use focus::{FOCUSES, Focus};
pub use history::History;
pub use shrink::{Shrunk, Tries, shrink};
pub use signature::Signature;
pub use text::Excused;
