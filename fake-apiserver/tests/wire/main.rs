//! Contract tests: what a client sees on the wire. One module per area; `client` is what they share.

mod client;
mod crud;
mod deletion;
mod discovery;
mod fields;
mod informers;
mod limits;
mod observer;
mod property;
mod selectors;
mod status;
mod strategic;
mod validation;
mod watch;
