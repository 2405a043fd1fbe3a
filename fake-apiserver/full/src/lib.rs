//! Admission plugins, policies and kinds of kube-apiserver that envtest suites need beyond the core of `fake-apiserver`.
//!
//! ```
//! use fake_apiserver::{ApiServer, ServerOptions};
//!
//! let server = ApiServer::with_extensions(ServerOptions::default(), None, fake_apiserver_full::extensions());
//! # drop(server);
//! ```

mod defaults;
mod kinds;
mod limit_ranger;
mod openapi;
mod pod_security;
mod policies;
mod resource_quota;
mod runtime_class;
mod services;

use std::sync::Arc;

use fake_apiserver::Status;
use fake_apiserver::extension::{Extension, Kind, metadata};
use serde_json::Value;

/// All extensions of the API server: this crate, custom resources, and admission webhooks. Admission plugins run in kube-apiserver's order.
pub fn extensions() -> Vec<Extension> {
    let plugins = Extension {
        resources: kinds::definitions(),
        plugins: vec![
            Arc::new(limit_ranger::LimitRanger),
            Arc::new(defaults::AlwaysPullImages),
            Arc::new(pod_security::PodSecurity),
            Arc::new(runtime_class::RuntimeClass),
            Arc::new(defaults::DefaultIngressClass),
            Arc::new(defaults::DenyServiceExternalIps),
            Arc::new(resource_quota::ResourceQuota),
        ],
        ..Extension::default()
    };
    vec![
        plugins,
        services::extension(),
        openapi::extension(),
        policies::extension(),
        fake_apiserver_apiextensions::extension(),
        fake_apiserver_webhooks::extension(),
    ]
}

/// A Status with reason Forbidden. Its message contains the name of the object, or else `generateName`.
fn forbidden(kind: &Kind, object: &Value, reason: &str) -> Status {
    let name = match metadata::text(object, "name") {
        "" => metadata::text(object, "generateName"),
        name => name,
    };
    Status::forbidden(kind.group_resource(), name, reason)
}
