//! Serialized form of reservations. Does not know whether they can be satisfied.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Size;
use crate::{Reservation, ReservedDevice, ReservedVolume, Segment};

/// Serialized form of a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservationSpec {
    /// Name of the reservation.
    pub name: String,
    /// Segments on which devices are to be reserved.
    pub segments: Vec<Segment>,
    /// The volumes of one pod.
    pub volumes: Vec<ReservedVolumeSpec>,
}

/// Serialized form of a future volume.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservedVolumeSpec {
    /// Parameters that identify the volume: its CreateVolume request contains all of them, such as `csi.storage.k8s.io/pvc/name`.
    pub holder: BTreeMap<String, String>,
    /// Minimum size of the volume.
    pub size: Size,
    /// Parameters of the volume's storage class.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// A reserved device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservedDeviceText {
    /// Name of the reservation.
    pub reservation: String,
    /// Segment of the pool that contains the device.
    pub segment: Segment,
    /// Name of the device.
    pub device: String,
    /// Parameters that identify the volume for which the device is reserved.
    pub holder: BTreeMap<String, String>,
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

impl From<ReservedDevice> for ReservedDeviceText {
    fn from(device: ReservedDevice) -> ReservedDeviceText {
        ReservedDeviceText {
            reservation: device.reservation,
            segment: device.segment,
            device: device.device,
            holder: device.holder,
        }
    }
}
