//! The client of the CSI driver: connects to its socket, reads its capabilities, and makes calls with timeouts. Does not know Kubernetes.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use capacity_client::ExponentialBackoff;
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

/// A CSI driver whose name and capabilities are known. Lost connections are re-established.
pub(crate) struct Driver {
    connection: Connection,
    pub(crate) name: Arc<str>,
    pub(crate) capabilities: Capabilities,
    dialect: Dialect,
}

/// A connection to a driver, whose calls have a timeout and are recorded in the metrics.
#[derive(Clone)]
struct Connection {
    channel: Channel,
    timeout: Duration,
    metrics: Arc<Metrics>,
    /// Driver name for the metrics. Empty until GetPluginInfo succeeds.
    name: Arc<str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Plugin capability `CONTROLLER_SERVICE`.
    pub(crate) controller: bool,
    /// Plugin capability `VOLUME_ACCESSIBILITY_CONSTRAINTS`.
    pub(crate) topology: bool,
    /// Controller capability `CREATE_DELETE_VOLUME`.
    pub(crate) volumes: bool,
    /// Controller capability `GET_CAPACITY`.
    pub(crate) capacity: bool,
    /// Controller capability `CLONE_VOLUME`.
    pub(crate) clone: bool,
    /// Controller capability `CREATE_DELETE_SNAPSHOT`.
    pub(crate) snapshots: bool,
    /// Controller capability `MODIFY_VOLUME`.
    pub(crate) modify: bool,
    /// Controller capability `SINGLE_NODE_MULTI_WRITER`.
    pub(crate) single_node_multi_writer: bool,
}

/// A failed call to the driver.
#[derive(Clone, Debug, thiserror::Error)]
#[error("rpc error: code = {} desc = {message}", code_text(*.code))]
pub struct DriverError {
    /// The gRPC status code of the call.
    pub code: Code,
    /// The message from the driver or from the connection.
    pub message: String,
    /// Whether the outcome of the call is unknown. CSI requires the caller to repeat such a call until its outcome is known.
    pub result_unknown: bool,
}

/// gRPC codes that leave the outcome unknown, because the driver may still be processing the call.
const NON_FINAL_CODES: [Code; 4] = [
    Code::Cancelled,
    Code::DeadlineExceeded,
    Code::Unavailable,
    Code::Aborted,
];

impl Driver {
    /// Waits until the driver listens and is ready, and reads its name and capabilities.
    ///
    /// Fails if the driver returns an error.
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
        let mut retry = ConnectRetry::new(options.backoff());
        loop {
            let failed = match connection.identify(options).await {
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
            retry.wait(failed).await?;
        }
    }

    /// The topology segment from NodeGetInfo; empty if unset. Waits, like [`Driver::connect`], until the driver is reachable.
    pub(crate) async fn node_segment(&self, backoff: ExponentialBackoff) -> Result<Segment, DriverError> {
        let mut retry = ConnectRetry::new(backoff);
        loop {
            match self.node_info().await {
                Ok(segment) => return Ok(segment),
                Err(error) => retry.wait(Some(error)).await?,
            }
        }
    }

    async fn node_info(&self) -> Result<Segment, DriverError> {
        let mut node = NodeClient::new(self.connection.channel.clone());
        let call = node.node_get_info(NodeGetInfoRequest {});
        let info = self
            .connection
            .with_timeout("/csi.v1.Node/NodeGetInfo", call)
            .await?;
        Ok(info.accessible_topology.unwrap_or_default().segments)
    }

    /// Calls GetCapacity with class parameters and a segment. For a driver without topology the request has no segment, as CSI requires.
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
        let mut controller = self.controller_client();
        let call = controller.get_capacity(request);
        self.connection
            .with_timeout("/csi.v1.Controller/GetCapacity", call)
            .await
    }

    pub(crate) async fn create_volume(&self, request: CreateVolumeRequest) -> Result<Volume, DriverError> {
        let mut controller = self.controller_client();
        let call = controller.create_volume(request);
        let response = self
            .connection
            .with_timeout("/csi.v1.Controller/CreateVolume", call)
            .await?;
        response.volume.ok_or_else(|| {
            DriverError::new(
                Code::Internal,
                "the CreateVolume response contains no volume; fix the driver",
            )
        })
    }

    pub(crate) async fn delete_volume(
        &self,
        volume_id: &str,
        secrets: BTreeMap<String, String>,
    ) -> Result<(), DriverError> {
        let request = DeleteVolumeRequest {
            volume_id: volume_id.to_owned(),
            secrets,
        };
        let mut controller = self.controller_client();
        let call = controller.delete_volume(request);
        self.connection
            .with_timeout("/csi.v1.Controller/DeleteVolume", call)
            .await
            .map(|_| ())
    }

    fn controller_client(&self) -> ControllerClient<Channel> {
        ControllerClient::new(self.connection.channel.clone())
    }
}

struct ConnectRetry(Retry);

impl ConnectRetry {
    fn new(backoff: ExponentialBackoff) -> ConnectRetry {
        ConnectRetry(Retry::new(backoff))
    }

    /// Waits after a connection attempt. `failed`: the error, or `None` if the driver is not ready. Returns errors that a retry cannot
    /// fix.
    async fn wait(&mut self, failed: Option<DriverError>) -> Result<(), DriverError> {
        match failed {
            None => tracing::info!("the driver is not ready yet; retrying"),
            Some(error) if error.result_unknown => {
                tracing::warn!(%error, "the driver is not reachable yet; retrying");
            }
            Some(error) => return Err(error),
        }
        if let Some(wait) = self.0.next() {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }
}

impl Connection {
    /// Reads the driver's name and capabilities. `None` while the driver is not ready.
    async fn identify(&mut self, options: &Options) -> Result<Option<(Arc<str>, Capabilities)>, DriverError> {
        let mut identity = IdentityClient::new(self.channel.clone());
        let call = identity.probe(ProbeRequest {});
        let response = self.with_timeout("/csi.v1.Identity/Probe", call).await?;
        if !response.ready.unwrap_or(true) {
            return Ok(None);
        }
        let name = self.plugin_name().await?;
        self.name = Arc::clone(&name);
        let services = self.plugin_services().await?;
        let has = |service| services.contains(&service);
        let mut capabilities = Capabilities {
            controller: has(service::Type::ControllerService),
            topology: has(service::Type::VolumeAccessibilityConstraints) && options.feature_gates.topology,
            ..Capabilities::default()
        };
        if capabilities.controller {
            capabilities.add_controller_capabilities(&self.controller_capabilities().await?);
        }
        Ok(Some((name, capabilities)))
    }

    async fn plugin_name(&self) -> Result<Arc<str>, DriverError> {
        let mut identity = IdentityClient::new(self.channel.clone());
        let call = identity.get_plugin_info(GetPluginInfoRequest {});
        let info = self.with_timeout("/csi.v1.Identity/GetPluginInfo", call).await?;
        let name = Some(info.name).filter(|name| !name.is_empty()).map(Arc::from);
        name.ok_or_else(|| {
            DriverError::new(
                Code::Internal,
                "GetPluginInfo returned an empty driver name; fix the driver",
            )
        })
    }

    async fn plugin_services(&self) -> Result<Vec<service::Type>, DriverError> {
        let mut identity = IdentityClient::new(self.channel.clone());
        let call = identity.get_plugin_capabilities(GetPluginCapabilitiesRequest {});
        let plugin = self
            .with_timeout("/csi.v1.Identity/GetPluginCapabilities", call)
            .await?;
        Ok(plugin.capabilities.iter().filter_map(service_type).collect())
    }

    async fn controller_capabilities(&self) -> Result<Vec<rpc::Type>, DriverError> {
        let mut controller = ControllerClient::new(self.channel.clone());
        let call = controller.controller_get_capabilities(ControllerGetCapabilitiesRequest {});
        let response = self
            .with_timeout("/csi.v1.Controller/ControllerGetCapabilities", call)
            .await?;
        let calls = response
            .capabilities
            .into_iter()
            .filter_map(|capability| capability.r#type);
        Ok(calls
            .map(|controller_service_capability::Type::Rpc(rpc)| rpc.r#type())
            .collect())
    }

    /// Waits for the response of a call until the timeout, and records the call in the metrics.
    async fn with_timeout<M>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<Response<M>, Status>>,
    ) -> Result<M, DriverError> {
        let began = Instant::now();
        let response = match tokio::time::timeout(self.timeout, call).await {
            Ok(response) => response.map(Response::into_inner).map_err(DriverError::from),
            Err(_) => Err(DriverError::new(
                Code::DeadlineExceeded,
                "context deadline exceeded",
            )),
        };
        let code = response.as_ref().err().map_or(Code::Ok, |error| error.code);
        self.metrics
            .record_call(&self.name, method, code, began.elapsed());
        response
    }
}

impl Capabilities {
    fn add_controller_capabilities(&mut self, calls: &[rpc::Type]) {
        self.volumes = calls.contains(&rpc::Type::CreateDeleteVolume);
        self.capacity = calls.contains(&rpc::Type::GetCapacity);
        self.clone = calls.contains(&rpc::Type::CloneVolume);
        self.snapshots = calls.contains(&rpc::Type::CreateDeleteSnapshot);
        self.modify = calls.contains(&rpc::Type::ModifyVolume);
        self.single_node_multi_writer = calls.contains(&rpc::Type::SingleNodeMultiWriter);
    }
}

impl DriverError {
    /// An error for an invalid response or a failed connection.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> DriverError {
        DriverError {
            code,
            message: message.into(),
            result_unknown: NON_FINAL_CODES.contains(&code),
        }
    }
}

impl From<Status> for DriverError {
    fn from(status: Status) -> DriverError {
        // A status with a source was created by the client library after a connection error, and not sent by the driver.
        let is_connection_error = std::error::Error::source(&status).is_some();
        let result_unknown = is_connection_error || NON_FINAL_CODES.contains(&status.code());
        DriverError {
            code: status.code(),
            message: status.message().to_owned(),
            result_unknown,
        }
    }
}

/// A channel to the driver's socket (`--csi-address`), which need not exist yet. Must be called within a tokio runtime.
///
/// Fails if the path is not a valid socket path.
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
                "{} is not a valid socket path; correct --csi-address",
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
    fn errors_are_worded_as_upstream() {
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
    fn only_some_codes_leave_the_result_unknown() {
        let unknown: Vec<i32> = (1..=16)
            .filter(|code| DriverError::from(Status::new(Code::from(*code), "")).result_unknown)
            .collect();
        assert_eq!(
            unknown,
            [
                Code::Cancelled,
                Code::DeadlineExceeded,
                Code::Aborted,
                Code::Unavailable
            ]
            .map(|code| code as i32)
        );
        let broken = Status::from_error(Box::new(std::io::Error::other("broken pipe")));
        assert!(
            DriverError::from(broken).result_unknown,
            "the driver did not respond"
        );
    }
}
