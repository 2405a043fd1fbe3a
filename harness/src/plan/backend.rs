//! Converts the pools of a case into storage of the fake driver. Does not know how volumes use storage.

use fake_csi::{Access, Device, Storage};

use crate::scenario::{AccessSpec, Bytes, DeviceSpec, PoolSpec};

pub(super) fn storage(spec: &PoolSpec) -> Result<Storage, String> {
    match (&spec.capacity, &spec.filesystem, &spec.devices) {
        (Some(capacity), None, None) => linear_storage(spec, capacity),
        _ if spec.maximum.is_some() => {
            Err("`maximum` is allowed only with `capacity`; add `capacity`, or remove `maximum`".to_owned())
        }
        _ if spec.overcommit.is_some() => Err(
            "`overcommit` is allowed only with `capacity`; add `capacity`, or remove `overcommit`".to_owned(),
        ),
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

fn linear_storage(spec: &PoolSpec, capacity: &Bytes) -> Result<Storage, String> {
    let total = match spec.overcommit {
        None => capacity.count(),
        // An f64 represents sizes below 2^53 bytes exactly. The cast drops fractions of a byte.
        Some(factor) if (1.0..=1000.0).contains(&factor) => (capacity.count() as f64 * factor) as u64,
        Some(factor) => {
            return Err(format!(
                "`overcommit` is a number from 1 to 1000, not {factor}; to reduce the storage, lower `capacity`"
            ));
        }
    };
    if let Some(largest) = spec.maximum.as_ref().filter(|largest| largest.count() > total) {
        return Err(format!(
            "`maximum` {largest} is more than `capacity` {capacity}{}, and no volume is larger than its pool; lower it, or use a fault to \
             report it: `driverFault: {{method: GetCapacity, available: {capacity}, maximum: {largest}}}`",
            if spec.overcommit.is_some() {
                " times `overcommit`"
            } else {
                ""
            }
        ));
    }
    Ok(Storage::Linear {
        capacity: total,
        largest: spec.maximum.as_ref().map(Bytes::count),
    })
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

pub(super) fn format_pool(spec: &PoolSpec) -> String {
    match (&spec.capacity, &spec.filesystem, &spec.devices) {
        (Some(capacity), ..) => {
            let largest = spec.maximum.as_ref();
            let details = [
                largest.map(|largest| format!("largest volume {largest}")),
                spec.overcommit.map(|factor| format!("overcommit {factor}")),
            ];
            match details.into_iter().flatten().collect::<Vec<_>>() {
                list if list.is_empty() => capacity.to_string(),
                list => format!("{capacity} ({})", list.join(", ")),
            }
        }
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
