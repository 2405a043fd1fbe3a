//! An in-memory API server, and a cluster that uses it, for the tests of the scheduling loop. Also tests at HTTP level.

pub(crate) mod cluster;
mod extender;
pub(crate) mod server;
mod watches;
