//! The CSI Node service: NodeGetInfo, NodePublishVolume, NodeUnpublishVolume. Mounts nothing: an empty file or folder represents a volume.

use csi_proto::v1::{
    NodeGetCapabilitiesRequest, NodeGetCapabilitiesResponse, NodeGetInfoRequest, NodeGetInfoResponse,
    NodePublishVolumeRequest, NodePublishVolumeResponse, NodeUnpublishVolumeRequest,
    NodeUnpublishVolumeResponse, Topology, node_server::Node,
};
use tonic::{Request, Response, Status};

use crate::{
    Answer, Method, Segment, arguments, call::Endpoint, published::PublishedVolume, state::DriverState,
    volumes::volume_not_found,
};

#[tonic::async_trait]
impl Node for Endpoint {
    async fn node_get_capabilities(
        &self,
        request: Request<NodeGetCapabilitiesRequest>,
    ) -> Result<Response<NodeGetCapabilitiesResponse>, Status> {
        let response = NodeGetCapabilitiesResponse::default();
        self.respond(self.begin_call(Method::NodeGetCapabilities, &request), response)
            .await
    }

    async fn node_get_info(
        &self,
        request: Request<NodeGetInfoRequest>,
    ) -> Result<Response<NodeGetInfoResponse>, Status> {
        let node = self
            .node
            .as_ref()
            .ok_or_else(|| Status::unimplemented("this endpoint has no node service"))?;
        let topology = !self.shared.spec.topology_keys.is_empty();
        let mut call = self.begin_call(Method::NodeGetInfo, &request);
        call.event.segment = topology.then(|| node.segment.clone());
        let response = NodeGetInfoResponse {
            node_id: node.node_id.clone(),
            max_volumes_per_node: 0,
            accessible_topology: call.event.segment.clone().map(|segments| Topology { segments }),
        };
        self.respond(call, response).await
    }

    async fn node_publish_volume(
        &self,
        request: Request<NodePublishVolumeRequest>,
    ) -> Result<Response<NodePublishVolumeResponse>, Status> {
        let mut call = self.begin_call(Method::NodePublishVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut call.event, &request.volume_id);
        call.event.target_path = Some(request.target_path.clone());
        let node_segment = self.node.as_ref().map(|node| &node.segment);
        self.serve(call, |state, _, _| {
            publish(state, request, node_segment)?;
            Ok((NodePublishVolumeResponse {}, Answer::Done))
        })
        .await
    }

    async fn node_unpublish_volume(
        &self,
        request: Request<NodeUnpublishVolumeRequest>,
    ) -> Result<Response<NodeUnpublishVolumeResponse>, Status> {
        let mut call = self.begin_call(Method::NodeUnpublishVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut call.event, &request.volume_id);
        call.event.target_path = Some(request.target_path.clone());
        self.serve(call, |state, _, _| {
            let volume = arguments::required_string("volume_id", request.volume_id)?;
            let path = arguments::path("target_path", request.target_path)?;
            state.published.unpublish(&path, &volume)?;
            Ok((NodeUnpublishVolumeResponse {}, Answer::Done))
        })
        .await
    }
}

fn publish(
    state: &mut DriverState,
    request: NodePublishVolumeRequest,
    node_segment: Option<&Segment>,
) -> Result<(), Status> {
    let volume = arguments::required_string("volume_id", request.volume_id)?;
    let path = arguments::path("target_path", request.target_path)?;
    let capability = arguments::required_capability(request.volume_capability)?;
    let info = state
        .volumes
        .get(&volume)
        .ok_or_else(|| volume_not_found(&volume))?;
    if node_segment.is_some_and(|segment| !crate::contains(segment, &info.segment)) {
        return Err(Status::failed_precondition(format!(
            "volume {volume:?} is not accessible from this node; publish it on a node in its topology"
        )));
    }
    if !state.volumes.has_capabilities(&volume, &[capability]) {
        return Err(Status::invalid_argument(format!(
            "volume {volume:?} was created with other capabilities; use a capability of the CreateVolume call"
        )));
    }
    let target = PublishedVolume {
        volume,
        capability,
        readonly: request.readonly,
    };
    state.published.publish(&path, target)
}
