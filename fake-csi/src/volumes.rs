//! Owns the volumes of the driver: how CreateVolume and DeleteVolume change the backend, and when a repeated call is idempotent. Knows the
//! error codes of the CSI specification, but not the gRPC messages.

use std::collections::BTreeMap;

use tonic::Status;

use crate::{
    Segment, Snapshot, VolumeInfo,
    backend::{Allocation, Backend, Location, Requirements, Shortage, SizeRange},
};

/// Maximum number of volumes, regardless of the pools.
const VOLUMES_MAX: usize = 100_000;

/// Size in bytes of a volume if the request has no `capacity_range`: 1 GiB.
const DEFAULT_BYTES: u64 = 1 << 30;

/// Validated arguments of CreateVolume.
#[derive(Clone, Debug)]
pub(crate) struct CreateArguments {
    pub(crate) name: String,
    pub(crate) size: SizeRange,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) requisite: Vec<Segment>,
    pub(crate) preferred: Vec<Segment>,
    /// Id of the source volume or snapshot of the new volume.
    pub(crate) source: Option<String>,
    /// The snapshot that `source` names; `None` if the source is a volume.
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) mutable_parameters: BTreeMap<String, String>,
}

/// A volume capability, reduced to the fields that can conflict with another capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capability {
    pub(crate) block: bool,
    /// Number of the access mode in the CSI specification.
    pub(crate) mode: i32,
}

/// All volumes of the driver by id.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    by_id: BTreeMap<String, StoredVolume>,
    ids_by_name: BTreeMap<String, String>,
    created: u64,
}

#[derive(Debug)]
struct StoredVolume {
    info: VolumeInfo,
    location: Location,
    capabilities: Vec<Capability>,
}

impl Volumes {
    pub(crate) fn all(&self) -> impl Iterator<Item = &VolumeInfo> {
        self.by_id.values().map(|stored| &stored.info)
    }

    pub(crate) fn get(&self, id: &str) -> Option<&VolumeInfo> {
        self.by_id.get(id).map(|stored| &stored.info)
    }

    /// The volumes from the one with this id on, or all if the id is empty. `None` if no volume has this id.
    pub(crate) fn starting_at(&self, id: &str) -> Option<impl Iterator<Item = &VolumeInfo>> {
        let known = id.is_empty() || self.by_id.contains_key(id);
        known.then(|| self.by_id.range(id.to_owned()..).map(|(_, stored)| &stored.info))
    }

    /// Whether the volume was created with all these capabilities.
    pub(crate) fn has_capabilities(&self, id: &str, capabilities: &[Capability]) -> bool {
        self.by_id.get(id).is_some_and(|stored| {
            capabilities
                .iter()
                .all(|capability| stored.capabilities.contains(capability))
        })
    }

    /// Returns the existing volume with the requested name, or creates one.
    pub(crate) fn create(
        &mut self,
        backend: &mut Backend,
        mut arguments: CreateArguments,
    ) -> Result<&VolumeInfo, Status> {
        if arguments.size.is_required_above_limit() {
            return Err(Status::out_of_range(
                "capacity_range.required_bytes is above limit_bytes; lower required_bytes",
            ));
        }
        if let Some(id) = self.ids_by_name.get(&arguments.name) {
            return self.return_existing(id, &arguments);
        }
        if let Some(id) = &arguments.source {
            let least = match &arguments.snapshot {
                Some(snapshot) => snapshot.bytes,
                None => self.get(id).ok_or_else(|| volume_not_found(id))?.bytes,
            };
            if arguments.size.limit.is_some_and(|limit| limit < least) {
                return Err(Status::out_of_range(format!(
                    "limit_bytes is below the {least} bytes of the source {id:?}; raise it"
                )));
            }
            arguments.size.required = arguments.size.required.max(Some(least));
        }
        if self.by_id.len() >= VOLUMES_MAX {
            return Err(Status::resource_exhausted(format!(
                "the maximum of {VOLUMES_MAX} volumes is reached; delete some"
            )));
        }
        let Allocation {
            location,
            bytes,
            raw_bytes,
        } = arguments.allocate(backend)?;
        self.created += 1;
        let id = format!("volume-{:08}", self.created);
        let CreateArguments {
            name,
            parameters,
            capabilities,
            source,
            mutable_parameters,
            ..
        } = arguments;
        self.ids_by_name.insert(name.clone(), id.clone());
        let info = VolumeInfo {
            id: id.clone(),
            name,
            bytes,
            raw_bytes,
            segment: location.segment().clone(),
            device: location.device().cloned(),
            parameters,
            mutable_parameters,
            source,
        };
        let stored = StoredVolume {
            info,
            location,
            capabilities,
        };
        Ok(&self.by_id.entry(id).or_insert(stored).info)
    }

    /// Deletes the volume and releases its storage. Succeeds if the volume does not exist.
    pub(crate) fn delete(&mut self, backend: &mut Backend, id: &str) {
        if let Some(StoredVolume { info, location, .. }) = self.by_id.remove(id) {
            self.ids_by_name.remove(&info.name);
            backend.release(&location, info.raw_bytes);
        }
    }

    /// Sets mutable parameters of a volume. Parameters that are not in `parameters` do not change.
    pub(crate) fn modify(&mut self, id: &str, parameters: BTreeMap<String, String>) -> Result<(), Status> {
        let stored = self.by_id.get_mut(id).ok_or_else(|| volume_not_found(id))?;
        stored.info.mutable_parameters.extend(parameters);
        Ok(())
    }

    /// Expands a volume to at least the required size. A volume that is already large enough does not change.
    pub(crate) fn expand(
        &mut self,
        backend: &mut Backend,
        id: &str,
        size: SizeRange,
    ) -> Result<&VolumeInfo, Status> {
        let stored = self.by_id.get_mut(id).ok_or_else(|| volume_not_found(id))?;
        let info = &mut stored.info;
        let bytes = size.required.unwrap_or(0).max(info.bytes);
        if size.is_required_above_limit() || size.limit.is_some_and(|limit| bytes > limit) {
            return Err(Status::out_of_range(format!(
                "volume {id:?} would have {bytes} bytes, which is above limit_bytes; raise limit_bytes"
            )));
        }
        if bytes > info.bytes {
            let blocks = access_types(&stored.capabilities);
            let requirements = Requirements {
                parameters: &info.parameters,
                blocks: &blocks,
            };
            let grown = backend.expand(&stored.location, requirements, info.raw_bytes, bytes);
            info.raw_bytes = grown.map_err(|shortage| match shortage {
                Shortage::Exhausted => Status::resource_exhausted(format!(
                    "not enough free storage to expand volume {id:?} to {bytes} bytes; free some, or request less"
                )),
                Shortage::OutOfRange => Status::out_of_range(format!(
                    "volume {id:?} cannot have {bytes} bytes, even if its whole pool or device were free; request less"
                )),
            })?;
            info.bytes = bytes;
        }
        Ok(info)
    }

    fn return_existing(&self, id: &str, arguments: &CreateArguments) -> Result<&VolumeInfo, Status> {
        let stored = self.by_id.get(id).ok_or_else(|| {
            Status::internal("internal error: a volume name is recorded, but its volume does not exist")
        })?;
        match arguments.incompatible_property(stored) {
            None => Ok(&stored.info),
            Some(what) => Err(Status::already_exists(format!(
                "volume {:?} exists with incompatible {what}; use another name",
                arguments.name
            ))),
        }
    }
}

impl CreateArguments {
    /// Allocates storage from the preferred segments in order, then from the requisite segments. Without requisite segments, any other
    /// segment is used last. A volume from a snapshot is created in the snapshot's segment; requested segments outside of it are skipped.
    fn allocate(&self, backend: &mut Backend) -> Result<Allocation, Status> {
        let blocks = access_types(&self.capabilities);
        let requirements = Requirements {
            parameters: &self.parameters,
            blocks: &blocks,
        };
        let source = self.snapshot.as_ref().map(|snapshot| &snapshot.segment);
        let terms = self.preferred.iter().chain(&self.requisite);
        let terms = terms.filter(|term| source.is_none_or(|source| crate::contains(term, source)));
        let terms = terms.map(|term| source.or(Some(term)));
        let anywhere = self.requisite.is_empty().then_some(source);
        let mut worst = Shortage::Exhausted;
        for term in terms.chain(anywhere) {
            match backend.allocate(term, requirements, self.size, DEFAULT_BYTES) {
                Ok(allocation) => return Ok(allocation),
                Err(shortage) => worst = worst.max(shortage),
            }
        }
        let SizeRange { required, limit } = self.size;
        Err(match worst {
            Shortage::Exhausted => {
                let bytes = required.unwrap_or(DEFAULT_BYTES.min(limit.unwrap_or(DEFAULT_BYTES)));
                Status::resource_exhausted(format!(
                    "no pool in the requested topology has {bytes} bytes for a volume; free some, or request less"
                ))
            }
            Shortage::OutOfRange => Status::out_of_range(format!(
                "limit_bytes, {} bytes, is below the minimum volume size; raise it",
                limit.unwrap_or(0)
            )),
        })
    }

    /// The first property, such as its size, in which an existing volume is incompatible with the request: the cause of ALREADY_EXISTS.
    fn incompatible_property(&self, stored: &StoredVolume) -> Option<&'static str> {
        let reachable = |term: &Segment| crate::contains(term, &stored.info.segment);
        let checks = [
            ("size", self.size.contains(stored.info.bytes)),
            ("parameters", self.parameters == stored.info.parameters),
            ("source", self.source == stored.info.source),
            (
                "capabilities",
                self.capabilities
                    .iter()
                    .all(|capability| stored.capabilities.contains(capability)),
            ),
            (
                "topology",
                self.requisite.is_empty() || self.requisite.iter().any(reachable),
            ),
        ];
        checks.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
    }
}

/// For each capability, whether its access type is block.
pub(crate) fn access_types(capabilities: &[Capability]) -> Vec<bool> {
    capabilities.iter().map(|capability| capability.block).collect()
}

pub(crate) fn volume_not_found(id: &str) -> Status {
    Status::not_found(format!("there is no volume {id:?}"))
}
