//! Reference publisher of CSIStorageCapacity objects (KEP-1472) and volume provisioner: what external-provisioner is upstream, in small.
//!
//! It gets an API server and the socket of a CSI driver, and nothing else: [`run`] is the whole of it, in process or in the program. As the
//! cleaner of what distributed instances left behind, it does not even get a socket.
//!
//! ```text
//! options    what can be chosen              run        puts everything together
//! watch      follows the objects of a kind
//! capacity/  publishing                      provision/ claims to volumes and back
//! topology   segments of the cluster         cluster    other objects that were told of
//! csi        the driver                      owner      who owns published objects
//! queue      work and waiting                throttle   requests per second
//! cleaner    objects of vanished nodes       lease      leader election
//! metrics    what is counted                 http       where it is served, and health
//! quantity, status, events: small matters
//! ```
//!
//! Not here: volumes from snapshots, and migration of in-tree volumes.

mod capacity;
mod cleaner;
mod cluster;
mod csi;
mod events;
mod http;
mod lease;
mod metrics;
mod options;
mod owner;
mod provision;
mod quantity;
mod queue;
mod run;
#[cfg(test)]
mod scripted;
mod status;
mod throttle;
mod topology;
mod watch;

pub use csi::DriverError;
pub use lease::LostLease;
pub use options::{
    CleanerOptions, FeatureGates, HttpOptions, LeaderElectionOptions, OnCapacityError, Options, OptionsError,
    Profile, RecognizeBy, without_idle_flags,
};
pub use owner::OwnerError;
pub use run::{Clients, Error, run, run_with};
pub use throttle::throttled_client;
