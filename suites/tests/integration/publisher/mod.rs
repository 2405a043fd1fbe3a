//! The publisher alone between the fakes, for properties that no case can check: its metrics, exact numbers of calls, and used permissions.
//! Everything that applies to other publishers too is a case.

mod cluster;
mod election;
mod get_capacity;
mod manifest;
mod metrics;
mod permissions;
mod upstream;
