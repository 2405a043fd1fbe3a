//! Configuration of a server: options, limits, and the Kubernetes release that it serves.

pub(crate) mod account_tokens;
pub(crate) mod admission;
pub(crate) mod network;
pub(crate) mod options;
pub(crate) mod release;
