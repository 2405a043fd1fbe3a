//! What must hold at every moment, over a history of changes, writes, questions and decisions.
//!
//! Programs learn of changes later, and of each kind of object on its own: between two moments at which everything is quiet, a program
//! may act on any mixture of what has been. Something is a violation only if no such mixture allows it.
//!
//! ```text
//! event      what happens, by an author             monitor    takes one event after the other, and says what is wrong
//! writes     of capacity objects                    questions  to the driver
//! requests   to the API server                      orders     of the user, and what the API server makes of them
//! decisions  of the scheduler                       deliveries of objects to publishers
//! creations  of volumes                             ends       of volumes, and of attempts to make them
//! views      the mixtures that a program may have acted on
//! paces      how often programs may ask             refreshes  when a publisher has to
//! unpolled   what a publisher goes by that does not poll
//!
//! What is kept for that:
//!
//! told       what the driver ever answered          former     objects as they ever were
//! withdrawn  what publishers have deleted
//! departures drivers that may be back soon          reads      what programs have listed and watched
//! failures   to make volumes                        order      what the user asks for
//! leaders    replicas that hold the Lease           due        what publishers have to ask for again
//! pace       how often programs have asked
//! ```

mod author;
mod creations;
mod decisions;
mod deliveries;
mod departures;
mod due;
mod ends;
mod event;
mod failures;
mod former;
mod leaders;
mod monitor;
mod order;
mod orders;
mod pace;
mod paces;
mod questions;
mod reads;
mod refreshes;
mod request;
mod requests;
mod told;
mod unpolled;
mod views;
mod withdrawn;
mod writes;

pub use author::Author;
pub use event::Event;
pub use monitor::{Monitor, judge};
pub use order::{Fields, Figure, Order};
pub use request::Request;
