//! What must hold at every moment, over a history of changes, writes, questions and decisions.
//!
//! Programs learn of changes later, and of each kind of object on its own: between two moments at which everything is quiet, a program
//! may act on any mixture of what has been. Something is a violation only if no such mixture allows it.
//!
//! ```text
//! event      what happens                           monitor    takes one event after the other, and says what is wrong
//! writes     of capacity objects                    questions  to the driver
//! decisions  of the scheduler                       told       what the driver ever answered
//! views      the mixtures that a program may have acted on
//! withdrawn  what publishers have deleted themselves
//! departures drivers that may be back soon          creations  of volumes
//! deliveries of objects to publishers               former     objects as they ever were
//! ```

mod creations;
mod decisions;
mod deliveries;
mod departures;
mod event;
mod former;
mod monitor;
mod questions;
mod told;
mod views;
mod withdrawn;
mod writes;

pub use event::{Author, Event};
pub use monitor::{Monitor, judge};
