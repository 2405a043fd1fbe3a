//! Invariants at every moment, over a history of changes, writes, calls and decisions.
//!
//! Programs observe changes late, and each kind of object independently: between two moments of quiescence they may act on any combination
//! of recent states. An action is a violation only if no such combination allows it.
//!
//! ```text
//! event      one event and its originator           monitor    consumes events and returns violations
//! writes     of capacity objects                    questions  GetCapacity calls
//! requests   to the API server                      orders     user requests and the API server's results
//! decisions  of the scheduler                       deliveries watch events to publishers
//! creations  CreateVolume calls                     ends       deletions of volumes, failed CreateVolume calls
//! views      the states that a program may have acted on
//! paces      rate limits of requests and calls      refreshes  required GetCapacity calls
//! unpolled   publishers that do not poll
//!
//! State:
//!
//! told       GetCapacity responses                  former     former labels of objects
//! withdrawn  objects that publishers deleted
//! departures drivers that may register again        reads      lists and watches of programs
//! failures   CreateVolume failures                  order      user requests
//! leaders    replicas that hold the Lease           due        pending GetCapacity calls
//! pace       rate counters
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
