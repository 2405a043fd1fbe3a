//! Tests of the API server with all admission plugins, through its API.

mod bounds;
#[path = "../../../tests/integration/wire/client.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod client;
mod kinds;
mod kubectl;
mod openapi;
mod policies;
mod services;

use fake_apiserver::extension::Extension;

fn extensions() -> Vec<Extension> {
    fake_apiserver_full::extensions()
}
