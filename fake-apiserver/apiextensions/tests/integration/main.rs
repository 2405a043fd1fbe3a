//! Tests of custom resources through the API of a server.

#![expect(clippy::unwrap_used, reason = "a panic fails the test and names its line")]

#[path = "../../../tests/integration/wire/client.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod client;
mod custom;
#[path = "../../../tests/integration/wire/envelope.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod envelope;
#[path = "../../../webhooks/tests/integration/webhook_server.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod webhook_server;

use fake_apiserver::extension::Extension;

fn extensions() -> Vec<Extension> {
    vec![
        fake_apiserver_apiextensions::extension(),
        fake_apiserver_webhooks::extension(),
    ]
}
