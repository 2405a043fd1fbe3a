//! The Controller service: messages in, messages out, events filled. The books decide, and only the books know sums.

use std::collections::BTreeMap;

use csi_proto::v1::{
    ControllerGetCapabilitiesRequest, ControllerGetCapabilitiesResponse, ControllerServiceCapability,
    CreateVolumeRequest, CreateVolumeResponse, DeleteVolumeRequest, DeleteVolumeResponse, GetCapacityRequest,
    GetCapacityResponse, ListVolumesRequest, ListVolumesResponse, Topology,
    ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse, Volume,
    controller_server::Controller, controller_service_capability, controller_service_capability::rpc,
    list_volumes_response, validate_volume_capabilities_response,
};
use tonic::{Request, Response, Status};

use crate::{
    Answer, Effect, Event, Method, Segment, VolumeInfo, arguments,
    call::{Answered, Endpoint},
    driver::Books,
};

#[tonic::async_trait]
impl Controller for Endpoint {
    async fn create_volume(
        &self,
        request: Request<CreateVolumeRequest>,
    ) -> Result<Response<CreateVolumeResponse>, Status> {
        let request = request.into_inner();
        let call = described(self.call(Method::CreateVolume), &request);
        self.serve(call, |books, call, _| create(books, call, request))
            .await
    }

    async fn delete_volume(
        &self,
        request: Request<DeleteVolumeRequest>,
    ) -> Result<Response<DeleteVolumeResponse>, Status> {
        let id = request.into_inner().volume_id;
        let mut call = self.call(Method::DeleteVolume);
        if let Some(volume) = self.shared.books.lock().volumes.get(&id) {
            call.segment = Some(volume.segment.clone());
            call.parameters = volume.parameters.clone();
            call.volume_name = Some(volume.name.clone());
        }
        call.volume_id = Some(id.clone());
        self.serve(call, |books, _, _| {
            books
                .volumes
                .delete(&mut books.backend, &arguments::required("volume_id", id)?);
            Ok((DeleteVolumeResponse {}, Answer::Done))
        })
        .await
    }

    async fn validate_volume_capabilities(
        &self,
        request: Request<ValidateVolumeCapabilitiesRequest>,
    ) -> Result<Response<ValidateVolumeCapabilitiesResponse>, Status> {
        let request = request.into_inner();
        let mut call = self.call(Method::ValidateVolumeCapabilities);
        call.volume_id = Some(request.volume_id.clone());
        call.volume_capabilities = request.volume_capabilities.len();
        self.serve(call, |books, _, _| Ok((validate(books, request)?, Answer::Done)))
            .await
    }

    async fn list_volumes(
        &self,
        request: Request<ListVolumesRequest>,
    ) -> Result<Response<ListVolumesResponse>, Status> {
        let request = request.into_inner();
        self.serve(self.call(Method::ListVolumes), |books, _, _| {
            Ok((list(books, &request)?, Answer::Done))
        })
        .await
    }

    async fn get_capacity(
        &self,
        request: Request<GetCapacityRequest>,
    ) -> Result<Response<GetCapacityResponse>, Status> {
        let request = request.into_inner();
        let mut call = self.call(Method::GetCapacity);
        call.segment = request
            .accessible_topology
            .as_ref()
            .map(|topology| topology.segments.clone());
        call.parameters = request.parameters.clone();
        call.volume_capabilities = request.volume_capabilities.len();
        let advertised = self.shared.spec.advertise_get_capacity;
        self.serve(call, move |books, _, effect| match effect {
            Some(Effect::Capacity {
                available,
                maximum,
                minimum,
            }) => Ok(capacity(available, maximum, minimum)),
            _ if advertised => measured(books, request),
            _ => Err(Status::unimplemented("this driver does not tell its capacity")),
        })
        .await
    }

    async fn controller_get_capabilities(
        &self,
        _request: Request<ControllerGetCapabilitiesRequest>,
    ) -> Result<Response<ControllerGetCapabilitiesResponse>, Status> {
        let advertised = self.shared.spec.advertise_get_capacity;
        let calls = [rpc::Type::CreateDeleteVolume, rpc::Type::ListVolumes]
            .into_iter()
            .chain(advertised.then_some(rpc::Type::GetCapacity));
        let answer = ControllerGetCapabilitiesResponse {
            capabilities: calls.map(capability).collect(),
        };
        self.serve(self.call(Method::ControllerGetCapabilities), |_, _, _| {
            Ok((answer, Answer::Done))
        })
        .await
    }
}

fn described(mut call: Event, request: &CreateVolumeRequest) -> Event {
    let segments = |terms: &[Topology]| {
        terms
            .iter()
            .map(|term| term.segments.clone())
            .collect::<Vec<Segment>>()
    };
    if let Some(terms) = &request.accessibility_requirements {
        call.requisite = segments(&terms.requisite);
        call.preferred = segments(&terms.preferred);
    }
    call.segment = call.preferred.first().or(call.requisite.first()).cloned();
    call.parameters = request.parameters.clone();
    call.volume_capabilities = request.volume_capabilities.len();
    call.required_bytes = request.capacity_range.map(|range| range.required_bytes);
    call.limit_bytes = request.capacity_range.map(|range| range.limit_bytes);
    call.volume_name = Some(request.name.clone());
    call
}

fn create(
    books: &mut Books,
    call: &mut Event,
    request: CreateVolumeRequest,
) -> Answered<CreateVolumeResponse> {
    let volume = message(
        books
            .volumes
            .create(&mut books.backend, arguments::wanted(request)?)?,
    );
    call.volume_id = Some(volume.volume_id.clone());
    let segment = volume
        .accessible_topology
        .first()
        .map(|term| term.segments.clone());
    let answer = Answer::Volume {
        bytes: volume.capacity_bytes,
        segment,
    };
    Ok((CreateVolumeResponse { volume: Some(volume) }, answer))
}

fn measured(books: &Books, request: GetCapacityRequest) -> Answered<GetCapacityResponse> {
    let segment = arguments::segment(request.accessible_topology)?;
    let parameters = arguments::bounded("parameters", request.parameters)?;
    let room = books.backend.room(segment.as_ref(), &parameters);
    Ok(capacity(signed(room.available), room.maximum.map(signed), None))
}

fn capacity(available: i64, maximum: Option<i64>, minimum: Option<i64>) -> (GetCapacityResponse, Answer) {
    let message = GetCapacityResponse {
        available_capacity: available,
        maximum_volume_size: maximum,
        minimum_volume_size: minimum,
    };
    (
        message,
        Answer::Capacity {
            available,
            maximum,
            minimum,
        },
    )
}

fn validate(
    books: &Books,
    request: ValidateVolumeCapabilitiesRequest,
) -> Result<ValidateVolumeCapabilitiesResponse, Status> {
    let id = arguments::required("volume_id", request.volume_id)?;
    let usages = arguments::usages(&request.volume_capabilities)?;
    let volume = books
        .volumes
        .get(&id)
        .ok_or_else(|| Status::not_found(format!("there is no volume {id:?}")))?;
    let parameters_hold = request.parameters.is_empty() || request.parameters == volume.parameters;
    if !parameters_hold || !books.volumes.allows(&id, &usages) {
        let message = "the volume was created for other uses or with other parameters".to_owned();
        return Ok(ValidateVolumeCapabilitiesResponse {
            confirmed: None,
            message,
        });
    }
    let confirmed = validate_volume_capabilities_response::Confirmed {
        volume_capabilities: request.volume_capabilities,
        parameters: request.parameters,
        volume_context: BTreeMap::new(),
        mutable_parameters: BTreeMap::new(),
    };
    Ok(ValidateVolumeCapabilitiesResponse {
        confirmed: Some(confirmed),
        message: String::new(),
    })
}

fn list(books: &Books, request: &ListVolumesRequest) -> Result<ListVolumesResponse, Status> {
    let longest = usize::try_from(request.max_entries)
        .map_err(|_| Status::invalid_argument("max_entries is negative; give at least 0"))?;
    let mut volumes = books
        .volumes
        .starting_at(&request.starting_token)
        .ok_or_else(|| Status::aborted("starting_token is unknown; start again without one"))?;
    let page = if longest == 0 { usize::MAX } else { longest };
    let entry = |volume: &VolumeInfo| list_volumes_response::Entry {
        volume: Some(message(volume)),
        status: None,
    };
    let entries = volumes.by_ref().take(page).map(entry).collect();
    Ok(ListVolumesResponse {
        entries,
        next_token: volumes.next().map(|volume| volume.id.clone()).unwrap_or_default(),
    })
}

fn message(volume: &VolumeInfo) -> Volume {
    let everywhere = volume.segment.is_empty();
    Volume {
        capacity_bytes: signed(volume.bytes),
        volume_id: volume.id.clone(),
        accessible_topology: if everywhere {
            Vec::new()
        } else {
            vec![Topology {
                segments: volume.segment.clone(),
            }]
        },
        ..Default::default()
    }
}

fn capability(call: rpc::Type) -> ControllerServiceCapability {
    let rpc = controller_service_capability::Rpc { r#type: call.into() };
    ControllerServiceCapability {
        r#type: Some(controller_service_capability::Type::Rpc(rpc)),
    }
}

/// CSI counts in signed numbers; what is beyond is as good as the largest.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
