//! Reports for users. Formats the results of the judge; decides nothing.

mod backend;
mod capacity;
mod compare;
mod expected;
mod failure;
mod logged_errors;
mod paint;
mod sequence_diagram;
mod timeline;

pub use capacity::{CapacityField, Point, Series, capacity_series};
pub use capacity_types::quantity::format_bytes;
pub use compare::{Comparison, Difference, ValueChange, ValuePair, compare};
pub use expected::format_expectation;
pub use failure::{Context, Requirement, format_failure};
pub use logged_errors::{errors_or_last_lines, logged_errors};
pub use paint::Paint;
pub use sequence_diagram::{Message, Participant, SequenceDiagram, sequence_diagram};
pub use timeline::case_timeline;
