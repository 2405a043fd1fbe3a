//! What the tests of the loop share: an API server in memory, and a cluster on it; and what else is seen at the wire.

pub(crate) mod cluster;
mod extender;
pub(crate) mod server;
mod watches;
