//! PersistentVolumeClaim names that the API defines.

/// Name of the PersistentVolumeClaim of a generic ephemeral volume: `<pod name>-<volume name>` (Kubernetes API, `EphemeralVolumeSource`).
pub fn ephemeral_claim_name(pod: &str, volume: &str) -> String {
    format!("{pod}-{volume}")
}

/// Name that cases give to the generic ephemeral volume with this index in a pod.
pub fn ephemeral_volume(index: usize) -> String {
    format!("scratch-{index}")
}
