//! A Kubernetes API server in memory, for tests.
//!
//! It serves the real wire protocol on a loopback port: list, watch, paging, selectors, patches, finalizers and the
//! validation of the storage kinds, with the status codes and texts of kube-apiserver 1.36, or in the ways of an older
//! release as far as KEP-1472 is concerned. An [`Observer`] sees every
//! request, every committed change and every delivered watch event in the order in which they happened.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use fake_apiserver::{ApiServer, ServerOptions};
//!
//! let server = ApiServer::new(ServerOptions::default(), None);
//! let token = server.add_client("scheduler");
//! let running = server.start().await?;
//! // Point any Kubernetes client at `running.url()` with `token`.
//! # drop(token);
//! running.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Layout
//!
//! The rooms from the ground up. Each imports only rooms that stand before it; `tests/integration/floors.rs` holds that.
//!
//! - `machinery`: what all kinds have in common: names, quantities, selectors, metadata, field errors, `Status`.
//! - `config`: options, and which release of Kubernetes is served, with which gates.
//! - `outbound`: requests that the server itself sends.
//! - `request`: the verb of a request and the resource in its path.
//! - `perturb`: failures on demand, as data.
//! - `observe`: the events that an [`Observer`] receives.
//! - `types`: the table of what the API types consist of.
//! - `protobuf`: bodies in protobuf, from and to JSON, by that table.
//! - `schema`: what the API types consist of, and how they merge.
//! - `cel`: expressions of custom resources, policies and webhooks.
//! - `structural`: schemas of custom resources, and what becomes of objects by them.
//! - `kinds`: the table of resources, and definitions of others. Everything that differs between kinds is there.
//! - `object`: an object with the bytes that all its readers share.
//! - `plugin`: the interface of admission plugins in other crates.
//! - `access`: who sends a request, whether they may, and what they needed.
//! - `patch`: patches, and field managers with server-side apply.
//! - `admission`: who is asked about requests beside the server: webhooks and policies.
//! - `store`: objects, the log, watchers. One lock, one write path.
//! - `verbs`: what create, list, watch and the others do, over a transaction of the store.
//! - `documents`: discovery and OpenAPI.
//! - `controllers`: what follows from changes: namespaces, garbage, the end of events, aggregated roles.
//! - `consult`: asking webhooks, and waiting for them.
//! - `execute`: the one way through for requests, however they came in.
//! - `http`: connections, routes, encodings; and `local`: requests without a socket.
//! - `server`: the handle that owns all of it.
//!
//! It does not know CSI, schedulers, controllers of others or any harness.

mod access;
mod admission;
mod cel;
mod config;
mod consult;
mod controllers;
mod documents;
mod execute;
mod http;
mod kinds;
mod local;
mod machinery;
mod object;
mod observe;
mod outbound;
mod patch;
mod perturb;
mod plugin;
mod protobuf;
mod request;
mod schema;
mod server;
mod store;
mod structural;
mod types;
mod verbs;

/// What admission plugins of other crates are written with.
pub mod extension {
    pub use crate::kinds::{Kind, Part, Subresource, pod_limits, pod_requests};
    pub use crate::machinery::amounts::Amounts;
    pub use crate::machinery::faults::Faults;
    pub use crate::machinery::status::GroupResource;
    pub use crate::machinery::{json, metadata, names};
    pub use crate::object::Object;
    pub use crate::plugin::{AdmissionPlugin, Attributes, Transaction};
}

pub use access::auth::{TokenFileError, User};
pub use access::usage::{Usage, minimal_roles};
pub use config::account_tokens::AccountTokens;
pub use config::admission::{Admission, NoPlugin};
pub use config::network::{Cidr, Network, NoCidr};
pub use config::options::{Authorization, Limits, ServerOptions};
pub use config::release::{Release, UnknownRelease};
pub use http::PANICKED;
pub use http::tls::{Certificate, Tls, TlsError};
pub use local::{Listed, LocalClient, ResourceRef};
pub use machinery::duration::parse as parse_duration;
pub use machinery::faults::Cause;
pub use machinery::jws::{KeyError, PublicKey, SigningKey};
pub use machinery::quantity;
pub use machinery::status::{Details, Status};
pub use observe::{Change, Event, Observer, WatchEnd};
pub use perturb::{
    AppliedFault, Asked, Blow, Chance, Effect, Fate, Match, Perturbation, Rule, RuleError, RuleId, Rules,
    WatchFate,
};
pub use protobuf::json_of_protobuf;
pub use request::{ResourcePath, Verb};
pub use server::{ApiServer, Kubeconfig, Running, SnapshotError};
