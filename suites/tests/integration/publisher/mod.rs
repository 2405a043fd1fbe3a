//! The publisher alone between the fakes, for what no case can ask: its metrics, how often exactly it asks, and which permissions it
//! uses. Everything that a foreign publisher could be asked as well is a case.

mod asking;
mod cluster;
mod election;
mod manifest;
mod metrics;
mod permissions;
mod upstream;
