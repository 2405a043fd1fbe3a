//! Contract tests: what a client sees on the wire. One module per area; `client` and `envelope` are what they share.

mod access;
mod client;
mod crud;
mod defaults;
mod deletion;
mod discovery;
mod envelope;
mod fields;
mod health;
mod informers;
mod limits;
mod observer;
mod peers;
mod perturb;
mod property;
mod protobuf;
mod rbac;
mod release;
mod selectors;
mod status;
mod strategic;
mod tls;
mod usage;
mod validation;
mod watch;
mod yaml;
