//! Rules that apply at every moment, checked over a history of changes, writes, calls and decisions.
//!
//! Programs receive changes late, and each kind of object by a separate watch. Between two moments of quiescence, they may act on any
//! combination of recent states of the kinds. An action is a violation only if no such combination allows it.
//!
//! ```text
//! event             one event; actor: who caused it
//! monitor           consumes events and returns violations
//!
//! Checks:
//!
//! writes            writes of capacity objects
//! get_capacity      GetCapacity calls
//! create_volume     CreateVolume calls
//! volume_results    deletions of volumes, failed CreateVolume calls
//! decisions         decisions of the scheduler
//! requests          requests to the API server, and watch events
//! user_request_results  user requests and the API server's results
//! rate_checks       rates of requests and calls
//! refreshes         required GetCapacity calls
//! without_polling   publishers that do not poll
//!
//! State:
//!
//! recent_states         states that a program may have acted on
//! capacity_responses    GetCapacity responses
//! deleted_objects       objects that publishers deleted
//! former_labels         former labels of objects
//! unregistered_drivers  drivers that may register again
//! unreported_failures   CreateVolume failures without an event
//! pending_refreshes     pending GetCapacity calls
//! rate_limit            rate counters
//! reads                 lists and watches of programs
//! request, user_request requests of programs and of the user
//! leaders               replicas that hold the Lease
//! ```

mod capacity_responses;
mod create_volume;
mod decisions;
mod deleted_objects;
mod event;
mod former_labels;
mod get_capacity;
mod leaders;
mod monitor;
mod pending_refreshes;
mod rate_checks;
mod rate_limit;
mod reads;
mod recent_states;
mod refreshes;
mod request;
mod requests;
mod unregistered_drivers;
mod unreported_failures;
mod user_request;
mod user_request_results;
mod volume_results;
mod without_polling;
mod writes;

pub use event::Event;
pub use monitor::{Monitor, judge};
pub use request::{Actor, Request};
pub use user_request::{CapacityPatch, PatchValue, UserRequest};
