//! CSI client for capacity tests: calls any driver and returns its responses as named values. Knows the relevant calls; validates nothing.

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

/// Values of a response, by name.
type Figures = BTreeMap<&'static str, Figure>;

/// A value of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Bytes, a count, or 1 for true and 0 for false.
    Number(i64),
    /// A name or an id.
    Text(String),
}

/// A CSI call and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
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
    /// GetCapacity: returns `available`, `maximum`, `minimum`, and `room`, which is the maximum or, if unset, the available capacity.
    Capacity {
        /// `accessible_topology`; `None` leaves it unset.
        segment: Option<Segment>,
        /// Parameters of the storage class.
        parameters: BTreeMap<String, String>,
    },
    /// CreateVolume for a mounted filesystem with a single writer: returns `bytes` and `id`.
    Create {
        /// Name of the volume.
        name: String,
        /// `required_bytes`.
        bytes: i64,
        /// The only term of `requisite` and `preferred`; `None` leaves both unset.
        segment: Option<Segment>,
        /// Parameters of the storage class.
        parameters: BTreeMap<String, String>,
    },
    /// DeleteVolume: returns only its code.
    Delete {
        /// The volume's id.
        id: String,
    },
    /// ControllerExpandVolume: returns `bytes`, and whether `nodeExpansion` is required.
    Expand {
        /// The volume's id.
        id: String,
        /// `required_bytes`.
        bytes: i64,
    },
    /// NodePublishVolume for a mounted filesystem with a single writer: returns only its code.
    Publish {
        /// The volume's id.
        id: String,
        /// `target_path`.
        target: String,
        /// Whether it is a CSI ephemeral volume of a pod, which was not created by CreateVolume.
        ephemeral: bool,
    },
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// `OK` or the gRPC error code, spelled as in the CSI specification.
    pub code: &'static str,
    /// Message of an error response.
    pub message: Option<String>,
    /// Values of the response; always contains `implemented`.
    pub told: Figures,
}

/// CSI client on a channel to a driver.
#[derive(Clone, Debug)]
pub struct Caller {
    channel: Channel,
    limit: Duration,
}

impl Caller {
    /// Creates a client whose calls fail after `limit`.
    pub fn new(channel: Channel, limit: Duration) -> Caller {
        Caller { channel, limit }
    }

    /// Calls the driver and returns its response.
    pub async fn ask(&self, question: Question) -> Reply {
        // The client enforces the limit as well: a driver that hangs does not look at the deadline.
        let answered = tokio::time::timeout(self.limit, self.answer(question)).await;
        let late = || {
            let message = format!("no answer within {:?}", self.limit);
            Err(Status::deadline_exceeded(message))
        };
        reply(answered.unwrap_or_else(|_| late()))
    }

    async fn answer(&self, question: Question) -> Result<Figures, Status> {
        let channel = self.channel.clone();
        match question {
            Question::PluginInfo => plugin_info(IdentityClient::new(channel)).await,
            Question::PluginCapabilities => plugin_capabilities(IdentityClient::new(channel)).await,
            Question::Probe => {
                let answer = IdentityClient::new(channel).probe(ProbeRequest {}).await?;
                Ok([("ready", yes(answer.into_inner().ready.unwrap_or(true)))].into())
            }
            Question::ControllerCapabilities => controller_capabilities(ControllerClient::new(channel)).await,
            Question::NodeInfo => node_info(NodeClient::new(channel)).await,
            Question::Capacity { segment, parameters } => {
                let request = GetCapacityRequest {
                    volume_capabilities: Vec::new(),
                    parameters,
                    accessible_topology: segment.map(|segments| Topology { segments }),
                };
                capacity(ControllerClient::new(channel), request).await
            }
            Question::Create {
                name,
                bytes,
                segment,
                parameters,
            } => {
                let request = creation(name, bytes, segment, parameters);
                create(ControllerClient::new(channel), request).await
            }
            Question::Delete { id } => {
                let request = DeleteVolumeRequest {
                    volume_id: id,
                    ..DeleteVolumeRequest::default()
                };
                ControllerClient::new(channel).delete_volume(request).await?;
                Ok(Figures::new())
            }
            Question::Expand { id, bytes } => expand(ControllerClient::new(channel), id, bytes).await,
            Question::Publish {
                id,
                target,
                ephemeral,
            } => {
                let request = publication(id, target, ephemeral);
                NodeClient::new(channel).node_publish_volume(request).await?;
                Ok(Figures::new())
            }
        }
    }
}

impl Question {
    /// The CSI method of this call.
    pub fn method(&self) -> Method {
        match self {
            Question::PluginInfo => Method::GetPluginInfo,
            Question::PluginCapabilities => Method::GetPluginCapabilities,
            Question::Probe => Method::Probe,
            Question::ControllerCapabilities => Method::ControllerGetCapabilities,
            Question::NodeInfo => Method::NodeGetInfo,
            Question::Capacity { .. } => Method::GetCapacity,
            Question::Create { .. } => Method::CreateVolume,
            Question::Delete { .. } => Method::DeleteVolume,
            Question::Expand { .. } => Method::ControllerExpandVolume,
            Question::Publish { .. } => Method::NodePublishVolume,
        }
    }
}

fn reply(answered: Result<Figures, Status>) -> Reply {
    let (code, message, mut told) = match answered {
        Ok(told) => (Code::Ok, None, told),
        Err(status) => (status.code(), Some(status.message().to_owned()), Figures::new()),
    };
    told.insert("implemented", yes(code != Code::Unimplemented));
    Reply {
        code: code_name(code),
        message,
        told,
    }
}

fn yes(whether: bool) -> Figure {
    Figure::Number(i64::from(whether))
}

async fn plugin_info(mut client: IdentityClient<Channel>) -> Result<Figures, Status> {
    let answer = client
        .get_plugin_info(GetPluginInfoRequest {})
        .await?
        .into_inner();
    Ok([
        ("name", Figure::Text(answer.name)),
        ("version", Figure::Text(answer.vendor_version)),
    ]
    .into())
}

async fn plugin_capabilities(mut client: IdentityClient<Channel>) -> Result<Figures, Status> {
    let answer = client
        .get_plugin_capabilities(GetPluginCapabilitiesRequest {})
        .await?;
    let capabilities = answer.into_inner().capabilities;
    let has = |wanted: service::Type| {
        let is_wanted = |capability: &Option<plugin_capability::Type>| matches!(capability, Some(plugin_capability::Type::Service(it)) if it.r#type() == wanted);
        yes(capabilities.iter().any(|it| is_wanted(&it.r#type)))
    };
    Ok([
        ("controller", has(service::Type::ControllerService)),
        ("constraints", has(service::Type::VolumeAccessibilityConstraints)),
    ]
    .into())
}

async fn controller_capabilities(mut client: ControllerClient<Channel>) -> Result<Figures, Status> {
    let answer = client
        .controller_get_capabilities(ControllerGetCapabilitiesRequest {})
        .await?;
    let capabilities = answer.into_inner().capabilities;
    let has = |wanted: rpc::Type| {
        let is_wanted = |capability: &Option<controller_service_capability::Type>| matches!(capability, Some(controller_service_capability::Type::Rpc(it)) if it.r#type() == wanted);
        yes(capabilities.iter().any(|it| is_wanted(&it.r#type)))
    };
    Ok([
        ("getCapacity", has(rpc::Type::GetCapacity)),
        ("createDelete", has(rpc::Type::CreateDeleteVolume)),
    ]
    .into())
}

async fn node_info(mut client: NodeClient<Channel>) -> Result<Figures, Status> {
    let answer = client.node_get_info(NodeGetInfoRequest {}).await?.into_inner();
    let topology = answer.accessible_topology.unwrap_or_default();
    let pairs = topology
        .segments
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let segment = pairs.collect::<Vec<_>>().join(",");
    let mut figures = Figures::from([
        ("nodeId", Figure::Text(answer.node_id)),
        ("topology", yes(!segment.is_empty())),
    ]);
    if !segment.is_empty() {
        figures.insert("segment", Figure::Text(segment));
    }
    Ok(figures)
}

async fn capacity(
    mut client: ControllerClient<Channel>,
    request: GetCapacityRequest,
) -> Result<Figures, Status> {
    let answer = client.get_capacity(Request::new(request)).await?.into_inner();
    let sizes = [
        ("available", Some(answer.available_capacity)),
        ("maximum", answer.maximum_volume_size),
        ("minimum", answer.minimum_volume_size),
        (
            "room",
            Some(answer.maximum_volume_size.unwrap_or(answer.available_capacity)),
        ),
    ];
    let told = |(name, bytes): (&'static str, Option<i64>)| Some((name, Figure::Number(bytes?)));
    Ok(sizes.into_iter().filter_map(told).collect())
}

fn creation(
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
        volume_capabilities: vec![one_writer()],
        parameters,
        accessibility_requirements: terms.map(|terms| TopologyRequirement {
            requisite: terms.clone(),
            preferred: terms,
        }),
        ..CreateVolumeRequest::default()
    }
}

fn publication(id: String, target: String, ephemeral: bool) -> NodePublishVolumeRequest {
    // The volume context that the kubelet sends if `CSIDriver.spec.podInfoOnMount` is set.
    let context = ephemeral.then(|| ("csi.storage.k8s.io/ephemeral".to_owned(), "true".to_owned()));
    NodePublishVolumeRequest {
        volume_id: id,
        target_path: target,
        volume_capability: Some(one_writer()),
        volume_context: context.into_iter().collect(),
        ..NodePublishVolumeRequest::default()
    }
}

fn one_writer() -> VolumeCapability {
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
) -> Result<Figures, Status> {
    let asked = request.capacity_range.map_or(0, |range| range.required_bytes);
    let answer = client.create_volume(request).await?.into_inner();
    let volume = answer.volume.unwrap_or_default();
    // In CSI, 0 means "unknown": the volume then has the requested size.
    let bytes = match volume.capacity_bytes {
        0 => asked,
        known => known,
    };
    Ok([
        ("bytes", Figure::Number(bytes)),
        ("id", Figure::Text(volume.volume_id)),
    ]
    .into())
}

async fn expand(mut client: ControllerClient<Channel>, id: String, bytes: i64) -> Result<Figures, Status> {
    let request = ControllerExpandVolumeRequest {
        volume_id: id,
        capacity_range: Some(CapacityRange {
            required_bytes: bytes,
            limit_bytes: 0,
        }),
        volume_capability: Some(one_writer()),
        ..ControllerExpandVolumeRequest::default()
    };
    let answer = client.controller_expand_volume(request).await?.into_inner();
    Ok([
        ("bytes", Figure::Number(answer.capacity_bytes)),
        ("nodeExpansion", yes(answer.node_expansion_required)),
    ]
    .into())
}
