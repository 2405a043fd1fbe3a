//! Serialized form of device reservations. Does not know whether free devices suffice for a reservation.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Size;
use crate::{Reservation, ReservedVolume, Segment};

/// Serialized form of a reservation of devices for the volumes of one pod.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservationSpec {
    /// Name of the reservation, unique among the active reservations.
    pub name: String,
    /// Topology segments on which devices are to be reserved.
    pub segments: Vec<Segment>,
    /// The future volumes of one pod.
    pub volumes: Vec<ReservedVolumeSpec>,
}

/// Serialized form of a future volume for which devices are reserved.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservedVolumeSpec {
    /// Parameters that identify the future volume: its CreateVolume request contains all of them, such as `csi.storage.k8s.io/pvc/name`.
    pub holder: BTreeMap<String, String>,
    /// Minimum size of the future volume.
    pub size: Size,
    /// Parameters of the future volume's StorageClass.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

impl From<ReservationSpec> for Reservation {
    fn from(text: ReservationSpec) -> Reservation {
        let volume = |volume: ReservedVolumeSpec| ReservedVolume {
            holder: volume.holder,
            bytes: volume.size.0,
            parameters: volume.parameters,
        };
        Reservation {
            name: text.name,
            segments: text.segments,
            volumes: text.volumes.into_iter().map(volume).collect(),
        }
    }
}
