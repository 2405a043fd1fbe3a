//! The CSI Controller service: converts messages and fills in events. The backend computes capacity.

use std::collections::BTreeMap;

use csi_proto::v1::{
    ControllerExpandVolumeRequest, ControllerExpandVolumeResponse, ControllerGetCapabilitiesRequest,
    ControllerGetCapabilitiesResponse, ControllerModifyVolumeRequest, ControllerModifyVolumeResponse,
    ControllerServiceCapability, CreateVolumeRequest, CreateVolumeResponse, DeleteVolumeRequest,
    DeleteVolumeResponse, GetCapacityRequest, GetCapacityResponse, ListVolumesRequest, ListVolumesResponse,
    Topology, ValidateVolumeCapabilitiesRequest, ValidateVolumeCapabilitiesResponse, Volume,
    VolumeContentSource, controller_server::Controller, controller_service_capability,
    controller_service_capability::rpc, list_volumes_response, validate_volume_capabilities_response,
    volume_content_source,
};
use tonic::{Code, Request, Response, Status};

use crate::{
    Answer, DriverSpec, Effect, Event, Method, Segment, VolumeInfo, arguments,
    backend::Requirements,
    call::{Endpoint, HandlerResult},
    state::DriverState,
    violations,
    volumes::{access_types, volume_not_found},
};

#[tonic::async_trait]
impl Controller for Endpoint {
    async fn create_volume(
        &self,
        request: Request<CreateVolumeRequest>,
    ) -> Result<Response<CreateVolumeResponse>, Status> {
        let mut call = self.begin_call(Method::CreateVolume, &request);
        let mut request = request.into_inner();
        add_create_arguments(&mut call.event, &request);
        let spec = &self.shared.spec;
        call.event.violations = violations::create_volume(spec, &mut request);
        self.serve(call, |state, event, effect| {
            create(spec, state, event, request, effect)
        })
        .await
    }

    async fn delete_volume(
        &self,
        request: Request<DeleteVolumeRequest>,
    ) -> Result<Response<DeleteVolumeResponse>, Status> {
        let mut call = self.begin_call(Method::DeleteVolume, &request);
        let DeleteVolumeRequest {
            volume_id: id,
            secrets,
        } = request.into_inner();
        self.add_volume_data(&mut call.event, &id);
        call.event.secrets = secrets.into_keys().collect();
        self.serve(call, |state, _, _| {
            let id = arguments::required_string("volume_id", id)?;
            if state.published.is_published(&id) {
                return Err(Status::failed_precondition(format!(
                    "volume {id:?} is published; unpublish it first"
                )));
            }
            state.volumes.delete(&mut state.backend, &id);
            Ok((DeleteVolumeResponse {}, Answer::Done))
        })
        .await
    }

    async fn controller_expand_volume(
        &self,
        request: Request<ControllerExpandVolumeRequest>,
    ) -> Result<Response<ControllerExpandVolumeResponse>, Status> {
        let mut call = self.begin_call(Method::ControllerExpandVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut call.event, &request.volume_id);
        call.event.required_bytes = request.capacity_range.map(|range| range.required_bytes);
        call.event.limit_bytes = request.capacity_range.map(|range| range.limit_bytes);
        let advertised = self.shared.spec.has_expansion();
        self.serve(call, |state, _, _| match advertised {
            true => expand(state, request),
            false => Err(Status::unimplemented(
                "this driver does not support ControllerExpandVolume",
            )),
        })
        .await
    }

    async fn controller_modify_volume(
        &self,
        request: Request<ControllerModifyVolumeRequest>,
    ) -> Result<Response<ControllerModifyVolumeResponse>, Status> {
        let mut call = self.begin_call(Method::ControllerModifyVolume, &request);
        let request = request.into_inner();
        self.add_volume_data(&mut call.event, &request.volume_id);
        call.event.mutable_parameters = request.mutable_parameters.clone();
        call.event.secrets = request.secrets.into_keys().collect();
        let spec = &self.shared.spec;
        self.serve(call, |state, _, _| {
            if !spec.has_mutable_parameters() {
                return Err(Status::unimplemented(
                    "this driver does not support ControllerModifyVolume",
                ));
            }
            let id = arguments::required_string("volume_id", request.volume_id)?;
            let parameters = arguments::mutable_parameters(spec, request.mutable_parameters)?;
            state.volumes.modify(&id, parameters)?;
            Ok((ControllerModifyVolumeResponse {}, Answer::Done))
        })
        .await
    }

    async fn validate_volume_capabilities(
        &self,
        request: Request<ValidateVolumeCapabilitiesRequest>,
    ) -> Result<Response<ValidateVolumeCapabilitiesResponse>, Status> {
        let mut call = self.begin_call(Method::ValidateVolumeCapabilities, &request);
        let request = request.into_inner();
        call.event.volume_id = Some(request.volume_id.clone());
        call.event.capabilities = violations::format_capabilities(&request.volume_capabilities);
        self.serve(call, |state, _, _| Ok((validate(state, request)?, Answer::Done)))
            .await
    }

    async fn list_volumes(
        &self,
        request: Request<ListVolumesRequest>,
    ) -> Result<Response<ListVolumesResponse>, Status> {
        let call = self.begin_call(Method::ListVolumes, &request);
        let request = request.into_inner();
        let spec = &self.shared.spec;
        self.serve(call, |state, _, _| {
            Ok((list(spec, state, &request)?, Answer::Done))
        })
        .await
    }

    async fn get_capacity(
        &self,
        request: Request<GetCapacityRequest>,
    ) -> Result<Response<GetCapacityResponse>, Status> {
        let mut call = self.begin_call(Method::GetCapacity, &request);
        let mut request = request.into_inner();
        call.event.segment = request
            .accessible_topology
            .as_ref()
            .map(|topology| topology.segments.clone());
        call.event.parameters = request.parameters.clone();
        call.event.capabilities = violations::format_capabilities(&request.volume_capabilities);
        let spec = &self.shared.spec;
        call.event.violations = violations::get_capacity(spec, &mut request);
        self.serve(call, move |state, _, effect| match effect {
            Some(Effect::Capacity {
                available,
                maximum,
                minimum,
            }) => Ok(capacity(available, maximum, minimum)),
            _ if spec.advertise_get_capacity => pool_capacity(spec, state, request),
            _ => Err(Status::unimplemented("this driver does not support GetCapacity")),
        })
        .await
    }

    async fn controller_get_capabilities(
        &self,
        request: Request<ControllerGetCapabilitiesRequest>,
    ) -> Result<Response<ControllerGetCapabilitiesResponse>, Status> {
        let spec = &self.shared.spec;
        let calls = [
            (rpc::Type::CreateDeleteVolume, true),
            (rpc::Type::ListVolumes, true),
            (rpc::Type::GetCapacity, spec.advertise_get_capacity),
            (rpc::Type::ExpandVolume, spec.has_expansion()),
            (rpc::Type::CreateDeleteSnapshot, !spec.snapshots.is_empty()),
            (rpc::Type::CloneVolume, spec.has_clones()),
            (rpc::Type::ModifyVolume, spec.has_mutable_parameters()),
        ];
        let response = ControllerGetCapabilitiesResponse {
            capabilities: calls
                .into_iter()
                .filter(|(_, advertised)| *advertised)
                .map(|(call, _)| capability(call))
                .collect(),
        };
        self.respond(
            self.begin_call(Method::ControllerGetCapabilities, &request),
            response,
        )
        .await
    }
}

impl Endpoint {
    /// Adds the volume's id to the event. If the driver has the volume, also adds its name, segment and parameters.
    pub(crate) fn add_volume_data(&self, event: &mut Event, id: &str) {
        if let Some(volume) = self.shared.state.lock().volumes.get(id) {
            event.segment = Some(volume.segment.clone());
            event.parameters = volume.parameters.clone();
            event.volume_name = Some(volume.name.clone());
        }
        event.volume_id = Some(id.to_owned());
    }
}

pub(crate) fn add_create_arguments(call: &mut Event, request: &CreateVolumeRequest) {
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
    call.capabilities = violations::format_capabilities(&request.volume_capabilities);
    call.required_bytes = request.capacity_range.map(|range| range.required_bytes);
    call.limit_bytes = request.capacity_range.map(|range| range.limit_bytes);
    call.volume_name = Some(request.name.clone());
    call.secrets = request.secrets.keys().cloned().collect();
    call.mutable_parameters = request.mutable_parameters.clone();
    call.source = request.volume_content_source.as_ref().and_then(source_id);
}

fn source_id(source: &VolumeContentSource) -> Option<String> {
    match source.r#type.as_ref()? {
        volume_content_source::Type::Volume(volume) => Some(volume.volume_id.clone()),
        volume_content_source::Type::Snapshot(snapshot) => Some(snapshot.snapshot_id.clone()),
    }
}

fn create(
    spec: &DriverSpec,
    state: &mut DriverState,
    event: &mut Event,
    request: CreateVolumeRequest,
    effect: Option<Effect>,
) -> HandlerResult<CreateVolumeResponse> {
    let arguments = arguments::create_volume(spec, request)?;
    if let Some(capability) = arguments
        .capabilities
        .iter()
        .find(|capability| !spec.supports_access_mode(capability.mode))
    {
        return Err(Status::invalid_argument(format!(
            "CSI {} has no access mode {}; use an access mode of that version",
            spec.version, capability.mode
        )));
    }
    let created = state.volumes.create(&mut state.backend, arguments);
    let created = created.map_err(|status| match status.code() {
        Code::ResourceExhausted => Status::new(spec.exhausted, status.message()),
        _ => status,
    })?;
    let mut volume = volume_message(spec, created);
    if !spec.reports_volume_size {
        volume.capacity_bytes = 0;
    }
    if let Some(Effect::Volume { bytes, topology }) = effect {
        volume.capacity_bytes = bytes.unwrap_or(volume.capacity_bytes);
        if let Some(topology) = topology {
            volume.accessible_topology = topology
                .into_iter()
                .map(|segments| Topology { segments })
                .collect();
        }
    }
    event.volume_id = Some(volume.volume_id.clone());
    let segment = volume
        .accessible_topology
        .first()
        .map(|term| term.segments.clone());
    let summary = Answer::Volume {
        bytes: volume.capacity_bytes,
        segment,
    };
    Ok((CreateVolumeResponse { volume: Some(volume) }, summary))
}

fn expand(
    state: &mut DriverState,
    request: ControllerExpandVolumeRequest,
) -> HandlerResult<ControllerExpandVolumeResponse> {
    let id = arguments::required_string("volume_id", request.volume_id)?;
    if request.capacity_range.is_none() {
        return Err(Status::invalid_argument("capacity_range is missing; set it"));
    }
    let size = arguments::read_size_range(request.capacity_range)?;
    let volume = state.volumes.get(&id).ok_or_else(|| volume_not_found(&id))?;
    let segment = Some(volume.segment.clone()).filter(|segment| !segment.is_empty());
    let expanded = state.volumes.expand(&mut state.backend, &id, size)?;
    let bytes = to_csi_size(expanded.bytes);
    let message = ControllerExpandVolumeResponse {
        capacity_bytes: bytes,
        node_expansion_required: false,
    };
    Ok((message, Answer::Volume { bytes, segment }))
}

fn pool_capacity(
    spec: &DriverSpec,
    state: &mut DriverState,
    request: GetCapacityRequest,
) -> HandlerResult<GetCapacityResponse> {
    let segment = arguments::segment(request.accessible_topology)?;
    let parameters = arguments::check_map_size("parameters", request.parameters)?;
    // Without volume capabilities all access types count; external-provisioner sends none.
    let blocks: Vec<bool> = match request.volume_capabilities.as_slice() {
        [] => Vec::new(),
        given => access_types(&arguments::read_capabilities(given)?),
    };
    let requirements = Requirements {
        parameters: &parameters,
        blocks: &blocks,
    };
    let values = state
        .backend
        .capacity(segment.as_ref(), requirements, spec.reports_reserved);
    let missing = spec.capacity_variation / 2 * (state.get_capacity_calls % 3);
    state.get_capacity_calls += 1;
    let less = |bytes: u64| to_csi_size(bytes.saturating_sub(missing));
    let has_sizes = spec.version.has_volume_sizes();
    Ok(capacity(
        less(values.available),
        values.maximum.filter(|_| has_sizes).map(less),
        values.minimum.filter(|_| has_sizes).map(to_csi_size),
    ))
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
    state: &DriverState,
    request: ValidateVolumeCapabilitiesRequest,
) -> Result<ValidateVolumeCapabilitiesResponse, Status> {
    let id = arguments::required_string("volume_id", request.volume_id)?;
    let capabilities = arguments::read_capabilities(&request.volume_capabilities)?;
    let volume = state.volumes.get(&id).ok_or_else(|| volume_not_found(&id))?;
    let parameters_hold = request.parameters.is_empty() || request.parameters == volume.parameters;
    if !parameters_hold || !state.volumes.has_capabilities(&id, &capabilities) {
        let message = "the volume was created with other capabilities or parameters".to_owned();
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

fn list(
    spec: &DriverSpec,
    state: &DriverState,
    request: &ListVolumesRequest,
) -> Result<ListVolumesResponse, Status> {
    let max_entries = usize::try_from(request.max_entries)
        .map_err(|_| Status::invalid_argument("max_entries is negative; give at least 0"))?;
    let mut volumes = state
        .volumes
        .starting_at(&request.starting_token)
        .ok_or_else(|| Status::aborted("starting_token is unknown; list again without starting_token"))?;
    let page = if max_entries == 0 { usize::MAX } else { max_entries };
    let entry = |volume: &VolumeInfo| list_volumes_response::Entry {
        volume: Some(volume_message(spec, volume)),
        status: None,
    };
    let entries = volumes.by_ref().take(page).map(entry).collect();
    Ok(ListVolumesResponse {
        entries,
        next_token: volumes.next().map(|volume| volume.id.clone()).unwrap_or_default(),
    })
}

fn volume_message(spec: &DriverSpec, volume: &VolumeInfo) -> Volume {
    let everywhere = volume.segment.is_empty();
    let source = volume
        .source
        .clone()
        .map(|id| match spec.snapshots.contains_key(&id) {
            true => volume_content_source::Type::Snapshot(volume_content_source::SnapshotSource {
                snapshot_id: id,
            }),
            false => {
                volume_content_source::Type::Volume(volume_content_source::VolumeSource { volume_id: id })
            }
        });
    let source = source.map(|source| VolumeContentSource { r#type: Some(source) });
    Volume {
        capacity_bytes: to_csi_size(volume.bytes),
        volume_id: volume.id.clone(),
        accessible_topology: if everywhere {
            Vec::new()
        } else {
            vec![Topology {
                segments: volume.segment.clone(),
            }]
        },
        content_source: source,
        ..Default::default()
    }
}

pub(crate) fn capability(call: rpc::Type) -> ControllerServiceCapability {
    let rpc = controller_service_capability::Rpc { r#type: call.into() };
    ControllerServiceCapability {
        r#type: Some(controller_service_capability::Type::Rpc(rpc)),
    }
}

/// Converts a size to the int64 of CSI messages; larger sizes become the maximum int64.
fn to_csi_size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
