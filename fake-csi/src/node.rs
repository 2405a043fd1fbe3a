//! The Node service: which node an endpoint is on. Mounts nothing.

use csi_proto::v1::{
    NodeGetCapabilitiesRequest, NodeGetCapabilitiesResponse, NodeGetInfoRequest, NodeGetInfoResponse,
    Topology, node_server::Node,
};
use tonic::{Request, Response, Status};

use crate::{Answer, Method, call::Endpoint};

#[tonic::async_trait]
impl Node for Endpoint {
    async fn node_get_capabilities(
        &self,
        _request: Request<NodeGetCapabilitiesRequest>,
    ) -> Result<Response<NodeGetCapabilitiesResponse>, Status> {
        let answer = NodeGetCapabilitiesResponse::default();
        self.serve(self.call(Method::NodeGetCapabilities), |_, _, _| {
            Ok((answer, Answer::Done))
        })
        .await
    }

    async fn node_get_info(
        &self,
        _request: Request<NodeGetInfoRequest>,
    ) -> Result<Response<NodeGetInfoResponse>, Status> {
        let node = self
            .node
            .as_ref()
            .ok_or_else(|| Status::unimplemented("this endpoint is on no node"))?;
        let topology = !self.shared.spec.topology_keys.is_empty();
        let mut call = self.call(Method::NodeGetInfo);
        call.segment = topology.then(|| node.segment.clone());
        let answer = NodeGetInfoResponse {
            node_id: node.node_id.clone(),
            max_volumes_per_node: 0,
            accessible_topology: call.segment.clone().map(|segments| Topology { segments }),
        };
        self.serve(call, |_, _, _| Ok((answer, Answer::Done))).await
    }
}
