//! Tests of the cases, the catalogue, the references and the reports, against their documentation and against recordings of real programs.
//! `tests/cases.rs` runs the cases.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod activity_limit;
mod case_format;
mod catalogue;
mod decisions;
mod deep;
mod driver;
mod edges;
mod evidence;
mod explore;
mod known;
mod manifest_page;
mod page;
mod paths;
mod pods;
mod publisher;
mod recorded_runs;
mod recorded_worlds;
mod recordings;
mod report;
mod scoring;
mod spec;
mod text;
mod worlds;
