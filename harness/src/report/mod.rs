//! Reports for people. Formats what the judge found; decides nothing.

mod backend;
mod capacity;
mod compare;
mod expected;
mod failure;
mod paint;
mod said;
mod scene;
mod timeline;

pub use capacity::{Point, Quantity, Series, series};
pub use capacity_types::quantity::format_bytes;
pub use compare::{Comparison, Difference, Side, Turn, compare};
pub use expected::expectation;
pub use failure::{Context, Requirement, failure};
pub use paint::Paint;
pub use said::{last_logged, said};
pub use scene::{Lane, Moment, Scene, scene};
pub use timeline::case_timeline;
