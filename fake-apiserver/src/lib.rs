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
//! - `kinds`: the table of resources. Everything that differs between kinds is there.
//! - `schema`: what the API types consist of, and how they merge.
//! - `json_patch`, `strategic`, `managed`: patches, and field managers with server-side apply.
//! - `store`: objects, the log, watchers. One lock, one write path.
//! - `verbs`: what create, list, watch and the others do, over a transaction of the store.
//! - `protobuf`: bodies in protobuf, from and to JSON, by a table of fields.
//! - `release`: which release of Kubernetes is served, with which gates.
//! - `perturb`: failures on demand, as data.
//! - `http`: the thin shell: connections, routes, encodings, discovery.
//! - `auth`, `rbac`, `usage`: who sends a request, whether they may, and what they needed.
//! - `server`: the handle that owns all of it, and `local`: requests without a socket.
//!
//! It does not know CSI, schedulers, controllers or any harness.

mod activity;
mod auth;
mod clock;
mod controllers;
mod document;
mod documents;
mod execute;
mod faults;
mod http;
mod json_patch;
mod kinds;
mod kubeconfig;
mod lifetime;
mod local;
mod managed;
mod meta;
mod metrics;
mod names;
mod object;
mod observe;
mod options;
mod perturb;
mod printer;
mod protobuf;
pub mod quantity;
mod rbac;
mod release;
mod schema;
mod selector;
mod server;
mod status;
mod store;
mod strategic;
mod tls;
mod usage;
mod verbs;
mod yaml;

pub use auth::{TokenFileError, User};
pub use faults::Cause;
pub use kubeconfig::Kubeconfig;
pub use local::{Listed, LocalClient, ResourceRef};
pub use observe::{Change, Event, Observer, ResourcePath, RuleId, Verb, WatchEnd};
pub use options::{Authorization, Limits, ServerOptions};
pub use perturb::{
    Applied, Asked, Blow, Chance, Effect, Fate, Match, Perturbation, Rule, RuleError, Table as Rules,
    WatchFate,
};
pub use protobuf::json_of_protobuf;
pub use release::{Release, UnknownRelease};
pub use server::{ApiServer, Running};
pub use status::{Details, Status};
pub use tls::{Tls, TlsError};
pub use usage::{Usage, minimal_roles};
