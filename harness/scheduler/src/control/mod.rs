//! The scheduling loop: one owner of all state, which takes every change as an event.
//!
//! Decides nothing about placement itself ([`crate::cycle`] does) and knows no server beyond a client handed to it.

mod api_version;
mod bind;
mod bind_waits;
mod cache;
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
