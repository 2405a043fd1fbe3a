//! Reference publisher of CSIStorageCapacity objects (KEP-1472) and volume provisioner: what external-provisioner is upstream, in small.
//!
//! It gets an API server and the socket of a CSI driver, and nothing else: [`run`] is the whole of it, in process or in the program. As the
//! cleaner of the objects that distributed instances left behind, it needs no socket.
//!
//! ```text
//! options    flags and settings              run        puts everything together
//! watch      follows the objects of a kind
//! capacity/  publishing                      provision/ claims to volumes and back
//! topology   segments of the cluster         cluster    other objects, as the watches deliver them
//! csi        the driver                      owner      who owns published objects
//! dialect    choices of form that KEP-1472 and CSI leave
//! queue      work and waiting                rate_limiter   requests per second
//! cleaner    objects of vanished nodes       lease      leader election
//! metrics    what is counted                 http       serves metrics and health
//! quantity, status, events: small matters
//! ```
//!
//! Not here: volumes from snapshots, and migration of in-tree volumes.

mod capacity;
mod chance;
mod cleaner;
mod cluster;
mod csi;
mod dialect;
mod events;
mod http;
mod lease;
mod metrics;
mod options;
mod owner;
mod provision;
mod quantity;
mod queue;
mod rate_limiter;
mod run;
mod status;
#[cfg(test)]
mod test_server;
mod topology;
mod watch;

pub use chance::Chance;
pub use csi::{DriverError, driver_channel};
pub use dialect::{Dialect, NameForm, SelectorForm, SizeForm, UpdateVerb};
pub use http::{Connections, Socket};
pub use lease::LostLease;
pub use options::{
    CleanerOptions, FeatureGates, HttpOptions, LeaderElectionOptions, OnCapacityError, Options, OptionsError,
    Profile, RecognizeBy, without_ignored_flags,
};
pub use owner::OwnerError;
pub use rate_limiter::rate_limited_client;
pub use run::{Clients, Error, run, run_with};
