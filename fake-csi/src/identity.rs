//! The Identity service: who the driver is. Knows nothing of volumes.

use csi_proto::v1::{
    GetPluginCapabilitiesRequest, GetPluginCapabilitiesResponse, GetPluginInfoRequest, GetPluginInfoResponse,
    PluginCapability, ProbeRequest, ProbeResponse, identity_server::Identity, plugin_capability,
    plugin_capability::service,
};
use tonic::{Request, Response, Status};

use crate::{Answer, Method, call::Endpoint};

#[tonic::async_trait]
impl Identity for Endpoint {
    async fn get_plugin_info(
        &self,
        _request: Request<GetPluginInfoRequest>,
    ) -> Result<Response<GetPluginInfoResponse>, Status> {
        let answer = GetPluginInfoResponse {
            name: self.shared.spec.name.clone(),
            vendor_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        };
        self.serve(self.call(Method::GetPluginInfo), |_, _, _| {
            Ok((answer, Answer::Done))
        })
        .await
    }

    async fn get_plugin_capabilities(
        &self,
        _request: Request<GetPluginCapabilitiesRequest>,
    ) -> Result<Response<GetPluginCapabilitiesResponse>, Status> {
        let topology = !self.shared.spec.topology_keys.is_empty();
        let services = [service::Type::ControllerService]
            .into_iter()
            .chain(topology.then_some(service::Type::VolumeAccessibilityConstraints));
        let answer = GetPluginCapabilitiesResponse {
            capabilities: services.map(capability).collect(),
        };
        self.serve(self.call(Method::GetPluginCapabilities), |_, _, _| {
            Ok((answer, Answer::Done))
        })
        .await
    }

    async fn probe(&self, _request: Request<ProbeRequest>) -> Result<Response<ProbeResponse>, Status> {
        let answer = ProbeResponse { ready: Some(true) };
        self.serve(self.call(Method::Probe), |_, _, _| Ok((answer, Answer::Done)))
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
