//! The scheduling loop: one owner of all state, to which everything that happens comes as an event.
//!
//! Decides nothing about placement itself ([`crate::cycle`] does) and knows no server beyond a client handed to it.

mod asked;
mod bind;
mod cache;
mod extender;
mod hints;
mod news;
mod queue;
mod report;
mod run;
mod served;
mod watch;

pub use self::extender::serve_extender;
pub use self::run::{Error, run};
