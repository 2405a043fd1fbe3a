//! Storage, from the case's words to what the driver takes. Does not know what volumes will take of it.

use fake_csi::{Access, Device, Storage};

use crate::scenario::{AccessSpec, Bytes, DeviceSpec, PoolSpec};

/// Reads the storage of a segment.
pub(super) fn storage(spec: &PoolSpec) -> Result<Storage, String> {
    let largest = spec.largest.as_ref().map(Bytes::count);
    if let (Some(capacity), Some(largest)) = (&spec.capacity, &spec.largest)
        && largest.count() > capacity.count()
    {
        return Err(format!(
            "`largest` {largest} is more than `capacity` {capacity}, and no volume is larger than its store; lower it, or let a script \
             say so: `csi: {{method: GetCapacity, available: {capacity}, maximum: {largest}}}`"
        ));
    }
    match (&spec.capacity, &spec.filesystem, &spec.devices) {
        (Some(capacity), None, None) => Ok(Storage::Linear {
            capacity: capacity.count(),
            largest,
        }),
        _ if largest.is_some() => Err("`largest` belongs to `capacity`; remove it".to_owned()),
        (None, Some(filesystem), None) => Ok(Storage::Filesystem {
            size: filesystem.size.count(),
            used: filesystem.used.count(),
        }),
        (None, None, Some(devices)) => {
            let devices = devices.iter().map(|(name, spec)| (name.clone(), device(spec)));
            Ok(Storage::Devices(devices.collect()))
        }
        _ => Err("storage has exactly one of `capacity`, `filesystem`, `devices`".to_owned()),
    }
}

fn device(spec: &DeviceSpec) -> Device {
    Device {
        size: spec.size.count(),
        parameters: spec.parameters.clone(),
        group: spec.group,
        access: match spec.access {
            AccessSpec::Any => Access::Any,
            AccessSpec::Block => Access::Block,
            AccessSpec::Mount => Access::Mount,
        },
    }
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
