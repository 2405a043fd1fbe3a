//! Reports for people. Renders what the judge found; decides nothing.

mod failure;
mod paint;
mod timeline;

pub use failure::{Context, Requirement, failure};
pub use paint::Paint;
