//! The volumes of the driver: what CreateVolume and DeleteVolume do to the books, and when a repeated call is the same call. Knows the
//! error codes of the CSI specification, but not the messages.

use std::collections::BTreeMap;

use tonic::Status;

use crate::{Segment, VolumeInfo, backend::Backend};

/// Beyond so many volumes the driver refuses more, whatever the pools hold.
const VOLUMES_MAX: usize = 100_000;

/// Size of a volume for which the caller names neither bound: 1 GiB.
const DEFAULT_BYTES: u64 = 1 << 30;

/// A wanted volume, after its arguments were checked.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) size: SizeRange,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) usages: Vec<Usage>,
    pub(crate) requisite: Vec<Segment>,
    pub(crate) preferred: Vec<Segment>,
}

/// Bounds for the size in bytes; `None` is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SizeRange {
    pub(crate) required: Option<u64>,
    pub(crate) limit: Option<u64>,
}

/// A way of using a volume, as far as two ways can contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) block: bool,
    /// Number of the access mode.
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

    /// The ways in which a volume was created to be used.
    pub(crate) fn allows(&self, id: &str, usages: &[Usage]) -> bool {
        self.by_id
            .get(id)
            .is_some_and(|kept| usages.iter().all(|usage| kept.usages.contains(usage)))
    }

    /// Finds the volume of that name, or makes it.
    pub(crate) fn create(&mut self, backend: &mut Backend, wanted: Wanted) -> Result<&VolumeInfo, Status> {
        let bytes = wanted.size.choose()?;
        if let Some(id) = self.ids.get(&wanted.name) {
            return self.existing(id, &wanted);
        }
        if self.by_id.len() >= VOLUMES_MAX {
            return Err(Status::resource_exhausted(format!(
                "{VOLUMES_MAX} volumes are the most; delete some"
            )));
        }
        let (segment, raw_bytes) = wanted.place(backend, bytes)?;
        self.created += 1;
        let id = format!("volume-{:08}", self.created);
        let Wanted {
            name,
            parameters,
            usages,
            ..
        } = wanted;
        self.ids.insert(name.clone(), id.clone());
        let info = VolumeInfo {
            id: id.clone(),
            name,
            bytes,
            raw_bytes,
            segment,
            parameters,
        };
        Ok(&self.by_id.entry(id).or_insert(Kept { info, usages }).info)
    }

    /// Forgets the volume and gives its storage back; an unknown one is deleted already.
    pub(crate) fn delete(&mut self, backend: &mut Backend, id: &str) {
        if let Some(Kept { info, .. }) = self.by_id.remove(id) {
            self.ids.remove(&info.name);
            backend.give_back(&info.segment, info.raw_bytes);
        }
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
    /// The pool and raw bytes for it: preferred segments in their order, then the requisite ones in theirs, then, only if none is
    /// requisite, any.
    fn place(&self, backend: &mut Backend, bytes: u64) -> Result<(Segment, u64), Status> {
        let terms = self.preferred.iter().chain(&self.requisite).map(Some);
        let anywhere = self.requisite.is_empty().then_some(None);
        terms
            .chain(anywhere)
            .find_map(|term| backend.take(term, &self.parameters, bytes))
            .ok_or_else(|| {
                Status::resource_exhausted(format!(
                    "no pool in the wanted topology has room for a volume of {bytes} bytes"
                ))
            })
    }

    /// The first thing in which an existing volume does not serve this request.
    fn difference(&self, kept: &Kept) -> Option<&'static str> {
        let reachable = |term: &Segment| crate::contains(term, &kept.info.segment);
        let checks = [
            ("size", self.size.contains(kept.info.bytes)),
            ("parameters", self.parameters == kept.info.parameters),
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

impl SizeRange {
    fn contains(self, bytes: u64) -> bool {
        self.required.is_none_or(|required| bytes >= required)
            && self.limit.is_none_or(|limit| bytes <= limit)
    }

    /// The size to make: exactly what is required, so that the books are easy to follow.
    fn choose(self) -> Result<u64, Status> {
        let bytes = self
            .required
            .unwrap_or_else(|| DEFAULT_BYTES.min(self.limit.unwrap_or(DEFAULT_BYTES)));
        if self.contains(bytes) {
            return Ok(bytes);
        }
        Err(Status::out_of_range(
            "capacity_range.required_bytes is above limit_bytes; lower it",
        ))
    }
}
