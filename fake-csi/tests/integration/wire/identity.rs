//! Identity and capabilities of the driver and its nodes.

use csi_proto::v1::{
    ControllerGetCapabilitiesRequest, GetPluginCapabilitiesRequest, GetPluginInfoRequest, NodeGetInfoRequest,
    ProbeRequest, controller_service_capability, controller_service_capability::rpc,
    identity_client::IdentityClient, node_client::NodeClient, plugin_capability, plugin_capability::service,
};
use fake_csi::{DriverSpec, Method};
use tonic::Code;

use super::{World, connect, socket, spec, zone};

async fn advertised_services(world: &World) -> Vec<service::Type> {
    let mut client = IdentityClient::new(connect(socket(&world.running)).await);
    let answer = client
        .get_plugin_capabilities(GetPluginCapabilitiesRequest {})
        .await
        .expect("the call succeeds");
    let kind = |capability: csi_proto::v1::PluginCapability| match capability.r#type {
        Some(plugin_capability::Type::Service(service)) => Some(service.r#type()),
        Some(plugin_capability::Type::VolumeExpansion(_)) => None,
        None => panic!("capability without a type"),
    };
    answer
        .into_inner()
        .capabilities
        .into_iter()
        .filter_map(kind)
        .collect()
}

pub(crate) async fn advertised_rpcs(world: &World) -> Vec<rpc::Type> {
    let request = ControllerGetCapabilitiesRequest {};
    let answer = world
        .controller
        .clone()
        .controller_get_capabilities(request)
        .await
        .expect("the call succeeds");
    let kind = |capability: csi_proto::v1::ControllerServiceCapability| match capability.r#type {
        Some(controller_service_capability::Type::Rpc(rpc)) => rpc.r#type(),
        None => panic!("capability without a type"),
    };
    answer.into_inner().capabilities.into_iter().map(kind).collect()
}

#[tokio::test]
async fn driver_reports_its_name_and_readiness() {
    let world = World::new().await;
    let mut client = IdentityClient::new(connect(socket(&world.running)).await);
    let info = client
        .get_plugin_info(GetPluginInfoRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(info.name, "disk.example.com");
    assert!(!info.vendor_version.is_empty());
    assert_eq!(
        client.probe(ProbeRequest {}).await.unwrap().into_inner().ready,
        Some(true)
    );
    let methods: Vec<Method> = world.events().iter().map(|event| event.method).collect();
    assert_eq!(methods, [Method::GetPluginInfo, Method::Probe]);
}

#[tokio::test]
async fn capabilities_match_the_driver_spec() {
    use rpc::Type::{CreateDeleteVolume, ExpandVolume, GetCapacity, ListVolumes};
    use service::Type::{ControllerService, VolumeAccessibilityConstraints};
    let full = World::new().await;
    assert_eq!(
        advertised_services(&full).await,
        [ControllerService, VolumeAccessibilityConstraints]
    );
    assert_eq!(
        advertised_rpcs(&full).await,
        [CreateDeleteVolume, ListVolumes, GetCapacity, ExpandVolume]
    );
    let bare = World::of(DriverSpec {
        topology_keys: Vec::new(),
        advertise_get_capacity: false,
        advertise_expand_volume: false,
        ..spec()
    })
    .await;
    assert_eq!(advertised_services(&bare).await, [ControllerService]);
    assert_eq!(advertised_rpcs(&bare).await, [CreateDeleteVolume, ListVolumes]);
}

#[tokio::test]
async fn node_endpoint_reports_its_node_and_controller_endpoint_has_no_node_service() {
    let world = World::new().await;
    let running = world.on_node("n1", "a").await;
    let mut node = NodeClient::new(connect(socket(&running)).await);
    let info = node
        .node_get_info(NodeGetInfoRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (info.node_id.as_str(), info.accessible_topology.unwrap().segments),
        ("n1", zone("a"))
    );
    let event = world.last_event();
    assert_eq!(
        (event.method, event.node, event.segment),
        (Method::NodeGetInfo, Some("n1".to_owned()), Some(zone("a")))
    );
    let mut none = NodeClient::new(connect(socket(&world.running)).await);
    assert_eq!(
        none.node_get_info(NodeGetInfoRequest {})
            .await
            .unwrap_err()
            .code(),
        Code::Unimplemented
    );
}

#[tokio::test]
async fn driver_without_topology_reports_no_segment() {
    let world = World::of(DriverSpec {
        topology_keys: Vec::new(),
        ..spec()
    })
    .await;
    let running = world.on_node("n1", "a").await;
    let mut node = NodeClient::new(connect(socket(&running)).await);
    let info = node
        .node_get_info(NodeGetInfoRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(info.accessible_topology, None);
}
