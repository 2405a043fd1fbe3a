//! A Kubernetes API server in memory, for tests.
//!
//! It serves the Kubernetes wire protocol on a loopback port: list, watch, paging, selectors, patches, finalizers and
//! validation of the storage kinds, with the status codes and messages of kube-apiserver 1.36, or with the behaviour of
//! an older release as far as KEP-1472 is concerned. An [`Observer`] receives every request, every committed change and
//! every delivered watch event, in order.
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
//! Modules from the bottom up. Each imports only modules listed before it; `tests/integration/layers.rs` enforces that.
//!
//! - `machinery`: code common to all kinds: names, quantities, selectors, metadata, field errors, `Status`.
//! - `config`: options, and the served Kubernetes release with its feature gates.
//! - `outbound`: HTTPS requests that the server sends itself (to webhooks).
//! - `request`: the verb of a request and the resource in its path.
//! - `fault_injection`: rules that inject faults, as data.
//! - `observe`: the events that an [`Observer`] receives.
//! - `types`: the table of the fields of all API types.
//! - `protobuf`: conversion between JSON and protobuf bodies, driven by the table in `types`.
//! - `schema`: types of the built-in kinds and their merge strategies.
//! - `kinds`: resource definitions, built-in and from CRDs. All differences between kinds are here.
//! - `object`: a stored object with its serialized form, shared by all readers.
//! - `plugin`: the interface of admission plugins and controllers, which other crates implement.
//! - `access`: authentication, authorization, and a log of used permissions.
//! - `patch`: patches, field managers, server-side apply.
//! - `admission`: the interface of admission webhooks and policies, which other crates implement.
//! - `store`: objects, event history, watchers. One lock, one write path.
//! - `verbs`: create, list, watch and the other verbs, on top of a store transaction.
//! - `documents`: discovery and OpenAPI.
//! - `controllers`: reactions to changes: namespace deletion, garbage collection, event expiry, aggregated roles.
//! - `webhook`: calling webhooks and waiting for their responses.
//! - `execute`: the single code path of all requests, from HTTP and in-process clients.
//! - `http`: connections, routes, encodings; and `local`: requests without a socket.
//! - `server`: the handle of a running server.
//!
//! It does not know CSI, schedulers, external controllers or the harness.

mod access;
mod admission;
mod config;
mod controllers;
mod documents;
mod execute;
mod fault_injection;
mod http;
mod kinds;
mod local;
mod machinery;
mod object;
mod observe;
mod outbound;
mod patch;
mod plugin;
mod protobuf;
mod request;
mod schema;
mod server;
mod store;
mod types;
mod verbs;
mod webhook;

/// Types for crates that extend the server: resources, admission plugins, webhooks, policies and controllers.
pub mod extension {
    pub use crate::access::auth::service_account_user;
    pub use crate::access::rbac::{Attributes as AuthorizationAttributes, Decision, ResourceOrPath};
    pub use crate::admission::{
        AdmissionRequest, AdmissionResponse, AdmissionTarget, BuildFromObjects, Mutated, ObjectConverter,
        Operation, Phase, Policies, PolicyContext, Requester, StateReader, VersionConversion, WebhookContext,
        Webhooks,
    };
    pub use crate::kinds::{
        Conversion, ConversionWebhook, CustomResourceStrategy, CustomResourceVersion, EmbeddedObjectError,
        Kind, NullHandling, Part, PrinterColumn, ScalePaths, SchemaMismatch, Subresource, label_selector,
        pod_limits, pod_requests, validate_conditions,
    };
    pub use crate::machinery::amounts::Amounts;
    pub use crate::machinery::error_list::ErrorList;
    pub use crate::machinery::selector::LabelSelector;
    pub use crate::machinery::status::GroupResource;
    pub use crate::machinery::{
        go, intern, ip, json, json_path, metadata, names, pattern, stack, url, versions,
    };
    pub use crate::object::{Object, Objects, namespace_range};
    pub use crate::patch::json_patch;
    pub use crate::patch::managed::overlay;
    pub use crate::plugin::{
        AdmissionPlugin, Attributes, Controller, ControllerTransaction, OpenApiEncoders, Transaction,
    };
    pub use crate::protobuf::wire as protobuf;
    pub use crate::schema::structural as schema;
    pub use crate::schema::{FormError, conform_metadata};
    pub use crate::store::Extension;

    /// Types for calling webhooks from crates that extend the server.
    pub mod webhook {
        pub use crate::outbound::{ClientConfig, WebhookClient};
    }

    /// Types for resource definitions in crates that extend the server.
    pub mod resource {
        pub use crate::config::release::{Gate, Profile, ServedReleases};
        pub use crate::kinds::columns::{
            AGE, Cell, Column, NAME, NAME_AND_AGE, NAME_AND_CREATION, condition, count, integer, join_first,
            since, text, text_or_default,
        };
        pub use crate::kinds::{
            Generation, Grants, Hooks, MetadataChecks, MetadataPasses, NO_HOOKS, PLAIN, PartHooks, Paths,
            Requester, ResourceDefinition, Review, SERVICE_DEFINITION, StatusMetadata, StorageConversion,
            StrategyContext, Subresource, UnstoredAction, internal_form, not_supported, overhead,
            pod_tolerations, service_parts,
        };
        pub use crate::machinery::selector::{Selectable, selectable};
    }
}

pub use access::auth::{TokenFileError, User};
pub use access::usage::{Usage, minimal_roles};
pub use config::account_tokens::AccountTokens;
pub use config::admission::{Admission, PluginError};
pub use config::network::{Cidr, InvalidCidr, Network};
pub use config::options::{Authorization, Limits, ServerOptions};
pub use config::release::{Release, UnknownRelease};
pub use fault_injection::{
    AppliedFault, Chance, Effect, FaultAction, InstalledRule, Match, RequestAttributes, RequestEffect, Rule,
    RuleError, RuleId, Rules, WatchEffect,
};
pub use http::PANICKED;
pub use http::tls::{Certificate, Tls, TlsError};
pub use local::{Listed, LocalClient, ResourceRef};
pub use machinery::duration::parse as parse_duration;
pub use machinery::error_list::Cause;
pub use machinery::jws::{KeyError, PublicKey, SigningKey};
pub use machinery::quantity;
pub use machinery::status::{Details, Status};
pub use observe::{Change, Event, Observer, WatchEnd};
pub use protobuf::json_of_protobuf;
pub use request::{ResourcePath, Verb};
pub use server::{ApiServer, Kubeconfig, Running, SnapshotError};
