//! Owns the volumes of the driver: how CreateVolume and DeleteVolume change the backend, and when a repeated call is idempotent. Knows the
//! error codes of the CSI specification, but not the messages.

use std::collections::BTreeMap;

use tonic::Status;

use crate::{
    Segment, Snapshot, VolumeInfo,
    backend::{Ask, Backend, Place, Shortage, SizeRange, Taken},
};

/// Maximum number of volumes, regardless of the pools.
const VOLUMES_MAX: usize = 100_000;

/// Size of a volume if the request has no `capacity_range`: 1 GiB.
const DEFAULT_BYTES: u64 = 1 << 30;

/// Validated arguments of CreateVolume.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) size: SizeRange,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) usages: Vec<Usage>,
    pub(crate) requisite: Vec<Segment>,
    pub(crate) preferred: Vec<Segment>,
    /// Id of the source volume or snapshot.
    pub(crate) source: Option<String>,
    /// The snapshot that `source` names; `None` if the source is a volume.
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) mutable_parameters: BTreeMap<String, String>,
}

/// A volume capability, as far as two of them can conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) block: bool,
    /// CSI number of the access mode.
    pub(crate) mode: i32,
}

/// All volumes by id.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    by_id: BTreeMap<String, Kept>,
    ids: BTreeMap<String, String>,
    created: u64,
}

#[derive(Debug)]
struct Kept {
    info: VolumeInfo,
    place: Place,
    usages: Vec<Usage>,
}

impl Volumes {
    pub(crate) fn all(&self) -> impl Iterator<Item = &VolumeInfo> {
        self.by_id.values().map(|kept| &kept.info)
    }

    pub(crate) fn get(&self, id: &str) -> Option<&VolumeInfo> {
        self.by_id.get(id).map(|kept| &kept.info)
    }

    /// The volumes from this id on (from the first if empty); `None` if there is no such volume.
    pub(crate) fn starting_at(&self, id: &str) -> Option<impl Iterator<Item = &VolumeInfo>> {
        let known = id.is_empty() || self.by_id.contains_key(id);
        known.then(|| self.by_id.range(id.to_owned()..).map(|(_, kept)| &kept.info))
    }

    /// Whether the volume was created with all these capabilities.
    pub(crate) fn allows(&self, id: &str, usages: &[Usage]) -> bool {
        self.by_id
            .get(id)
            .is_some_and(|kept| usages.iter().all(|usage| kept.usages.contains(usage)))
    }

    /// Returns the volume of that name, or creates it.
    pub(crate) fn create(
        &mut self,
        backend: &mut Backend,
        mut wanted: Wanted,
    ) -> Result<&VolumeInfo, Status> {
        if wanted.size.is_crossed() {
            return Err(Status::out_of_range(
                "capacity_range.required_bytes is above limit_bytes; lower it",
            ));
        }
        if let Some(id) = self.ids.get(&wanted.name) {
            return self.existing(id, &wanted);
        }
        if let Some(id) = &wanted.source {
            let least = match &wanted.snapshot {
                Some(snapshot) => snapshot.bytes,
                None => self.get(id).ok_or_else(|| unknown(id))?.bytes,
            };
            if wanted.size.limit.is_some_and(|limit| limit < least) {
                return Err(Status::out_of_range(format!(
                    "a copy of {id:?} has {least} bytes at least, which is above limit_bytes; raise it"
                )));
            }
            wanted.size.required = wanted.size.required.max(Some(least));
        }
        if self.by_id.len() >= VOLUMES_MAX {
            return Err(Status::resource_exhausted(format!(
                "{VOLUMES_MAX} volumes are the most; delete some"
            )));
        }
        let Taken {
            place,
            bytes,
            raw_bytes,
        } = wanted.place(backend)?;
        self.created += 1;
        let id = format!("volume-{:08}", self.created);
        let Wanted {
            name,
            parameters,
            usages,
            source,
            mutable_parameters,
            ..
        } = wanted;
        self.ids.insert(name.clone(), id.clone());
        let info = VolumeInfo {
            id: id.clone(),
            name,
            bytes,
            raw_bytes,
            segment: place.segment().clone(),
            device: place.device().cloned(),
            parameters,
            mutable_parameters,
            source,
        };
        let kept = Kept { info, place, usages };
        Ok(&self.by_id.entry(id).or_insert(kept).info)
    }

    /// Deletes the volume and releases its storage; an unknown one is already deleted.
    pub(crate) fn delete(&mut self, backend: &mut Backend, id: &str) {
        if let Some(Kept { info, place, .. }) = self.by_id.remove(id) {
            self.ids.remove(&info.name);
            backend.give_back(&place, info.raw_bytes);
        }
    }

    /// Sets mutable parameters of a volume; others are unchanged.
    pub(crate) fn modify(&mut self, id: &str, parameters: BTreeMap<String, String>) -> Result<(), Status> {
        let kept = self.by_id.get_mut(id).ok_or_else(|| unknown(id))?;
        kept.info.mutable_parameters.extend(parameters);
        Ok(())
    }

    /// Expands a volume to at least the required size. It never shrinks, and a volume that is large enough is unchanged.
    pub(crate) fn expand(
        &mut self,
        backend: &mut Backend,
        id: &str,
        size: SizeRange,
    ) -> Result<&VolumeInfo, Status> {
        let kept = self.by_id.get_mut(id).ok_or_else(|| unknown(id))?;
        let info = &mut kept.info;
        let bytes = size.required.unwrap_or(0).max(info.bytes);
        if size.is_crossed() || size.limit.is_some_and(|limit| bytes > limit) {
            return Err(Status::out_of_range(format!(
                "volume {id:?} would have {bytes} bytes, which is above limit_bytes; raise it"
            )));
        }
        if bytes > info.bytes {
            let blocks: Vec<bool> = kept.usages.iter().map(|usage| usage.block).collect();
            let ask = Ask {
                parameters: &info.parameters,
                blocks: &blocks,
            };
            let grown = backend.grow(&kept.place, ask, info.raw_bytes, bytes);
            info.raw_bytes = grown.map_err(|shortage| match shortage {
                Shortage::NoRoom => Status::resource_exhausted(format!(
                    "there is no room for volume {id:?} to grow to {bytes} bytes; free some, or ask for less"
                )),
                Shortage::Range => Status::out_of_range(format!(
                    "volume {id:?} can never have {bytes} bytes where it is; ask for less"
                )),
            })?;
            info.bytes = bytes;
        }
        Ok(info)
    }

    fn existing(&self, id: &str, wanted: &Wanted) -> Result<&VolumeInfo, Status> {
        let kept = self
            .by_id
            .get(id)
            .ok_or_else(|| Status::internal("a name without its volume"))?;
        match wanted.difference(kept) {
            None => Ok(&kept.info),
            Some(what) => Err(Status::already_exists(format!(
                "volume {:?} exists with other {what}; use another name",
                wanted.name
            ))),
        }
    }
}

impl Wanted {
    /// Allocates storage: from the preferred segments in order, then from the requisite ones, then, only if there are none, from any
    /// segment. A volume from a snapshot is created in the snapshot's segment, if one of the terms contains it.
    fn place(&self, backend: &mut Backend) -> Result<Taken, Status> {
        let blocks: Vec<bool> = self.usages.iter().map(|usage| usage.block).collect();
        let ask = Ask {
            parameters: &self.parameters,
            blocks: &blocks,
        };
        let source = self.snapshot.as_ref().map(|snapshot| &snapshot.segment);
        let terms = self.preferred.iter().chain(&self.requisite);
        let terms = terms.filter(|term| source.is_none_or(|source| crate::contains(term, source)));
        let terms = terms.map(|term| source.or(Some(term)));
        let anywhere = self.requisite.is_empty().then_some(source);
        let mut worst = Shortage::NoRoom;
        for term in terms.chain(anywhere) {
            match backend.take(term, ask, self.size, DEFAULT_BYTES) {
                Ok(taken) => return Ok(taken),
                Err(shortage) => worst = worst.max(shortage),
            }
        }
        let SizeRange { required, limit } = self.size;
        Err(match worst {
            Shortage::NoRoom => {
                let bytes = required.unwrap_or(DEFAULT_BYTES.min(limit.unwrap_or(DEFAULT_BYTES)));
                Status::resource_exhausted(format!(
                    "no pool in the wanted topology has room for a volume of {bytes} bytes; free some, or ask for less"
                ))
            }
            Shortage::Range => Status::out_of_range(format!(
                "no volume can be as small as limit_bytes, {} bytes; raise it to the minimum volume size",
                limit.unwrap_or(0)
            )),
        })
    }

    /// First property of an existing volume that is incompatible with this request.
    fn difference(&self, kept: &Kept) -> Option<&'static str> {
        let reachable = |term: &Segment| crate::contains(term, &kept.info.segment);
        let checks = [
            ("size", self.size.contains(kept.info.bytes)),
            ("parameters", self.parameters == kept.info.parameters),
            ("source", self.source == kept.info.source),
            (
                "capabilities",
                self.usages.iter().all(|usage| kept.usages.contains(usage)),
            ),
            (
                "topology",
                self.requisite.is_empty() || self.requisite.iter().any(reachable),
            ),
        ];
        checks.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
    }
}

/// NOT_FOUND error for an unknown volume.
pub(crate) fn unknown(id: &str) -> Status {
    Status::not_found(format!("there is no volume {id:?}"))
}
