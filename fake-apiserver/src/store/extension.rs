//! What other crates add to a server: resources, plugins, webhooks, policies and controllers.

use crate::admission::{BuildFromObjects, Policies, Webhooks};
use crate::config::options::ServerOptions;
use crate::kinds::ResourceDefinition;
use crate::plugin::{AdmissionPlugin, Controller, OpenApiEncoders};
use std::sync::Arc;

/// Resources, plugins, webhooks, policies and controllers that another crate adds to a server ([`crate::ApiServer::with_extensions`]).
#[derive(Default)]
pub struct Extension {
    /// Definitions of built-in resources that this crate does not serve.
    pub resources: Vec<&'static ResourceDefinition>,
    /// Admission plugins, which run after the plugins of the core crate.
    pub plugins: Vec<Arc<dyn AdmissionPlugin>>,
    /// Builds the admission webhooks from their configuration objects. `None`: no webhooks from this extension.
    pub webhooks: Option<BuildFromObjects<dyn Webhooks>>,
    /// Builds the admission policies from policy and binding objects. `None`: no policies from this extension.
    pub policies: Option<BuildFromObjects<dyn Policies>>,
    /// Controllers, which run after the controllers of the core crate.
    pub controllers: Vec<Arc<dyn Controller>>,
    /// OpenAPI documents in forms other than v3 in JSON: v2 and protobuf.
    pub open_api: Option<OpenApiEncoders>,
}

impl Extension {
    /// Merges extensions into one and drops disabled plugins. If several provide webhooks, policies or OpenAPI forms, the last one is used.
    pub(super) fn merge(all: Vec<Self>, options: &ServerOptions) -> Self {
        let mut joined = Self::default();
        for extension in all {
            joined.resources.extend(extension.resources);
            joined.plugins.extend(extension.plugins);
            joined.controllers.extend(extension.controllers);
            joined.webhooks = extension.webhooks.or(joined.webhooks);
            joined.policies = extension.policies.or(joined.policies);
            joined.open_api = extension.open_api.or(joined.open_api);
        }
        joined
            .plugins
            .retain(|plugin| options.admission.is_external_enabled(plugin.name()));
        joined
    }
}
