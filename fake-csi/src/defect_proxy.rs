//! A fault-injecting proxy before a driver: changes the CSI calls of one client, or the responses that the client receives.
//!
//! Shows the effect of client bugs without changing the client. The driver, and a recording proxy before it, receive the changed calls.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

use csi_proto::v1::{
    ControllerExpandVolumeRequest, ControllerExpandVolumeResponse, ControllerGetCapabilitiesRequest,
    ControllerGetCapabilitiesResponse, ControllerModifyVolumeRequest, ControllerModifyVolumeResponse,
    CreateVolumeRequest, CreateVolumeResponse, DeleteVolumeRequest, DeleteVolumeResponse, GetCapacityRequest,
    GetCapacityResponse, ListVolumesRequest, ListVolumesResponse, ValidateVolumeCapabilitiesRequest,
    ValidateVolumeCapabilitiesResponse, VolumeContentSource,
    controller_server::{Controller, ControllerServer},
    controller_service_capability::rpc,
    identity_server::IdentityServer,
    node_server::NodeServer,
};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::{
    Forwarder, Running, connection::RefusalReporter, controller::capability, endpoint, endpoint::Services,
};

/// A bug of a client, injected into its CSI calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "control",
    derive(serde::Deserialize),
    serde(rename_all = "camelCase")
)]
pub enum CsiDefect {
    /// Each GetCapacity call is sent this number of additional times.
    CapacityRepeated(u32),
    /// Each distinct GetCapacity request is sent once; for equal requests, the cached response is returned.
    CapacityRemembered,
    /// `maximum_volume_size` is removed from GetCapacity responses.
    MaximumOverlooked,
    /// A failed GetCapacity call returns zero.
    ErrorAsZero,
    /// A negative `available_capacity` becomes zero.
    NegativeAsZero,
    /// A GetCapacity call that fails or returns zero returns this number of bytes.
    NothingAs(i64),
    /// `available_capacity` is rounded up to a multiple of this number of bytes.
    CapacityRoundedUp(i64),
    /// GetCapacity calls are serialized: each is sent only after the response to the previous one.
    CapacityInTurn,
    /// GetCapacity calls fail without being sent until a volume was created.
    CapacityAfterVolume,
    /// GET_CAPACITY is added to the controller capabilities.
    CapacityAssumed,
    /// GET_CAPACITY is removed from the controller capabilities if CLONE_VOLUME is not advertised.
    CapacityWithClonesOnly,
    /// CreateVolume is sent without accessibility requirements.
    PlaceForgotten,
    /// `required_bytes` of CreateVolume is rounded up to a multiple of this number of bytes.
    VolumesRoundedUp(i64),
    /// CreateVolume is sent without secrets, mutable parameters and content source.
    SourcesForgotten,
    /// Each CreateVolume uses a new name.
    VolumesRenamed,
    /// DeleteVolume succeeds without being sent.
    VolumesLeft,
    /// A failed CreateVolume deletes all volumes that were created before.
    VolumesRolledBack,
    /// A lost connection to the driver is not re-established. Implemented by the channel to the driver.
    ConnectionNotRestored,
}

/// Forwards the CSI calls of one client, with injected client bugs.
#[derive(Clone)]
pub struct DefectProxy {
    forwarder: Forwarder,
    defects: Arc<[CsiDefect]>,
    /// Cached GetCapacity responses, by the debug text of the request.
    cached: Arc<Mutex<HashMap<String, GetCapacityResponse>>>,
    /// Ids of the volumes that the client created.
    created: Arc<Mutex<Vec<String>>>,
    /// Held during a GetCapacity call if [`CsiDefect::CapacityInTurn`] is set.
    get_capacity_lock: Arc<tokio::sync::Mutex<()>>,
}

impl DefectProxy {
    /// Creates a proxy for the driver behind a channel, which injects the bugs in `defects`.
    pub fn new(driver: Channel, defects: impl Into<Arc<[CsiDefect]>>) -> Self {
        DefectProxy {
            forwarder: Forwarder::new(driver, None, None),
            defects: defects.into(),
            cached: Arc::default(),
            created: Arc::default(),
            get_capacity_lock: Arc::default(),
        }
    }

    /// Serves on a new socket until the returned value is stopped or dropped.
    ///
    /// Fails if the socket cannot be bound, for example if the path has more than 107 bytes.
    pub fn listen(&self, socket: &Path) -> io::Result<Running> {
        endpoint::listen(
            socket,
            self.services(),
            RefusalReporter::default(),
            CancellationToken::new(),
        )
    }

    /// Serves like [`DefectProxy::listen`], on streams that were accepted elsewhere.
    pub fn serve<S>(&self, streams: impl Stream<Item = S> + Send + 'static) -> Running
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        endpoint::serve(
            streams,
            self.services(),
            RefusalReporter::default(),
            CancellationToken::new(),
        )
    }

    fn services(&self) -> Services {
        endpoint::server()
            .add_service(IdentityServer::new(self.forwarder.clone()))
            .add_service(ControllerServer::new(self.clone()))
            .add_service(NodeServer::new(self.forwarder.clone()))
    }

    fn has(&self, defect: CsiDefect) -> bool {
        self.defects.contains(&defect)
    }

    async fn forward_get_capacity(&self, request: GetCapacityRequest) -> Result<GetCapacityResponse, Status> {
        if self.has(CsiDefect::CapacityAfterVolume) && self.created.lock().is_empty() {
            return Err(Status::unavailable("no volume was created yet"));
        }
        let _guard = match self.has(CsiDefect::CapacityInTurn) {
            true => Some(self.get_capacity_lock.lock().await),
            false => None,
        };
        let key = format!("{request:?}");
        if let Some(response) = self.cached.lock().get(&key) {
            return Ok(*response);
        }
        let mut sent = 1;
        for defect in &*self.defects {
            if let CsiDefect::CapacityRepeated(times) = defect {
                sent += times;
            }
        }
        let mut result = Err(Status::internal("not sent"));
        for _ in 0..sent {
            result = self.forwarder.get_capacity(Request::new(request.clone())).await;
        }
        let response = result.map(Response::into_inner);
        if self.has(CsiDefect::CapacityRemembered)
            && let Ok(response) = &response
        {
            self.cached.lock().insert(key, *response);
        }
        response
    }

    fn returns_zero_for_errors(&self) -> bool {
        let mut defects = self.defects.iter();
        defects.any(|defect| matches!(defect, CsiDefect::ErrorAsZero | CsiDefect::NothingAs(_)))
    }

    /// Applies the injected bugs to a GetCapacity response.
    fn change_response(
        &self,
        result: Result<GetCapacityResponse, Status>,
    ) -> Result<GetCapacityResponse, Status> {
        let mut response = match result {
            Err(_) if self.returns_zero_for_errors() => GetCapacityResponse::default(),
            result => result?,
        };
        for defect in &*self.defects {
            match *defect {
                CsiDefect::NothingAs(bytes) if response.available_capacity == 0 => {
                    response.available_capacity = bytes;
                }
                CsiDefect::MaximumOverlooked => response.maximum_volume_size = None,
                CsiDefect::NegativeAsZero => response.available_capacity = response.available_capacity.max(0),
                CsiDefect::CapacityRoundedUp(unit) => {
                    response.available_capacity = rounded_up(response.available_capacity, unit);
                }
                _ => {}
            }
        }
        Ok(response)
    }

    /// Applies the injected bugs to a CreateVolume request. Returns the content source if it was removed.
    fn change_request(&self, request: &mut CreateVolumeRequest) -> Option<VolumeContentSource> {
        for defect in &*self.defects {
            match *defect {
                CsiDefect::VolumesRenamed => {
                    // Random, because each `RandomState` has random keys, so that names also differ after a restart of the client.
                    let random = RandomState::new().build_hasher().finish();
                    request.name = format!("{}-{random:x}", request.name);
                }
                CsiDefect::PlaceForgotten => request.accessibility_requirements = None,
                CsiDefect::VolumesRoundedUp(unit) => {
                    if let Some(range) = &mut request.capacity_range {
                        range.required_bytes = rounded_up(range.required_bytes, unit);
                    }
                }
                _ => {}
            }
        }
        if !self.has(CsiDefect::SourcesForgotten) {
            return None;
        }
        request.secrets.clear();
        request.mutable_parameters.clear();
        request.volume_content_source.take()
    }

    /// Deletes all volumes that the client created; errors of the driver are ignored.
    async fn roll_back(&self) {
        let created = std::mem::take(&mut *self.created.lock());
        for volume_id in created {
            let request = DeleteVolumeRequest {
                volume_id,
                ..Default::default()
            };
            let _ = self.forwarder.delete_volume(Request::new(request)).await;
        }
    }
}

fn rounded_up(bytes: i64, unit: i64) -> i64 {
    let missing = bytes.wrapping_neg().rem_euclid(unit);
    bytes.saturating_add(missing)
}

#[tonic::async_trait]
impl Controller for DefectProxy {
    async fn create_volume(
        &self,
        request: Request<CreateVolumeRequest>,
    ) -> Result<Response<CreateVolumeResponse>, Status> {
        let mut request = request.into_inner();
        let source = self.change_request(&mut request);
        let result = self.forwarder.create_volume(Request::new(request)).await;
        if result.is_err() && self.has(CsiDefect::VolumesRolledBack) {
            self.roll_back().await;
        }
        let mut response = result?;
        if let Some(volume) = &response.get_ref().volume {
            self.created.lock().push(volume.volume_id.clone());
        }
        // Adds the removed content source to the response, because the client verifies that the response contains it.
        if let (Some(source), Some(volume)) = (source, &mut response.get_mut().volume) {
            volume.content_source = Some(source);
        }
        Ok(response)
    }

    async fn delete_volume(
        &self,
        request: Request<DeleteVolumeRequest>,
    ) -> Result<Response<DeleteVolumeResponse>, Status> {
        match self.has(CsiDefect::VolumesLeft) {
            true => Ok(Response::new(DeleteVolumeResponse::default())),
            false => self.forwarder.delete_volume(request).await,
        }
    }

    async fn get_capacity(
        &self,
        request: Request<GetCapacityRequest>,
    ) -> Result<Response<GetCapacityResponse>, Status> {
        let result = self.forward_get_capacity(request.into_inner()).await;
        self.change_response(result).map(Response::new)
    }

    async fn controller_get_capabilities(
        &self,
        request: Request<ControllerGetCapabilitiesRequest>,
    ) -> Result<Response<ControllerGetCapabilitiesResponse>, Status> {
        let mut response = self.forwarder.controller_get_capabilities(request).await?;
        let capabilities = &mut response.get_mut().capabilities;
        let get_capacity = capability(rpc::Type::GetCapacity);
        if self.has(CsiDefect::CapacityWithClonesOnly)
            && !capabilities.contains(&capability(rpc::Type::CloneVolume))
        {
            capabilities.retain(|advertised| *advertised != get_capacity);
        }
        if self.has(CsiDefect::CapacityAssumed) {
            capabilities.push(get_capacity);
        }
        Ok(response)
    }

    async fn validate_volume_capabilities(
        &self,
        request: Request<ValidateVolumeCapabilitiesRequest>,
    ) -> Result<Response<ValidateVolumeCapabilitiesResponse>, Status> {
        self.forwarder.validate_volume_capabilities(request).await
    }

    async fn list_volumes(
        &self,
        request: Request<ListVolumesRequest>,
    ) -> Result<Response<ListVolumesResponse>, Status> {
        self.forwarder.list_volumes(request).await
    }

    async fn controller_expand_volume(
        &self,
        request: Request<ControllerExpandVolumeRequest>,
    ) -> Result<Response<ControllerExpandVolumeResponse>, Status> {
        self.forwarder.controller_expand_volume(request).await
    }

    async fn controller_modify_volume(
        &self,
        request: Request<ControllerModifyVolumeRequest>,
    ) -> Result<Response<ControllerModifyVolumeResponse>, Status> {
        self.forwarder.controller_modify_volume(request).await
    }
}
