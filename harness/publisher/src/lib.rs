//! Reference publisher of CSIStorageCapacity objects (KEP-1472) and volume provisioner: what external-provisioner is upstream, in small.
//!
//! It gets an API server and the socket of a CSI driver, and nothing else: [`run`] is the whole of it, in process or in the program.
//!
//! ```text
//! options    what can be chosen              defect     deliberate mistakes
//! run        puts everything together        watch      follows the objects of a kind
//! capacity/  publishing                      provision/ claims to volumes and back
//! topology   segments of the cluster         cluster    other objects that were told of
//! csi        the driver                      owner      who owns published objects
//! queue      work and waiting                quantity, status, events: small matters
//! ```
//!
//! Not here: leader election, metrics, snapshots and clones, secrets, claims with immediate binding in distributed mode.

mod capacity;
mod cluster;
mod csi;
mod defect;
mod events;
mod options;
mod owner;
mod provision;
mod quantity;
mod queue;
mod run;
mod status;
mod topology;
mod watch;

pub use csi::DriverError;
pub use defect::{Defect, UnknownDefect};
pub use options::{Options, OptionsError, Profile};
pub use owner::OwnerError;
pub use run::{Error, run};
