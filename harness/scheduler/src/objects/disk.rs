//! Disks that a pod references without a PVC and that only one pod per node may use (plugin VolumeRestrictions).

use std::fmt;

use k8s_openapi::api::core::v1::Volume;

/// A disk that `spec.volumes` of a pod references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disk {
    /// `gcePersistentDisk`.
    Gce {
        /// `pdName`.
        name: String,
        /// Whether the pod mounts the disk read-only. Pods may share a disk that all of them mount read-only.
        read_only: bool,
    },
    /// `awsElasticBlockStore`, which pods never share.
    Aws {
        /// `volumeID`.
        id: String,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`.
        name: String,
        /// Whether the pod mounts the disk read-only. Pods may share a disk that all of them mount read-only.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`. Two lists with a common entry refer to the same cluster.
        monitors: Vec<String>,
        /// `pool` and `image`.
        image: (String, String),
        /// Whether the pod mounts the image read-only. Pods may share an image that all of them mount read-only.
        read_only: bool,
    },
}

impl Disk {
    /// The disk that a pod volume references. `None` for other volume types.
    pub(super) fn read(source: &Volume) -> Option<Self> {
        if let Some(disk) = &source.gce_persistent_disk {
            return Some(Self::Gce {
                name: disk.pd_name.clone(),
                read_only: disk.read_only == Some(true),
            });
        }
        if let Some(disk) = &source.aws_elastic_block_store {
            let id = disk.volume_id.clone();
            return Some(Self::Aws { id });
        }
        if let Some(disk) = &source.iscsi {
            return Some(Self::Iscsi {
                name: disk.iqn.clone(),
                read_only: disk.read_only == Some(true),
            });
        }
        let disk = source.rbd.as_ref()?;
        Some(Self::Rbd {
            monitors: disk.monitors.clone(),
            image: (
                disk.pool.clone().unwrap_or_else(|| "rbd".to_owned()),
                disk.image.clone(),
            ),
            read_only: disk.read_only == Some(true),
        })
    }

    /// Whether two pods with these disks cannot run on the same node.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Gce {
                    name: a,
                    read_only: x,
                },
                Self::Gce {
                    name: b,
                    read_only: y,
                },
            )
            | (
                Self::Iscsi {
                    name: a,
                    read_only: x,
                },
                Self::Iscsi {
                    name: b,
                    read_only: y,
                },
            ) => a == b && !(*x && *y),
            (Self::Aws { id: a }, Self::Aws { id: b }) => a == b,
            (
                Self::Rbd {
                    monitors,
                    image,
                    read_only,
                },
                Self::Rbd {
                    monitors: others,
                    image: other,
                    read_only: other_reads,
                },
            ) => {
                image == other
                    && monitors.iter().any(|monitor| others.contains(monitor))
                    && !(*read_only && *other_reads)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gce { name, .. } => write!(f, "gcePersistentDisk {name}"),
            Self::Aws { id } => write!(f, "awsElasticBlockStore {id}"),
            Self::Iscsi { name, .. } => write!(f, "iscsi {name}"),
            Self::Rbd {
                image: (pool, image), ..
            } => write!(f, "rbd {pool}/{image}"),
        }
    }
}
