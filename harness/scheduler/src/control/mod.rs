//! The scheduling loop: one task owns all state and handles every change as an event.
//!
//! Does not decide on which node a pod runs ([`crate::cycle`] does). Uses only the API server of the given client.

mod bind;
mod bind_waits;
mod cache;
mod capacity_watch;
mod extender_client;
mod extender_server;
mod hints;
mod queue;
mod report;
mod run;
mod unschedulable;
mod watch;
mod watch_event;

pub use self::extender_server::serve_extender;
pub use self::run::{Error, run};
