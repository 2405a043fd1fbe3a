//! Contract tests: what a client sees on the wire. One module per area; `client` is what they share.

mod access;
mod client;
mod crud;
mod deletion;
mod discovery;
mod health;
mod informers;
mod limits;
mod observer;
mod peers;
mod property;
mod rbac;
mod selectors;
mod status;
mod tls;
mod usage;
mod validation;
mod watch;
