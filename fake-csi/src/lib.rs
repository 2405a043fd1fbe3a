//! A scriptable CSI driver on Unix sockets, with storage pools by topology segment.
//!
//! It keeps exact books of what volumes take, answers like the CSI specification (1.12) asks, reports to an [`Observer`] every
//! answer, and fails, lags or lies where a [`Rule`] says so. It knows nothing of Kubernetes, and judges nobody.
//!
//! ```text
//! driver     FakeDriver: the handle that everything hangs on
//! spec       what it says about itself           state      what its handles and endpoints share
//! backend    pools and the arithmetic of room     volumes    creating, growing, deleting
//! published  paths where volumes are in use
//! rule       faults on demand, and their text form    script  which calls they take, and how often
//! event      what is reported to the observer
//! method     calls and gRPC codes by name         version    releases of the specification
//! forward    a recording socket before another driver    caller  asking a driver, and its answers as figures
//! spoil      a socket that spoils the traffic of one caller     channel a connection to a driver, made when it is used
//! endpoint   one socket: starts and stops         connection one caller, and cutting it off
//! http2      the frames of a connection: any `:authority` is accepted   refuse  requests that never become calls
//! call       what every call has in common        arguments  what requests must look like
//! amend      what callers get wrong, and what a lenient driver takes it for
//! identity, controller, node: the three services, one file each
//! description  pools and costs as text            control    the HTTP control (both with the feature `control`)
//! ```

mod amend;
mod arguments;
mod backend;
mod call;
mod caller;
mod channel;
mod connection;
#[cfg(feature = "control")]
pub mod control;
mod controller;
#[cfg(feature = "control")]
pub mod description;
mod driver;
mod endpoint;
mod event;
mod forward;
mod http2;
mod identity;
mod method;
mod node;
mod published;
mod refuse;
mod rule;
mod script;
mod spec;
mod spoil;
mod state;
mod version;
mod volumes;

use std::collections::BTreeMap;

pub use amend::is_block;
pub use backend::{
    Access, CostFactor, Device, GROUP_VOLUME_BYTES_MIN, Held, Pool, Reservation, ReserveError,
    ReservedVolume, Storage, VolumeInfo,
};
pub use call::PANICKED;
pub use caller::{Caller, Figure, Question, Reply};
pub use channel::{channel, channel_over};
pub use driver::FakeDriver;
pub use endpoint::Running;
pub use event::{Answer, Event, Failure, Observer, Peer, Refusal};
pub use forward::Forwarder;
pub use method::{Method, code_from_name, code_name};
#[cfg(feature = "control")]
pub use rule::{CutText, RuleText, VolumeLie};
pub use rule::{Effect, Rule, ScriptError};
pub use script::{RuleId, RuleState};
pub use spec::{DriverSpec, NodeIdentity, Snapshot};
pub use spoil::{Spoil, Spoiler};
pub use tonic::{Code, transport::Channel};
pub use version::{SpecVersion, UnknownVersion};

/// A topology segment: values by topology key, as `Topology.segments` in CSI. An empty one restricts nothing.
pub type Segment = BTreeMap<String, String>;

/// Whether every pair of `part` is also in `whole`.
fn contains(whole: &BTreeMap<String, String>, part: &BTreeMap<String, String>) -> bool {
    part.iter().all(|(key, value)| whole.get(key) == Some(value))
}
