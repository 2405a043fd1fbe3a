//! The driver behind its socket: its capabilities, and the calls to it, each with a time limit. Knows no Kubernetes.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use capacity_client::Pace;
use capacity_types::Segment;
use csi_proto::v1::{
    ControllerGetCapabilitiesRequest, CreateVolumeRequest, DeleteVolumeRequest, GetCapacityRequest,
    GetCapacityResponse, GetPluginCapabilitiesRequest, GetPluginInfoRequest, NodeGetInfoRequest,
    ProbeRequest, Topology, Volume, controller_client::ControllerClient, controller_service_capability,
    controller_service_capability::rpc, identity_client::IdentityClient, node_client::NodeClient,
    plugin_capability, plugin_capability::service,
};
use tokio::time::Instant;
use tonic::{
    Code, Response, Status,
    transport::{Channel, Endpoint},
};

use crate::{Dialect, Options, metrics::Metrics, status::code_text, watch::Retry};

/// A driver whose name and capabilities are known. A lost connection is made again.
pub(crate) struct Driver {
    connection: Connection,
    pub(crate) name: Arc<str>,
    pub(crate) capabilities: Capabilities,
    dialect: Dialect,
}

/// The connection to the driver.
#[derive(Clone)]
struct Connection {
    channel: Channel,
    timeout: Duration,
    metrics: Arc<Metrics>,
    /// Name of the driver for the metrics; empty until it is known.
    name: Arc<str>,
}

/// What the driver advertises, as far as the publisher uses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// `CONTROLLER_SERVICE`.
    pub(crate) controller: bool,
    /// `VOLUME_ACCESSIBILITY_CONSTRAINTS`.
    pub(crate) topology: bool,
    /// `CREATE_DELETE_VOLUME`.
    pub(crate) volumes: bool,
    /// `GET_CAPACITY`.
    pub(crate) capacity: bool,
    /// `CLONE_VOLUME`.
    pub(crate) clone: bool,
    /// `CREATE_DELETE_SNAPSHOT`.
    pub(crate) snapshots: bool,
    /// `MODIFY_VOLUME`.
    pub(crate) modify: bool,
    /// `SINGLE_NODE_MULTI_WRITER`.
    pub(crate) single_node_multi_writer: bool,
}

/// A call to the driver failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("rpc error: code = {} desc = {message}", code_text(*.code))]
pub struct DriverError {
    /// The gRPC code.
    pub code: Code,
    /// The message of the driver, or of the connection to it.
    pub message: String,
    /// Whether it is unknown what the driver did (CSI: the call must be repeated until that is known).
    pub undecided: bool,
}

/// Codes after which the driver may still be working on the call.
const UNDECIDED: [Code; 4] = [
    Code::Cancelled,
    Code::DeadlineExceeded,
    Code::Unavailable,
    Code::Aborted,
];

impl Driver {
    /// Waits until the driver is ready, and reads its name and capabilities.
    ///
    /// Waits for a driver that does not listen yet. Fails if the driver answers with an error.
    pub(crate) async fn connect(
        channel: Channel,
        options: &Options,
        metrics: &Arc<Metrics>,
    ) -> Result<Driver, DriverError> {
        let mut connection = Connection {
            channel,
            timeout: options.timeout,
            metrics: Arc::clone(metrics),
            name: "".into(),
        };
        let mut patience = Patience::new(options.pace());
        loop {
            let failed = match connection.introduced(options).await {
                Ok(Some((name, capabilities))) => {
                    return Ok(Driver {
                        connection,
                        name,
                        capabilities,
                        dialect: options.dialect,
                    });
                }
                Ok(None) => None,
                Err(error) => Some(error),
            };
            patience.wait(failed).await?;
        }
    }

    /// The segment of the node that the driver runs on; empty if NodeGetInfo has none. Waits like [`Driver::connect`].
    pub(crate) async fn node_segment(&self, pace: Pace) -> Result<Segment, DriverError> {
        let mut patience = Patience::new(pace);
        loop {
            match self.node_info().await {
                Ok(segment) => return Ok(segment),
                Err(error) => patience.wait(Some(error)).await?,
            }
        }
    }

    async fn node_info(&self) -> Result<Segment, DriverError> {
        let mut node = NodeClient::new(self.connection.channel.clone());
        let call = node.node_get_info(NodeGetInfoRequest {});
        let info = self.connection.limited("/csi.v1.Node/NodeGetInfo", call).await?;
        Ok(info.accessible_topology.unwrap_or_default().segments)
    }

    /// The capacity for volumes with these parameters in a segment. The request to a driver without topology has no segment, as CSI demands.
    pub(crate) async fn get_capacity(
        &self,
        segment: &Segment,
        parameters: BTreeMap<String, String>,
    ) -> Result<GetCapacityResponse, DriverError> {
        let topology = self.capabilities.topology && !segment.is_empty();
        let request = GetCapacityRequest {
            volume_capabilities: self.dialect.volume_capabilities(),
            parameters,
            accessible_topology: topology.then(|| Topology {
                segments: segment.clone(),
            }),
        };
        let mut controller = self.controller();
        let call = controller.get_capacity(request);
        self.connection
            .limited("/csi.v1.Controller/GetCapacity", call)
            .await
    }

    /// Creates a volume.
    pub(crate) async fn create_volume(&self, request: CreateVolumeRequest) -> Result<Volume, DriverError> {
        let mut controller = self.controller();
        let call = controller.create_volume(request);
        let answer = self
            .connection
            .limited("/csi.v1.Controller/CreateVolume", call)
            .await?;
        answer
            .volume
            .ok_or_else(|| DriverError::new(Code::Internal, "the driver answered no volume; fix the driver"))
    }

    /// Deletes a volume.
    pub(crate) async fn delete_volume(
        &self,
        volume_id: &str,
        secrets: BTreeMap<String, String>,
    ) -> Result<(), DriverError> {
        let request = DeleteVolumeRequest {
            volume_id: volume_id.to_owned(),
            secrets,
        };
        let mut controller = self.controller();
        let call = controller.delete_volume(request);
        self.connection
            .limited("/csi.v1.Controller/DeleteVolume", call)
            .await
            .map(|_| ())
    }

    fn controller(&self) -> ControllerClient<Channel> {
        ControllerClient::new(self.connection.channel.clone())
    }
}

/// Waits between attempts that have come to nothing yet.
struct Patience(Retry);

impl Patience {
    fn new(pace: Pace) -> Patience {
        Patience(Retry::new(pace))
    }

    /// Waits after an attempt; the error is that of one that waiting does not cure. `failed`: none where the driver is not ready.
    async fn wait(&mut self, failed: Option<DriverError>) -> Result<(), DriverError> {
        match failed {
            None => tracing::info!("the driver is not ready yet"),
            Some(error) if error.undecided => tracing::warn!(%error, "still connecting to the driver"),
            Some(error) => return Err(error),
        }
        if let Some(wait) = self.0.next() {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }
}

impl Connection {
    /// The name and the capabilities of the driver; none while it is not ready.
    async fn introduced(
        &mut self,
        options: &Options,
    ) -> Result<Option<(Arc<str>, Capabilities)>, DriverError> {
        let mut identity = IdentityClient::new(self.channel.clone());
        let call = identity.probe(ProbeRequest {});
        let answer = self.limited("/csi.v1.Identity/Probe", call).await?;
        if !answer.ready.unwrap_or(true) {
            return Ok(None);
        }
        let name = self.plugin_name().await?;
        self.name = Arc::clone(&name);
        let services = self.services().await?;
        let has = |service| services.contains(&service);
        let mut capabilities = Capabilities {
            controller: has(service::Type::ControllerService),
            topology: has(service::Type::VolumeAccessibilityConstraints) && options.feature_gates.topology,
            ..Capabilities::default()
        };
        if capabilities.controller {
            capabilities.add_calls(&self.controller_calls().await?);
        }
        Ok(Some((name, capabilities)))
    }

    async fn plugin_name(&self) -> Result<Arc<str>, DriverError> {
        let mut identity = IdentityClient::new(self.channel.clone());
        let call = identity.get_plugin_info(GetPluginInfoRequest {});
        let info = self.limited("/csi.v1.Identity/GetPluginInfo", call).await?;
        let name = Some(info.name).filter(|name| !name.is_empty()).map(Arc::from);
        name.ok_or_else(|| DriverError::new(Code::Internal, "the driver has no name; give it one"))
    }

    async fn services(&self) -> Result<Vec<service::Type>, DriverError> {
        let mut identity = IdentityClient::new(self.channel.clone());
        let call = identity.get_plugin_capabilities(GetPluginCapabilitiesRequest {});
        let plugin = self
            .limited("/csi.v1.Identity/GetPluginCapabilities", call)
            .await?;
        Ok(plugin.capabilities.iter().filter_map(service_type).collect())
    }

    async fn controller_calls(&self) -> Result<Vec<rpc::Type>, DriverError> {
        let mut controller = ControllerClient::new(self.channel.clone());
        let call = controller.controller_get_capabilities(ControllerGetCapabilitiesRequest {});
        let answer = self
            .limited("/csi.v1.Controller/ControllerGetCapabilities", call)
            .await?;
        let calls = answer
            .capabilities
            .into_iter()
            .filter_map(|capability| capability.r#type);
        Ok(calls
            .map(|controller_service_capability::Type::Rpc(rpc)| rpc.r#type())
            .collect())
    }

    /// Waits for the answer of a call up to the time limit, and counts the call.
    async fn limited<M>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<Response<M>, Status>>,
    ) -> Result<M, DriverError> {
        let began = Instant::now();
        let answer = match tokio::time::timeout(self.timeout, call).await {
            Ok(answer) => answer.map(Response::into_inner).map_err(DriverError::from),
            Err(_) => Err(DriverError::new(
                Code::DeadlineExceeded,
                "context deadline exceeded",
            )),
        };
        let code = answer.as_ref().err().map_or(Code::Ok, |error| error.code);
        self.metrics.called(&self.name, method, code, began.elapsed());
        answer
    }
}

impl Capabilities {
    fn add_calls(&mut self, calls: &[rpc::Type]) {
        self.volumes = calls.contains(&rpc::Type::CreateDeleteVolume);
        self.capacity = calls.contains(&rpc::Type::GetCapacity);
        self.clone = calls.contains(&rpc::Type::CloneVolume);
        self.snapshots = calls.contains(&rpc::Type::CreateDeleteSnapshot);
        self.modify = calls.contains(&rpc::Type::ModifyVolume);
        self.single_node_multi_writer = calls.contains(&rpc::Type::SingleNodeMultiWriter);
    }
}

impl DriverError {
    /// A nonsensical answer, or a failure of the connection.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> DriverError {
        DriverError {
            code,
            message: message.into(),
            undecided: UNDECIDED.contains(&code),
        }
    }
}

impl From<Status> for DriverError {
    fn from(status: Status) -> DriverError {
        // A status with a cause was made by the connection: the driver never sent it.
        let is_of_connection = std::error::Error::source(&status).is_some();
        let undecided = is_of_connection || UNDECIDED.contains(&status.code());
        DriverError {
            code: status.code(),
            message: status.message().to_owned(),
            undecided,
        }
    }
}

/// A channel to the driver behind a socket (`--csi-address`), which need not exist yet. Must be called within a tokio runtime.
///
/// Fails if the path cannot be one of a socket.
pub fn driver_channel(socket: &Path) -> Result<Channel, DriverError> {
    let path = socket
        .to_str()
        .map(|path| path.strip_prefix("unix://").unwrap_or(path));
    let address = path.map(|path| Endpoint::from_shared(format!("unix:{path}")));
    match address {
        Some(Ok(endpoint)) => Ok(endpoint.connect_lazy()),
        _ => Err(DriverError::new(
            Code::InvalidArgument,
            format!(
                "{} is no path of a socket; correct --csi-address",
                socket.display()
            ),
        )),
    }
}

fn service_type(capability: &csi_proto::v1::PluginCapability) -> Option<service::Type> {
    match capability.r#type {
        Some(plugin_capability::Type::Service(service)) => Some(service.r#type()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_like_those_of_upstream() {
        let error = DriverError::from(Status::resource_exhausted("boom"));
        assert_eq!(
            error.to_string(),
            "rpc error: code = ResourceExhausted desc = boom"
        );
        assert!(
            DriverError::new(Code::Cancelled, "")
                .to_string()
                .contains("code = Canceled desc")
        );
    }

    #[test]
    fn only_some_codes_leave_it_open_what_happened() {
        let open: Vec<i32> = (1..=16)
            .filter(|code| DriverError::from(Status::new(Code::from(*code), "")).undecided)
            .collect();
        assert_eq!(
            open,
            [
                Code::Cancelled,
                Code::DeadlineExceeded,
                Code::Aborted,
                Code::Unavailable
            ]
            .map(|code| code as i32)
        );
        let broken = Status::from_error(Box::new(std::io::Error::other("broken pipe")));
        assert!(DriverError::from(broken).undecided, "the driver never answered");
    }
}
