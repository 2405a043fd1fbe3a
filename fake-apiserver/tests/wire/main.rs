//! Contract tests: what a client sees on the wire. One module per area; `client` is what they share.

mod client;
mod crud;
mod deletion;
mod discovery;
mod informers;
mod limits;
mod observer;
mod perturb;
mod property;
mod release;
mod selectors;
mod status;
mod validation;
mod watch;
