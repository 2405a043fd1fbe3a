//! Tests the publisher alone, with fake API server and driver, for properties that no case can check: metrics, exact numbers of calls,
//! and used permissions. Cases test the requirements that apply to any publisher.

mod cluster;
mod election;
mod get_capacity;
mod manifest;
mod metrics;
mod permissions;
mod upstream;
