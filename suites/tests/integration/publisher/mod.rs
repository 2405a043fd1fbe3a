//! Tests the publisher alone, with fake API server and driver, for properties that no case can check: metrics, exact numbers of calls, and
//! used permissions. Requirements for any publisher are tested by cases.

mod cluster;
mod election;
mod get_capacity;
mod manifest;
mod metrics;
mod permissions;
mod upstream;
