//! Reservations as text. Does not know whether they can be met.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Size;
use crate::{Held, Reservation, ReservedVolume, Segment};

/// What a text says about a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservationSpec {
    /// Its name.
    pub name: String,
    /// The segments on which devices are to be held.
    pub segments: Vec<Segment>,
    /// The volumes of one pod.
    pub volumes: Vec<ReservedVolumeSpec>,
}

/// What a text says about a volume to come.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservedVolumeSpec {
    /// Parameters that CreateVolume will carry, such as `csi.storage.k8s.io/pvc/name`.
    pub holder: BTreeMap<String, String>,
    /// Its least size.
    pub size: Size,
    /// Parameters of its class.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// A device that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldText {
    /// Name of the reservation.
    pub reservation: String,
    /// Segment of the pool.
    pub segment: Segment,
    /// The device.
    pub device: String,
    /// What tells the volume that it is held for.
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

impl From<Held> for HeldText {
    fn from(held: Held) -> HeldText {
        HeldText {
            reservation: held.reservation,
            segment: held.segment,
            device: held.device,
            holder: held.holder,
        }
    }
}
