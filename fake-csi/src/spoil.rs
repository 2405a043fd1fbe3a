//! A socket before a driver that spoils the traffic of one caller: what the caller asks, or what it is answered.
//!
//! Shows what happens when a caller makes a mistake, without any change to the caller. The driver behind it, and whoever records its
//! calls, see only what is passed on. Knows no reason for a mistake.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

use csi_proto::v1::{
    ControllerExpandVolumeRequest, ControllerExpandVolumeResponse, ControllerGetCapabilitiesRequest,
    ControllerGetCapabilitiesResponse, ControllerModifyVolumeRequest, ControllerModifyVolumeResponse,
    ControllerServiceCapability, CreateVolumeRequest, CreateVolumeResponse, DeleteVolumeRequest,
    DeleteVolumeResponse, GetCapacityRequest, GetCapacityResponse, ListVolumesRequest, ListVolumesResponse,
    ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse,
    controller_server::{Controller, ControllerServer},
    controller_service_capability::{self, rpc},
    identity_server::IdentityServer,
    node_server::NodeServer,
};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, server::Router};
use tonic::{Request, Response, Status};

use crate::{Forwarder, Running, endpoint};

/// One mistake of a caller in its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "control",
    derive(serde::Deserialize),
    serde(rename_all = "camelCase")
)]
pub enum Spoil {
    /// Each GetCapacity is sent that many times more.
    CapacityRepeated(u32),
    /// The same GetCapacity is sent once, and its answer counts for ever.
    CapacityRemembered,
    /// `maximum_volume_size` in an answer of GetCapacity is overlooked.
    MaximumOverlooked,
    /// A GetCapacity that fails counts as an answer of zero.
    ErrorAsZero,
    /// A negative `available_capacity` counts as zero.
    NegativeAsZero,
    /// `available_capacity` is rounded up to a multiple of that many bytes.
    CapacityRoundedUp(i64),
    /// A driver without GET_CAPACITY is taken for one with it.
    CapacityAssumed,
    /// CreateVolume is sent without secrets, mutable parameters and content source.
    SourcesForgotten,
    /// Each CreateVolume has a new name.
    VolumesRenamed,
    /// DeleteVolume is not sent, and counts as answered.
    VolumesLeft,
    /// A connection to the driver that is lost is not made again. It is the channel to the driver that shows it.
    ConnectionNotRestored,
}

/// Passes the calls of one caller on, with mistakes.
#[derive(Clone)]
pub struct Spoiler {
    forwarder: Forwarder,
    spoils: Arc<[Spoil]>,
    /// Answers of GetCapacity by the request, written out.
    remembered: Arc<Mutex<HashMap<String, GetCapacityResponse>>>,
}

impl Spoiler {
    /// Before the driver at the other end of a channel.
    pub fn new(driver: Channel, spoils: impl Into<Arc<[Spoil]>>) -> Self {
        Spoiler {
            forwarder: Forwarder::new(driver, None, None),
            spoils: spoils.into(),
            remembered: Arc::default(),
        }
    }

    /// Serves on a new socket until the result is stopped or dropped.
    ///
    /// Fails if the socket cannot be bound, for example if the path has more than 107 bytes.
    pub fn listen(&self, socket: &Path) -> io::Result<Running> {
        endpoint::listen(socket, self.services(), CancellationToken::new())
    }

    /// Serves like [`Spoiler::listen`], on streams that something else has accepted.
    pub fn serve<S>(&self, streams: impl Stream<Item = S> + Send + 'static) -> Running
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        endpoint::serve(streams, self.services(), CancellationToken::new())
    }

    fn services(&self) -> Router {
        endpoint::server()
            .add_service(IdentityServer::new(self.forwarder.clone()))
            .add_service(ControllerServer::new(self.clone()))
            .add_service(NodeServer::new(self.forwarder.clone()))
    }

    fn has(&self, spoil: Spoil) -> bool {
        self.spoils.contains(&spoil)
    }

    async fn capacity(&self, request: GetCapacityRequest) -> Result<GetCapacityResponse, Status> {
        let key = format!("{request:?}");
        if let Some(answer) = self.remembered.lock().get(&key) {
            return Ok(*answer);
        }
        let mut sent = 1;
        for spoil in &*self.spoils {
            if let Spoil::CapacityRepeated(times) = spoil {
                sent += times;
            }
        }
        let mut answered = Err(Status::internal("not sent"));
        for _ in 0..sent {
            answered = self.forwarder.get_capacity(Request::new(request.clone())).await;
        }
        let answer = answered.map(Response::into_inner);
        if self.has(Spoil::CapacityRemembered)
            && let Ok(answer) = &answer
        {
            self.remembered.lock().insert(key, *answer);
        }
        answer
    }

    /// What the caller makes of an answer of GetCapacity.
    fn misread(&self, answered: Result<GetCapacityResponse, Status>) -> Result<GetCapacityResponse, Status> {
        let mut answer = match answered {
            Err(_) if self.has(Spoil::ErrorAsZero) => GetCapacityResponse::default(),
            answered => answered?,
        };
        for spoil in &*self.spoils {
            match *spoil {
                Spoil::MaximumOverlooked => answer.maximum_volume_size = None,
                Spoil::NegativeAsZero => answer.available_capacity = answer.available_capacity.max(0),
                Spoil::CapacityRoundedUp(unit) => {
                    let missing = answer.available_capacity.wrapping_neg().rem_euclid(unit);
                    answer.available_capacity = answer.available_capacity.saturating_add(missing);
                }
                _ => {}
            }
        }
        Ok(answer)
    }
}

#[tonic::async_trait]
impl Controller for Spoiler {
    async fn create_volume(
        &self,
        request: Request<CreateVolumeRequest>,
    ) -> Result<Response<CreateVolumeResponse>, Status> {
        let mut request = request.into_inner();
        if self.has(Spoil::VolumesRenamed) {
            // The hasher's keys are random, also after the caller has started again.
            let random = RandomState::new().build_hasher().finish();
            request.name = format!("{}-{random:x}", request.name);
        }
        let source = match self.has(Spoil::SourcesForgotten) {
            true => {
                request.secrets.clear();
                request.mutable_parameters.clear();
                request.volume_content_source.take()
            }
            false => None,
        };
        let mut answer = self.forwarder.create_volume(Request::new(request)).await?;
        // The caller does not notice.
        if let (Some(source), Some(volume)) = (source, &mut answer.get_mut().volume) {
            volume.content_source = Some(source);
        }
        Ok(answer)
    }

    async fn delete_volume(
        &self,
        request: Request<DeleteVolumeRequest>,
    ) -> Result<Response<DeleteVolumeResponse>, Status> {
        match self.has(Spoil::VolumesLeft) {
            true => Ok(Response::new(DeleteVolumeResponse::default())),
            false => self.forwarder.delete_volume(request).await,
        }
    }

    async fn get_capacity(
        &self,
        request: Request<GetCapacityRequest>,
    ) -> Result<Response<GetCapacityResponse>, Status> {
        let answered = self.capacity(request.into_inner()).await;
        self.misread(answered).map(Response::new)
    }

    async fn controller_get_capabilities(
        &self,
        request: Request<ControllerGetCapabilitiesRequest>,
    ) -> Result<Response<ControllerGetCapabilitiesResponse>, Status> {
        let mut answer = self.forwarder.controller_get_capabilities(request).await?;
        if self.has(Spoil::CapacityAssumed) {
            let capacity = rpc::Type::GetCapacity.into();
            let rpc = controller_service_capability::Rpc { r#type: capacity };
            answer.get_mut().capabilities.push(ControllerServiceCapability {
                r#type: Some(controller_service_capability::Type::Rpc(rpc)),
            });
        }
        Ok(answer)
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
