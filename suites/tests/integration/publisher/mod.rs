//! The publisher alone between the fakes, for properties that no case can check: its metrics, exact numbers of calls, and used permissions.
//! Everything that applies to other publishers too is a case.

mod asking;
mod cluster;
mod election;
mod manifest;
mod metrics;
mod permissions;
mod upstream;
