//! The Node service: the identity of a node, and the paths where volumes are published. Mounts nothing: an empty file or folder represents
//! a volume.

use csi_proto::v1::{
    NodeGetCapabilitiesRequest, NodeGetCapabilitiesResponse, NodeGetInfoRequest, NodeGetInfoResponse,
    NodePublishVolumeRequest, NodePublishVolumeResponse, NodeUnpublishVolumeRequest,
    NodeUnpublishVolumeResponse, Topology, node_server::Node,
};
use tonic::{Request, Response, Status};

use crate::{
    Answer, Method, Segment, arguments, call::Endpoint, published::Target, state::DriverState,
    volumes::unknown,
};

#[tonic::async_trait]
impl Node for Endpoint {
    async fn node_get_capabilities(
        &self,
        request: Request<NodeGetCapabilitiesRequest>,
    ) -> Result<Response<NodeGetCapabilitiesResponse>, Status> {
        let answer = NodeGetCapabilitiesResponse::default();
        self.tell(self.call(Method::NodeGetCapabilities, &request), answer)
            .await
    }

    async fn node_get_info(
        &self,
        request: Request<NodeGetInfoRequest>,
    ) -> Result<Response<NodeGetInfoResponse>, Status> {
        let node = self
            .node
            .as_ref()
            .ok_or_else(|| Status::unimplemented("this endpoint is on no node"))?;
        let topology = !self.shared.spec.topology_keys.is_empty();
        let mut call = self.call(Method::NodeGetInfo, &request);
        call.event.segment = topology.then(|| node.segment.clone());
        let answer = NodeGetInfoResponse {
            node_id: node.node_id.clone(),
            max_volumes_per_node: 0,
            accessible_topology: call.event.segment.clone().map(|segments| Topology { segments }),
        };
        self.tell(call, answer).await
    }

    async fn node_publish_volume(
        &self,
        request: Request<NodePublishVolumeRequest>,
    ) -> Result<Response<NodePublishVolumeResponse>, Status> {
        let mut call = self.call(Method::NodePublishVolume, &request);
        let request = request.into_inner();
        self.describe(&mut call.event, &request.volume_id);
        call.event.target_path = Some(request.target_path.clone());
        let here = self.node.as_ref().map(|node| &node.segment);
        self.serve(call, |state, _, _| {
            publish(state, request, here)?;
            Ok((NodePublishVolumeResponse {}, Answer::Done))
        })
        .await
    }

    async fn node_unpublish_volume(
        &self,
        request: Request<NodeUnpublishVolumeRequest>,
    ) -> Result<Response<NodeUnpublishVolumeResponse>, Status> {
        let mut call = self.call(Method::NodeUnpublishVolume, &request);
        let request = request.into_inner();
        self.describe(&mut call.event, &request.volume_id);
        call.event.target_path = Some(request.target_path.clone());
        self.serve(call, |state, _, _| {
            let volume = arguments::required("volume_id", request.volume_id)?;
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
    here: Option<&Segment>,
) -> Result<(), Status> {
    let volume = arguments::required("volume_id", request.volume_id)?;
    let path = arguments::path("target_path", request.target_path)?;
    let usage = arguments::one_usage(request.volume_capability)?;
    let info = state.volumes.get(&volume).ok_or_else(|| unknown(&volume))?;
    if here.is_some_and(|here| !crate::contains(here, &info.segment)) {
        return Err(Status::failed_precondition(format!(
            "volume {volume:?} is not reachable from this node; use it where its topology says"
        )));
    }
    if !state.volumes.allows(&volume, &[usage]) {
        return Err(Status::invalid_argument(format!(
            "volume {volume:?} was created for other uses; ask for one of those"
        )));
    }
    let target = Target {
        volume,
        usage,
        readonly: request.readonly,
    };
    state.published.publish(&path, target)
}
