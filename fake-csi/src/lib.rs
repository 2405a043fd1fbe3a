//! A scriptable CSI driver on Unix sockets, with storage pools by topology segment.
//!
//! The driver computes capacity exactly, behaves as the CSI specification (1.12) requires, and reports every response to an [`Observer`].
//! Where a [`Rule`] applies, the driver returns errors, delays or wrong values. It does not know Kubernetes.
//!
//! ```text
//! driver                              FakeDriver, the public handle
//! spec                                static configuration of a driver
//! state                               data that handles and endpoints of a driver share
//! backend                             pools, and the capacity arithmetic
//! volumes, published                  volumes, and the paths where they are published
//! rule, rules                         fault rules, and which calls they match
//! event                               events for the observer
//! call, arguments, violations         common handling of calls, validation, and violations that a lenient driver tolerates
//! identity, controller, node          the CSI services
//! endpoint, connection, http2, refuse sockets, their connections, and requests that they reject
//! method, version                     names of methods and codes; releases of the CSI specification
//! forward, defect_proxy               a recording and a fault-injecting proxy before a driver
//! client, channel                     a CSI client, and its gRPC channel
//! description, control                serialized pools and the HTTP control (both with the feature `control`)
//! ```

mod arguments;
mod backend;
mod call;
mod channel;
mod client;
mod connection;
#[cfg(feature = "control")]
pub mod control;
mod controller;
mod defect_proxy;
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
mod rules;
mod spec;
mod state;
mod version;
mod violations;
mod volumes;

use std::collections::BTreeMap;

pub use backend::{
    Access, CostFactor, Device, GROUP_VOLUME_BYTES_MIN, Pool, Reservation, ReserveError, ReservedDevice,
    ReservedVolume, Storage, VolumeInfo,
};
pub use call::PANICKED;
pub use channel::{channel, channel_over};
pub use client::{CsiClient, CsiRequest, CsiResponse, ResponseValue};
pub use defect_proxy::{CsiDefect, DefectProxy};
pub use driver::FakeDriver;
pub use endpoint::Running;
pub use event::{Answer, Event, Failure, Observer, Peer, Refusal};
pub use forward::Forwarder;
pub use method::{Method, code_from_name, code_name};
#[cfg(feature = "control")]
pub use rule::{CutText, RuleText, VolumeOverride};
pub use rule::{Effect, Rule, RuleError};
pub use rules::{RuleId, RuleState};
pub use spec::{DriverSpec, NodeIdentity, Snapshot};
pub use tonic::{Code, transport::Channel};
pub use version::{SpecVersion, UnknownVersion};
pub use violations::is_block;

/// A topology segment: values by topology key, as `Topology.segments` in CSI. An empty segment matches every topology.
pub type Segment = BTreeMap<String, String>;

fn contains(whole: &BTreeMap<String, String>, part: &BTreeMap<String, String>) -> bool {
    part.iter().all(|(key, value)| whole.get(key) == Some(value))
}
