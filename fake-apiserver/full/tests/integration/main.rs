//! The composed server as its clients see it.

mod bounds;
#[path = "../../../tests/integration/wire/client.rs"]
#[expect(dead_code, reason = "other tests of the server use the rest of this client")]
mod client;
