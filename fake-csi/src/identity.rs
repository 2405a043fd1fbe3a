//! The Identity service: name, version, capabilities and readiness of the driver. Does not know volumes.

use csi_proto::v1::{
    GetPluginCapabilitiesRequest, GetPluginCapabilitiesResponse, GetPluginInfoRequest, GetPluginInfoResponse,
    PluginCapability, ProbeRequest, ProbeResponse,
    identity_server::Identity,
    plugin_capability,
    plugin_capability::{VolumeExpansion, service, volume_expansion},
};
use tonic::{Request, Response, Status};

use crate::{Answer, Effect, Method, call::Endpoint};

#[tonic::async_trait]
impl Identity for Endpoint {
    async fn get_plugin_info(
        &self,
        request: Request<GetPluginInfoRequest>,
    ) -> Result<Response<GetPluginInfoResponse>, Status> {
        let response = GetPluginInfoResponse {
            name: self.shared.spec.name.clone(),
            vendor_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        };
        self.respond(self.begin_call(Method::GetPluginInfo, &request), response)
            .await
    }

    async fn get_plugin_capabilities(
        &self,
        request: Request<GetPluginCapabilitiesRequest>,
    ) -> Result<Response<GetPluginCapabilitiesResponse>, Status> {
        let spec = &self.shared.spec;
        let services = [service::Type::ControllerService]
            .into_iter()
            .chain((!spec.topology_keys.is_empty()).then_some(service::Type::VolumeAccessibilityConstraints));
        let expansion = spec.has_expansion().then(online_expansion);
        let response = GetPluginCapabilitiesResponse {
            capabilities: services.map(capability).chain(expansion).collect(),
        };
        self.respond(self.begin_call(Method::GetPluginCapabilities, &request), response)
            .await
    }

    async fn probe(&self, request: Request<ProbeRequest>) -> Result<Response<ProbeResponse>, Status> {
        self.serve(self.begin_call(Method::Probe, &request), |_, _, effect| {
            let ready = !matches!(effect, Some(Effect::Ready(false)));
            Ok((ProbeResponse { ready: Some(ready) }, Answer::Done))
        })
        .await
    }
}

fn capability(service: service::Type) -> PluginCapability {
    let service = plugin_capability::Service {
        r#type: service.into(),
    };
    PluginCapability {
        r#type: Some(plugin_capability::Type::Service(service)),
    }
}

/// ONLINE volume expansion: volumes can be expanded while they are published.
fn online_expansion() -> PluginCapability {
    let expansion = VolumeExpansion {
        r#type: volume_expansion::Type::Online.into(),
    };
    PluginCapability {
        r#type: Some(plugin_capability::Type::VolumeExpansion(expansion)),
    }
}
