//! CSI client for capacity tests: calls any driver and returns the values in its responses by name, without validation.

use std::{collections::BTreeMap, time::Duration};

use csi_proto::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerGetCapabilitiesRequest, CreateVolumeRequest,
    DeleteVolumeRequest, GetCapacityRequest, GetPluginCapabilitiesRequest, GetPluginInfoRequest,
    NodeGetInfoRequest, NodePublishVolumeRequest, ProbeRequest, Topology, TopologyRequirement,
    VolumeCapability,
    controller_client::ControllerClient,
    controller_service_capability,
    controller_service_capability::rpc,
    identity_client::IdentityClient,
    node_client::NodeClient,
    plugin_capability,
    plugin_capability::service,
    volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode},
};
use tonic::{Code, Request, Status, transport::Channel};

use crate::{Method, Segment, method::code_name};

type ResponseValues = BTreeMap<&'static str, ResponseValue>;

/// A value of a CSI response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseValue {
    /// A number of bytes, a count, or 1 for true and 0 for false.
    Number(i64),
    /// A name or an id.
    Text(String),
}

/// A CSI call and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CsiRequest {
    /// GetPluginInfo: returns `name` and `version`.
    PluginInfo,
    /// GetPluginCapabilities: returns whether `controller` and `constraints` (VOLUME_ACCESSIBILITY_CONSTRAINTS) are advertised.
    PluginCapabilities,
    /// Probe: returns `ready`; an unset value counts as true (CSI spec, "Probe").
    Probe,
    /// ControllerGetCapabilities: returns whether `getCapacity` and `createDelete` are advertised.
    ControllerCapabilities,
    /// NodeGetInfo: returns `nodeId`, whether `topology` is set, and its `segment`, such as `zone=a,host=n1`.
    NodeInfo,
    /// GetCapacity: returns `available`, `maximum`, `minimum`, and `room`: the maximum or, if it is unset, the available capacity.
    Capacity {
        /// `accessible_topology` of the request; `None` leaves the field unset.
        segment: Option<Segment>,
        /// Parameters of the StorageClass.
        parameters: BTreeMap<String, String>,
    },
    /// CreateVolume for a mounted filesystem with a single writer: returns `bytes` and `id`.
    Create {
        /// Name of the volume.
        name: String,
        /// `required_bytes` of the request.
        bytes: i64,
        /// The only term of `requisite` and `preferred`; `None` leaves both fields unset.
        segment: Option<Segment>,
        /// Parameters of the StorageClass.
        parameters: BTreeMap<String, String>,
    },
    /// DeleteVolume: returns no values.
    Delete {
        /// The volume's id.
        id: String,
    },
    /// ControllerExpandVolume: returns `bytes`, and whether `nodeExpansion` is required.
    Expand {
        /// The volume's id.
        id: String,
        /// `required_bytes` of the request.
        bytes: i64,
    },
    /// NodePublishVolume for a mounted filesystem with a single writer: returns no values.
    Publish {
        /// The volume's id.
        id: String,
        /// `target_path` of the request.
        target: String,
        /// Whether the volume is a CSI ephemeral volume of a pod, which was not created by CreateVolume.
        ephemeral: bool,
    },
}

/// The response to a [`CsiRequest`]: gRPC code, error message and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiResponse {
    /// `OK` or the gRPC error code, spelled as in the CSI specification.
    pub code: &'static str,
    /// Message of an error response.
    pub message: Option<String>,
    /// Values of the response, by name; always contains `implemented`.
    pub values: ResponseValues,
}

/// CSI client on a channel to a driver.
#[derive(Clone, Debug)]
pub struct CsiClient {
    channel: Channel,
    timeout: Duration,
}

impl CsiClient {
    /// Creates a client whose calls fail after `timeout`.
    pub fn new(channel: Channel, timeout: Duration) -> CsiClient {
        CsiClient { channel, timeout }
    }

    /// Calls the driver and returns its response.
    pub async fn call(&self, request: CsiRequest) -> CsiResponse {
        // The client enforces the timeout as well, because a hanging driver may ignore the deadline of the request.
        let result = tokio::time::timeout(self.timeout, self.send(request)).await;
        let timed_out = || {
            let message = format!("no response within {:?}", self.timeout);
            Err(Status::deadline_exceeded(message))
        };
        to_response(result.unwrap_or_else(|_| timed_out()))
    }

    async fn send(&self, request: CsiRequest) -> Result<ResponseValues, Status> {
        let channel = self.channel.clone();
        match request {
            CsiRequest::PluginInfo => plugin_info(IdentityClient::new(channel)).await,
            CsiRequest::PluginCapabilities => plugin_capabilities(IdentityClient::new(channel)).await,
            CsiRequest::Probe => {
                let response = IdentityClient::new(channel).probe(ProbeRequest {}).await?;
                Ok([("ready", flag(response.into_inner().ready.unwrap_or(true)))].into())
            }
            CsiRequest::ControllerCapabilities => {
                controller_capabilities(ControllerClient::new(channel)).await
            }
            CsiRequest::NodeInfo => node_info(NodeClient::new(channel)).await,
            CsiRequest::Capacity { segment, parameters } => {
                let request = GetCapacityRequest {
                    volume_capabilities: Vec::new(),
                    parameters,
                    accessible_topology: segment.map(|segments| Topology { segments }),
                };
                capacity(ControllerClient::new(channel), request).await
            }
            CsiRequest::Create {
                name,
                bytes,
                segment,
                parameters,
            } => {
                let request = create_volume_request(name, bytes, segment, parameters);
                create(ControllerClient::new(channel), request).await
            }
            CsiRequest::Delete { id } => {
                let request = DeleteVolumeRequest {
                    volume_id: id,
                    ..DeleteVolumeRequest::default()
                };
                ControllerClient::new(channel).delete_volume(request).await?;
                Ok(ResponseValues::new())
            }
            CsiRequest::Expand { id, bytes } => expand(ControllerClient::new(channel), id, bytes).await,
            CsiRequest::Publish {
                id,
                target,
                ephemeral,
            } => {
                let request = publish_request(id, target, ephemeral);
                NodeClient::new(channel).node_publish_volume(request).await?;
                Ok(ResponseValues::new())
            }
        }
    }
}

impl CsiRequest {
    /// The CSI method that the request calls.
    pub fn method(&self) -> Method {
        match self {
            CsiRequest::PluginInfo => Method::GetPluginInfo,
            CsiRequest::PluginCapabilities => Method::GetPluginCapabilities,
            CsiRequest::Probe => Method::Probe,
            CsiRequest::ControllerCapabilities => Method::ControllerGetCapabilities,
            CsiRequest::NodeInfo => Method::NodeGetInfo,
            CsiRequest::Capacity { .. } => Method::GetCapacity,
            CsiRequest::Create { .. } => Method::CreateVolume,
            CsiRequest::Delete { .. } => Method::DeleteVolume,
            CsiRequest::Expand { .. } => Method::ControllerExpandVolume,
            CsiRequest::Publish { .. } => Method::NodePublishVolume,
        }
    }
}

fn to_response(result: Result<ResponseValues, Status>) -> CsiResponse {
    let (code, message, mut values) = match result {
        Ok(values) => (Code::Ok, None, values),
        Err(status) => (
            status.code(),
            Some(status.message().to_owned()),
            ResponseValues::new(),
        ),
    };
    values.insert("implemented", flag(code != Code::Unimplemented));
    CsiResponse {
        code: code_name(code),
        message,
        values,
    }
}

fn flag(whether: bool) -> ResponseValue {
    ResponseValue::Number(i64::from(whether))
}

async fn plugin_info(mut client: IdentityClient<Channel>) -> Result<ResponseValues, Status> {
    let response = client
        .get_plugin_info(GetPluginInfoRequest {})
        .await?
        .into_inner();
    Ok([
        ("name", ResponseValue::Text(response.name)),
        ("version", ResponseValue::Text(response.vendor_version)),
    ]
    .into())
}

async fn plugin_capabilities(mut client: IdentityClient<Channel>) -> Result<ResponseValues, Status> {
    let response = client
        .get_plugin_capabilities(GetPluginCapabilitiesRequest {})
        .await?;
    let capabilities = response.into_inner().capabilities;
    let has = |wanted: service::Type| {
        let is_wanted = |capability: &Option<plugin_capability::Type>| matches!(capability, Some(plugin_capability::Type::Service(it)) if it.r#type() == wanted);
        flag(capabilities.iter().any(|it| is_wanted(&it.r#type)))
    };
    Ok([
        ("controller", has(service::Type::ControllerService)),
        ("constraints", has(service::Type::VolumeAccessibilityConstraints)),
    ]
    .into())
}

async fn controller_capabilities(mut client: ControllerClient<Channel>) -> Result<ResponseValues, Status> {
    let response = client
        .controller_get_capabilities(ControllerGetCapabilitiesRequest {})
        .await?;
    let capabilities = response.into_inner().capabilities;
    let has = |wanted: rpc::Type| {
        let is_wanted = |capability: &Option<controller_service_capability::Type>| matches!(capability, Some(controller_service_capability::Type::Rpc(it)) if it.r#type() == wanted);
        flag(capabilities.iter().any(|it| is_wanted(&it.r#type)))
    };
    Ok([
        ("getCapacity", has(rpc::Type::GetCapacity)),
        ("createDelete", has(rpc::Type::CreateDeleteVolume)),
    ]
    .into())
}

async fn node_info(mut client: NodeClient<Channel>) -> Result<ResponseValues, Status> {
    let response = client.node_get_info(NodeGetInfoRequest {}).await?.into_inner();
    let topology = response.accessible_topology.unwrap_or_default();
    let pairs = topology
        .segments
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let segment = pairs.collect::<Vec<_>>().join(",");
    let mut values = ResponseValues::from([
        ("nodeId", ResponseValue::Text(response.node_id)),
        ("topology", flag(!segment.is_empty())),
    ]);
    if !segment.is_empty() {
        values.insert("segment", ResponseValue::Text(segment));
    }
    Ok(values)
}

async fn capacity(
    mut client: ControllerClient<Channel>,
    request: GetCapacityRequest,
) -> Result<ResponseValues, Status> {
    let response = client.get_capacity(Request::new(request)).await?.into_inner();
    let sizes = [
        ("available", Some(response.available_capacity)),
        ("maximum", response.maximum_volume_size),
        ("minimum", response.minimum_volume_size),
        (
            "room",
            Some(
                response
                    .maximum_volume_size
                    .unwrap_or(response.available_capacity),
            ),
        ),
    ];
    let values = |(name, bytes): (&'static str, Option<i64>)| Some((name, ResponseValue::Number(bytes?)));
    Ok(sizes.into_iter().filter_map(values).collect())
}

fn create_volume_request(
    name: String,
    bytes: i64,
    segment: Option<Segment>,
    parameters: BTreeMap<String, String>,
) -> CreateVolumeRequest {
    let terms = segment.map(|segments| vec![Topology { segments }]);
    CreateVolumeRequest {
        name,
        capacity_range: Some(CapacityRange {
            required_bytes: bytes,
            limit_bytes: 0,
        }),
        volume_capabilities: vec![single_writer()],
        parameters,
        accessibility_requirements: terms.map(|terms| TopologyRequirement {
            requisite: terms.clone(),
            preferred: terms,
        }),
        ..CreateVolumeRequest::default()
    }
}

fn publish_request(id: String, target: String, ephemeral: bool) -> NodePublishVolumeRequest {
    // The volume context that the kubelet sends if `CSIDriver.spec.podInfoOnMount` is set.
    let context = ephemeral.then(|| ("csi.storage.k8s.io/ephemeral".to_owned(), "true".to_owned()));
    NodePublishVolumeRequest {
        volume_id: id,
        target_path: target,
        volume_capability: Some(single_writer()),
        volume_context: context.into_iter().collect(),
        ..NodePublishVolumeRequest::default()
    }
}

fn single_writer() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
    }
}

async fn create(
    mut client: ControllerClient<Channel>,
    request: CreateVolumeRequest,
) -> Result<ResponseValues, Status> {
    let requested = request.capacity_range.map_or(0, |range| range.required_bytes);
    let response = client.create_volume(request).await?.into_inner();
    let volume = response.volume.unwrap_or_default();
    // In CSI, size 0 means "unknown"; the requested size is returned instead.
    let bytes = match volume.capacity_bytes {
        0 => requested,
        known => known,
    };
    Ok([
        ("bytes", ResponseValue::Number(bytes)),
        ("id", ResponseValue::Text(volume.volume_id)),
    ]
    .into())
}

async fn expand(
    mut client: ControllerClient<Channel>,
    id: String,
    bytes: i64,
) -> Result<ResponseValues, Status> {
    let request = ControllerExpandVolumeRequest {
        volume_id: id,
        capacity_range: Some(CapacityRange {
            required_bytes: bytes,
            limit_bytes: 0,
        }),
        volume_capability: Some(single_writer()),
        ..ControllerExpandVolumeRequest::default()
    };
    let response = client.controller_expand_volume(request).await?.into_inner();
    Ok([
        ("bytes", ResponseValue::Number(response.capacity_bytes)),
        ("nodeExpansion", flag(response.node_expansion_required)),
    ]
    .into())
}
