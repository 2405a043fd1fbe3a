//! Shared by the loop tests: an in-memory API server and a cluster on it. Also tests at HTTP level.

pub(crate) mod cluster;
mod extender;
pub(crate) mod server;
mod watches;
