//! Names of PersistentVolumeClaims that the Kubernetes API defines.

/// Name of the PersistentVolumeClaim of a generic ephemeral volume: `<pod name>-<volume name>` (Kubernetes API, `EphemeralVolumeSource`).
pub fn ephemeral_claim_name(pod: &str, volume: &str) -> String {
    format!("{pod}-{volume}")
}

/// Name of a pod's generic ephemeral volume with this index, in the pods that cases create.
pub fn ephemeral_volume(index: usize) -> String {
    format!("scratch-{index}")
}
