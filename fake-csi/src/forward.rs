//! A recording proxy before another CSI driver: forwards each call, and reports the call to the observer as the fake driver would.
//!
//! Changes no values. Fields that are not in `csi.proto` are not forwarded, and methods that are not in it return `UNIMPLEMENTED`. Only the
//! driver knows in which order calls took effect, so events have the order of the responses.

use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use csi_proto::v1::{
    ControllerExpandVolumeRequest, ControllerExpandVolumeResponse, ControllerGetCapabilitiesRequest,
    ControllerGetCapabilitiesResponse, ControllerModifyVolumeRequest, ControllerModifyVolumeResponse,
    CreateVolumeRequest, CreateVolumeResponse, DeleteVolumeRequest, DeleteVolumeResponse, GetCapacityRequest,
    GetCapacityResponse, GetPluginCapabilitiesRequest, GetPluginCapabilitiesResponse, GetPluginInfoRequest,
    GetPluginInfoResponse, ListVolumesRequest, ListVolumesResponse, NodeGetCapabilitiesRequest,
    NodeGetCapabilitiesResponse, NodeGetInfoRequest, NodeGetInfoResponse, NodePublishVolumeRequest,
    NodePublishVolumeResponse, NodeUnpublishVolumeRequest, NodeUnpublishVolumeResponse, ProbeRequest,
    ProbeResponse, ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse,
    controller_client::ControllerClient,
    controller_server::{Controller, ControllerServer},
    identity_client::IdentityClient,
    identity_server::{Identity, IdentityServer},
    node_client::NodeClient,
    node_server::{Node, NodeServer},
};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, transport::Channel};

use crate::{
    Answer, Event, Method, Observer, Running, Segment,
    connection::{ConnectionInfo, RefusalReporter},
    controller::add_create_arguments,
    endpoint, violations,
};

/// Maximum number of volumes whose names are cached for later calls. Events about volumes beyond the maximum contain only the volume id.
const VOLUMES_MAX: usize = 10_000;

/// Forwards CSI calls to one driver. Clones are handles to the same proxy.
#[derive(Clone)]
pub struct Forwarder {
    channel: Channel,
    node: Option<String>,
    shared: Arc<Shared>,
}

struct Shared {
    observer: Option<Arc<dyn Observer>>,
    volumes: Mutex<BTreeMap<String, CachedVolume>>,
    in_flight: watch::Sender<usize>,
}

/// Cached data of a volume, for the events of calls that contain only the volume id.
#[derive(Clone)]
struct CachedVolume {
    name: Option<String>,
    segment: Option<Segment>,
    parameters: BTreeMap<String, String>,
}

impl Forwarder {
    /// Creates a proxy for the driver behind a channel. `node`: the node id in the events.
    pub fn new(driver: Channel, node: Option<String>, observer: Option<Arc<dyn Observer>>) -> Forwarder {
        Forwarder {
            channel: driver,
            node,
            shared: Arc::new(Shared {
                observer,
                volumes: Mutex::default(),
                in_flight: watch::Sender::new(0),
            }),
        }
    }

    /// Serves on a new socket until the returned value is stopped or dropped.
    ///
    /// Fails if the socket cannot be bound, for example if the path has more than 107 bytes.
    pub fn listen(&self, socket: &Path) -> io::Result<Running> {
        let router = endpoint::server()
            .add_service(IdentityServer::new(self.clone()))
            .add_service(ControllerServer::new(self.clone()))
            .add_service(NodeServer::new(self.clone()));
        let reporter = RefusalReporter {
            node: self.node.clone(),
            observer: self.shared.observer.clone(),
        };
        endpoint::listen(socket, router, reporter, CancellationToken::new())
    }

    /// Resolves when no CSI call is in flight.
    pub async fn wait_until_idle(&self) {
        let mut in_flight = self.shared.in_flight.subscribe();
        // `self` owns the sender, so the channel cannot be closed.
        let _ = in_flight.wait_for(|calls| *calls == 0).await;
    }

    fn identity(&self) -> IdentityClient<Channel> {
        IdentityClient::new(self.channel.clone())
    }

    fn controller(&self) -> ControllerClient<Channel> {
        ControllerClient::new(self.channel.clone())
    }

    fn node(&self) -> NodeClient<Channel> {
        NodeClient::new(self.channel.clone())
    }

    fn event<T>(&self, method: Method, request: &Request<T>) -> Event {
        let connection = ConnectionInfo::of_call(request);
        Event::new(
            method,
            self.node.clone(),
            connection.map(|connection| connection.peer).unwrap_or_default(),
        )
    }

    /// Adds the id of a volume to the event, and the name, segment and parameters of the volume if they are cached.
    fn add_volume_data(&self, event: &mut Event, id: &str) {
        if let Some(cached) = self.shared.volumes.lock().get(id).cloned() {
            event.segment = cached.segment;
            event.parameters = cached.parameters;
            event.volume_name = cached.name;
        }
        event.volume_id = Some(id.to_owned());
    }

    fn cache_volume(&self, event: &Event, id: &str, segment: Option<Segment>) {
        let mut volumes = self.shared.volumes.lock();
        if volumes.len() < VOLUMES_MAX {
            let cached = CachedVolume {
                name: event.volume_name.clone(),
                segment,
                parameters: event.parameters.clone(),
            };
            volumes.insert(id.to_owned(), cached);
        }
    }

    /// Waits for the driver's response to a call, reports the response to the observer, and returns it.
    async fn forward<M>(
        &self,
        event: Event,
        call: impl Future<Output = Result<Response<M>, Status>>,
        summarize: impl FnOnce(&mut Event, &M) -> Answer,
    ) -> Result<Response<M>, Status> {
        let mut flight = CallInFlight::start(self.shared.clone(), event);
        let result = call.await;
        flight.event.outcome = match &result {
            Ok(response) => Ok(summarize(&mut flight.event, response.get_ref())),
            Err(status) => Err(status.into()),
        };
        drop(flight);
        // gRPC metadata of the driver's response is not forwarded.
        match result {
            Ok(response) => Ok(Response::new(response.into_inner())),
            Err(status) => Err(Status::new(status.code(), status.message())),
        }
    }

    /// Forwards a CSI call. The event reports only success, none of the values in the response.
    async fn forward_without_values<M>(
        &self,
        event: Event,
        call: impl Future<Output = Result<Response<M>, Status>>,
    ) -> Result<Response<M>, Status> {
        self.forward(event, call, |_, _| Answer::Done).await
    }
}

/// A CSI call in flight. Dropping the value, after the response or when the client cancels the call, reports the call to the observer.
struct CallInFlight {
    shared: Arc<Shared>,
    event: Event,
    started: Instant,
}

impl CallInFlight {
    fn start(shared: Arc<Shared>, event: Event) -> CallInFlight {
        shared.in_flight.send_modify(|calls| *calls += 1);
        CallInFlight {
            shared,
            event,
            started: Instant::now(),
        }
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        if let Some(observer) = &self.shared.observer {
            observer.observe(Event {
                elapsed: self.started.elapsed(),
                ..self.event.clone()
            });
        }
        self.shared.in_flight.send_modify(|calls| *calls -= 1);
    }
}

#[tonic::async_trait]
impl Identity for Forwarder {
    async fn get_plugin_info(
        &self,
        request: Request<GetPluginInfoRequest>,
    ) -> Result<Response<GetPluginInfoResponse>, Status> {
        let event = self.event(Method::GetPluginInfo, &request);
        self.forward_without_values(event, self.identity().get_plugin_info(request.into_inner()))
            .await
    }

    async fn get_plugin_capabilities(
        &self,
        request: Request<GetPluginCapabilitiesRequest>,
    ) -> Result<Response<GetPluginCapabilitiesResponse>, Status> {
        let event = self.event(Method::GetPluginCapabilities, &request);
        self.forward_without_values(
            event,
            self.identity().get_plugin_capabilities(request.into_inner()),
        )
        .await
    }

    async fn probe(&self, request: Request<ProbeRequest>) -> Result<Response<ProbeResponse>, Status> {
        let event = self.event(Method::Probe, &request);
        self.forward_without_values(event, self.identity().probe(request.into_inner()))
            .await
    }
}

#[tonic::async_trait]
impl Controller for Forwarder {
    async fn create_volume(
        &self,
        request: Request<CreateVolumeRequest>,
    ) -> Result<Response<CreateVolumeResponse>, Status> {
        let mut event = self.event(Method::CreateVolume, &request);
        let request = request.into_inner();
        add_create_arguments(&mut event, &request);
        event.violations = violations::incomplete_capabilities(&request.volume_capabilities);
        let summarize = |event: &mut Event, response: &CreateVolumeResponse| {
            let volume = response.volume.clone().unwrap_or_default();
            let segment = volume
                .accessible_topology
                .first()
                .map(|term| term.segments.clone());
            self.cache_volume(event, &volume.volume_id, segment.clone());
            event.volume_id = Some(volume.volume_id);
            // In CSI, size 0 means "unknown"; the event then contains the requested size.
            let bytes = match volume.capacity_bytes {
                0 => event.required_bytes.unwrap_or_default(),
                known => known,
            };
            Answer::Volume { bytes, segment }
        };
        self.forward(event, self.controller().create_volume(request), summarize)
            .await
    }

    async fn delete_volume(
        &self,
        request: Request<DeleteVolumeRequest>,
    ) -> Result<Response<DeleteVolumeResponse>, Status> {
        let mut event = self.event(Method::DeleteVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut event, &request.volume_id);
        event.secrets = request.secrets.keys().cloned().collect();
        let id = request.volume_id.clone();
        let summarize = |_: &mut Event, _: &DeleteVolumeResponse| {
            self.shared.volumes.lock().remove(&id);
            Answer::Done
        };
        self.forward(event, self.controller().delete_volume(request), summarize)
            .await
    }

    async fn validate_volume_capabilities(
        &self,
        request: Request<ValidateVolumeCapabilitiesRequest>,
    ) -> Result<Response<ValidateVolumeCapabilitiesResponse>, Status> {
        let mut event = self.event(Method::ValidateVolumeCapabilities, &request);
        let request = request.into_inner();
        event.volume_id = Some(request.volume_id.clone());
        event.capabilities = violations::format_capabilities(&request.volume_capabilities);
        self.forward_without_values(event, self.controller().validate_volume_capabilities(request))
            .await
    }

    async fn list_volumes(
        &self,
        request: Request<ListVolumesRequest>,
    ) -> Result<Response<ListVolumesResponse>, Status> {
        let event = self.event(Method::ListVolumes, &request);
        self.forward_without_values(event, self.controller().list_volumes(request.into_inner()))
            .await
    }

    async fn get_capacity(
        &self,
        request: Request<GetCapacityRequest>,
    ) -> Result<Response<GetCapacityResponse>, Status> {
        let mut event = self.event(Method::GetCapacity, &request);
        let request = request.into_inner();
        event.segment = request
            .accessible_topology
            .as_ref()
            .map(|topology| topology.segments.clone());
        event.parameters = request.parameters.clone();
        event.capabilities = violations::format_capabilities(&request.volume_capabilities);
        event.violations = violations::incomplete_capabilities(&request.volume_capabilities);
        let summarize = |_: &mut Event, response: &GetCapacityResponse| Answer::Capacity {
            available: response.available_capacity,
            maximum: response.maximum_volume_size,
            minimum: response.minimum_volume_size,
        };
        self.forward(event, self.controller().get_capacity(request), summarize)
            .await
    }

    async fn controller_get_capabilities(
        &self,
        request: Request<ControllerGetCapabilitiesRequest>,
    ) -> Result<Response<ControllerGetCapabilitiesResponse>, Status> {
        let event = self.event(Method::ControllerGetCapabilities, &request);
        self.forward_without_values(
            event,
            self.controller()
                .controller_get_capabilities(request.into_inner()),
        )
        .await
    }

    async fn controller_expand_volume(
        &self,
        request: Request<ControllerExpandVolumeRequest>,
    ) -> Result<Response<ControllerExpandVolumeResponse>, Status> {
        let mut event = self.event(Method::ControllerExpandVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut event, &request.volume_id);
        event.required_bytes = request.capacity_range.map(|range| range.required_bytes);
        event.limit_bytes = request.capacity_range.map(|range| range.limit_bytes);
        let summarize = |event: &mut Event, response: &ControllerExpandVolumeResponse| Answer::Volume {
            bytes: response.capacity_bytes,
            segment: event.segment.clone(),
        };
        self.forward(
            event,
            self.controller().controller_expand_volume(request),
            summarize,
        )
        .await
    }

    async fn controller_modify_volume(
        &self,
        request: Request<ControllerModifyVolumeRequest>,
    ) -> Result<Response<ControllerModifyVolumeResponse>, Status> {
        let mut event = self.event(Method::ControllerModifyVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut event, &request.volume_id);
        event.mutable_parameters = request.mutable_parameters.clone();
        event.secrets = request.secrets.keys().cloned().collect();
        self.forward_without_values(event, self.controller().controller_modify_volume(request))
            .await
    }
}

#[tonic::async_trait]
impl Node for Forwarder {
    async fn node_publish_volume(
        &self,
        request: Request<NodePublishVolumeRequest>,
    ) -> Result<Response<NodePublishVolumeResponse>, Status> {
        let mut event = self.event(Method::NodePublishVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut event, &request.volume_id);
        event.target_path = Some(request.target_path.clone());
        self.forward_without_values(event, self.node().node_publish_volume(request))
            .await
    }

    async fn node_unpublish_volume(
        &self,
        request: Request<NodeUnpublishVolumeRequest>,
    ) -> Result<Response<NodeUnpublishVolumeResponse>, Status> {
        let mut event = self.event(Method::NodeUnpublishVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut event, &request.volume_id);
        event.target_path = Some(request.target_path.clone());
        self.forward_without_values(event, self.node().node_unpublish_volume(request))
            .await
    }

    async fn node_get_capabilities(
        &self,
        request: Request<NodeGetCapabilitiesRequest>,
    ) -> Result<Response<NodeGetCapabilitiesResponse>, Status> {
        let event = self.event(Method::NodeGetCapabilities, &request);
        self.forward_without_values(event, self.node().node_get_capabilities(request.into_inner()))
            .await
    }

    async fn node_get_info(
        &self,
        request: Request<NodeGetInfoRequest>,
    ) -> Result<Response<NodeGetInfoResponse>, Status> {
        let event = self.event(Method::NodeGetInfo, &request);
        self.forward_without_values(event, self.node().node_get_info(request.into_inner()))
            .await
    }
}
