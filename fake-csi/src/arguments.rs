//! Validates arguments of CSI calls against the required fields and size limits of the CSI specification.
//! Does not know pools and volumes.

use std::collections::BTreeMap;

use csi_proto::v1::{
    CapacityRange, CreateVolumeRequest, Topology, VolumeCapability, VolumeContentSource, volume_capability,
    volume_capability::{AccessType, access_mode},
    volume_content_source,
};
use tonic::Status;

use crate::{
    DriverSpec, Segment,
    backend::SizeRange,
    volumes::{Capability, CreateArguments},
};

/// Maximum length of a string field, in bytes (CSI spec, "Size Limits").
const STRING_BYTES_MAX: usize = 128;

/// Maximum length of a path, in bytes (Linux, `PATH_MAX`).
const PATH_BYTES_MAX: usize = 4096;

/// Maximum size of a map field: the sum of key and value lengths in bytes (CSI spec, "Size Limits").
const MAP_BYTES_MAX: usize = 4096;

/// Validates the arguments of CreateVolume. Invalid arguments result in `INVALID_ARGUMENT`.
pub(crate) fn create_volume(
    spec: &DriverSpec,
    request: CreateVolumeRequest,
) -> Result<CreateArguments, Status> {
    let name = required_string("name", request.name)?;
    let capabilities = read_capabilities(&request.volume_capabilities)?;
    let source = request
        .volume_content_source
        .map(|source| source_id(spec, source));
    let source = source.transpose()?;
    let snapshot = source.as_ref().and_then(|id| spec.snapshots.get(id)).cloned();
    let mutable_parameters = mutable_parameters(spec, request.mutable_parameters)?;
    let size = read_size_range(request.capacity_range)?;
    let parameters = check_map_size("parameters", request.parameters)?;
    let terms = request.accessibility_requirements.unwrap_or_default();
    let (requisite, preferred) = (segments(terms.requisite)?, segments(terms.preferred)?);
    Ok(CreateArguments {
        name,
        size,
        parameters,
        capabilities,
        requisite,
        preferred,
        source,
        snapshot,
        mutable_parameters,
    })
}

/// The id of the source volume or snapshot; an error if the driver does not support this kind of source.
fn source_id(spec: &DriverSpec, source: VolumeContentSource) -> Result<String, Status> {
    match source.r#type {
        Some(volume_content_source::Type::Volume(volume)) if spec.has_clones() => {
            required_string("volume_content_source.volume_id", volume.volume_id)
        }
        Some(volume_content_source::Type::Snapshot(snapshot)) if !spec.snapshots.is_empty() => {
            let id = required_string("volume_content_source.snapshot_id", snapshot.snapshot_id)?;
            match spec.snapshots.contains_key(&id) {
                true => Ok(id),
                false => Err(Status::not_found(format!("there is no snapshot {id:?}"))),
            }
        }
        Some(volume_content_source::Type::Snapshot(_)) => Err(Status::invalid_argument(
            "this driver does not support snapshots as volume_content_source; omit volume_content_source",
        )),
        _ => Err(Status::invalid_argument(
            "this driver does not support volume_content_source; omit the field",
        )),
    }
}

/// Validates mutable parameters. A driver without mutable parameters rejects every parameter.
pub(crate) fn mutable_parameters(
    spec: &DriverSpec,
    parameters: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Status> {
    if !parameters.is_empty() && !spec.has_mutable_parameters() {
        return Err(Status::invalid_argument(
            "this driver has no mutable parameters; omit mutable_parameters",
        ));
    }
    if let Some(unknown) = parameters
        .keys()
        .find(|name| !spec.mutable_parameters.contains(name))
    {
        let known = spec.mutable_parameters.join(", ");
        return Err(Status::invalid_argument(format!(
            "mutable parameter {unknown:?} is unknown; this driver has {known}"
        )));
    }
    check_map_size("mutable_parameters", parameters)
}

/// Checks that a required string field is set and within the size limit. `what`: the name of the field.
pub(crate) fn required_string(what: &str, text: String) -> Result<String, Status> {
    required_text(what, text, STRING_BYTES_MAX)
}

/// Checks that a required path is set and no longer than `PATH_MAX`. `what`: the name of the field.
pub(crate) fn path(what: &str, text: String) -> Result<String, Status> {
    required_text(what, text, PATH_BYTES_MAX)
}

fn required_text(what: &str, text: String, bytes_max: usize) -> Result<String, Status> {
    match text.len() {
        0 => Err(Status::invalid_argument(format!("{what} is missing; set it"))),
        length if length <= bytes_max => Ok(text),
        _ => Err(Status::invalid_argument(format!(
            "{what} is longer than {bytes_max} bytes; shorten it"
        ))),
    }
}

pub(crate) fn check_map_size(
    what: &str,
    map: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Status> {
    if map
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum::<usize>()
        > MAP_BYTES_MAX
    {
        return Err(Status::invalid_argument(format!(
            "{what} have more than {MAP_BYTES_MAX} bytes; shorten them"
        )));
    }
    Ok(map)
}

/// Validates volume capabilities, of which at least one is required.
pub(crate) fn read_capabilities(capabilities: &[VolumeCapability]) -> Result<Vec<Capability>, Status> {
    if capabilities.is_empty() {
        return Err(Status::invalid_argument(
            "volume_capabilities are missing; give at least one",
        ));
    }
    capabilities.iter().map(read_capability).collect()
}

pub(crate) fn required_capability(capability: Option<VolumeCapability>) -> Result<Capability, Status> {
    let missing = || Status::invalid_argument("volume_capability is missing; set it");
    read_capability(&capability.ok_or_else(missing)?)
}

/// Converts a topology to a segment. `None` if the topology is unset or empty: all segments match.
pub(crate) fn segment(topology: Option<Topology>) -> Result<Option<Segment>, Status> {
    let segment = check_map_size("topology segments", topology.unwrap_or_default().segments)?;
    Ok((!segment.is_empty()).then_some(segment))
}

fn segments(terms: Vec<Topology>) -> Result<Vec<Segment>, Status> {
    terms
        .into_iter()
        .map(|term| check_map_size("topology segments", term.segments))
        .collect()
}

fn read_capability(capability: &VolumeCapability) -> Result<Capability, Status> {
    let block = match &capability.access_type {
        Some(AccessType::Block(_)) => true,
        Some(AccessType::Mount(_)) => false,
        None => {
            return Err(Status::invalid_argument(
                "a volume capability has no access_type; set block or mount",
            ));
        }
    };
    match capability.access_mode {
        Some(volume_capability::AccessMode { mode }) if mode != i32::from(access_mode::Mode::Unknown) => {
            Ok(Capability { block, mode })
        }
        _ => Err(Status::invalid_argument(
            "a volume capability has no access_mode; set it",
        )),
    }
}

/// Minimum and maximum of a capacity range; both are `None` if the range is unset.
pub(crate) fn read_size_range(range: Option<CapacityRange>) -> Result<SizeRange, Status> {
    let Some(CapacityRange {
        required_bytes,
        limit_bytes,
    }) = range
    else {
        return Ok(SizeRange::default());
    };
    Ok(SizeRange {
        required: read_bound("required_bytes", required_bytes)?,
        limit: read_bound("limit_bytes", limit_bytes)?,
    })
}

/// A bound of a capacity range in bytes; 0 means unset. `what`: the name of the field.
fn read_bound(what: &str, bytes: i64) -> Result<Option<u64>, Status> {
    let bytes = u64::try_from(bytes).map_err(|_| {
        Status::invalid_argument(format!("capacity_range.{what} is negative; give at least 0"))
    })?;
    Ok((bytes > 0).then_some(bytes))
}
