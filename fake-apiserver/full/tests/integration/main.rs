//! Tests of the server with all plugins, through its API.

mod bounds;
#[path = "../../../tests/integration/wire/client.rs"]
#[expect(dead_code, reason = "the tests of the core use the rest of this client")]
mod client;
mod policies;
