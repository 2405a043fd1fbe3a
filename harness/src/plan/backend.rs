//! Storage, from the case's words to what the driver takes. Does not know what volumes will take of it.

use fake_csi::{Access, Device, Storage};

use super::raw_bytes;
use crate::scenario::{AccessSpec, DeviceSpec, PoolSpec};

/// Reads the storage of a segment.
pub(super) fn storage(spec: &PoolSpec) -> Result<Storage, String> {
    let largest = spec.largest.as_ref().map(raw_bytes).transpose()?;
    match (&spec.capacity, &spec.filesystem, &spec.devices) {
        (Some(capacity), None, None) => Ok(Storage::Linear {
            capacity: raw_bytes(capacity)?,
            largest,
        }),
        _ if largest.is_some() => Err("`largest` belongs to `capacity`; remove it".to_owned()),
        (None, Some(filesystem), None) => Ok(Storage::Filesystem {
            size: raw_bytes(&filesystem.size)?,
            used: raw_bytes(&filesystem.used)?,
        }),
        (None, None, Some(devices)) => devices
            .iter()
            .map(|(name, spec)| Ok((name.clone(), device(spec)?)))
            .collect::<Result<_, String>>()
            .map(Storage::Devices),
        _ => Err("storage has exactly one of `capacity`, `filesystem`, `devices`".to_owned()),
    }
}

fn device(spec: &DeviceSpec) -> Result<Device, String> {
    Ok(Device {
        size: raw_bytes(&spec.size)?,
        parameters: spec.parameters.clone(),
        group: spec.group,
        access: match spec.access {
            AccessSpec::Any => Access::Any,
            AccessSpec::Block => Access::Block,
            AccessSpec::Mount => Access::Mount,
        },
    })
}

/// The storage in a few words, for the timeline.
pub(super) fn note(spec: &PoolSpec) -> String {
    match (&spec.capacity, &spec.filesystem, &spec.devices) {
        (Some(capacity), ..) => match &spec.largest {
            Some(largest) => format!("{capacity} (largest volume {largest})"),
            None => capacity.to_string(),
        },
        (_, Some(filesystem), _) => format!("{} with {} in use by others", filesystem.size, filesystem.used),
        (.., Some(devices)) => {
            let list: Vec<String> = devices
                .iter()
                .map(|(name, spec)| format!("{name} {}", spec.size))
                .collect();
            list.join(", ")
        }
        _ => "nothing".to_owned(),
    }
}
