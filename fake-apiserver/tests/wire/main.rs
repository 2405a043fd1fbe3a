//! Contract tests: what a client sees on the wire. One module per area; `client` and `envelope` are what they share.

mod client;
mod crud;
mod defaults;
mod deletion;
mod discovery;
mod envelope;
mod fields;
mod informers;
mod limits;
mod observer;
mod property;
mod protobuf;
mod selectors;
mod status;
mod strategic;
mod validation;
mod watch;
mod yaml;
