//! Contract tests of the HTTP API. One module per area; `client` and `envelope` are shared helpers.

mod access;
mod admission;
mod advice;
mod apply;
mod capacities;
mod client;
mod crud;
#[path = "../../../apiextensions/tests/integration/custom/fixtures.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod custom;
mod deadline;
mod deep;
mod defaults;
mod deletion;
mod discovery;
mod endpoint_slices;
mod envelope;
mod eviction;
mod fault_injection;
mod fields;
mod flight;
mod garbage;
mod gzip;
mod health;
mod informers;
mod kinds;
mod limits;
mod managed;
mod noise;
mod observer;
mod openapi;
mod pages;
mod parts;
mod peers;
mod property;
mod protobuf;
mod rbac;
mod readme;
mod release;
mod selectors;
mod status;
mod strategic;
mod tls;
mod usage;
mod validation;
mod volumes;
mod watch;
mod workloads;
mod yaml;

use fake_apiserver::extension::Extension;

pub(crate) fn extensions() -> Vec<Extension> {
    vec![
        fake_apiserver_apiextensions::extension(),
        fake_apiserver_webhooks::extension(),
    ]
}
