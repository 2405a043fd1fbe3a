//! Reference publisher of CSIStorageCapacity objects (KEP-1472) and volume provisioner: a small counterpart of external-provisioner.
//!
//! The entry point is [`run`], which runs in process and in the program. Its only inputs are an API server and the socket of a CSI driver.
//! As a cleaner of orphaned objects it needs no socket.
//!
//! ```text
//! options    flags and settings              run        assembles and runs all parts
//! watch      list and watch of one kind
//! capacity/  publishing                      provision/ creates and deletes volumes
//! topology   segments of the cluster         cluster    classes, PVCs and volumes from the watches
//! csi        the CSI driver                  owner      owner of published objects
//! dialect    equivalent forms that KEP-1472 and CSI allow
//! queue      workqueue with backoff          rate_limiter   requests per second
//! cleaner    objects of removed nodes        lease      leader election
//! metrics    Prometheus metrics              http       serves metrics and health
//! quantity, status, events: small helpers
//! ```
//!
//! Not implemented: migration of in-tree volumes.

mod capacity;
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
mod rng;
mod run;
mod status;
#[cfg(test)]
mod test_server;
mod topology;
mod watch;

pub use capacity_client::{Connections, Socket};
pub use csi::{DriverError, driver_channel};
pub use dialect::{Dialect, NameForm, SelectorForm, SizeForm, UpdateVerb};
pub use lease::LostLease;
pub use options::{
    CleanerOptions, FeatureGates, HttpOptions, LeaderElectionOptions, OnCapacityError, Options, OptionsError,
    Profile, RecognizeBy, without_ignored_flags,
};
pub use owner::OwnerError;
pub use rate_limiter::rate_limited_client;
pub use rng::SharedRng;
pub use run::{Clients, Error, run, run_with};
