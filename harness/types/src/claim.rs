//! Names of claims that the API defines.

/// The name of the PersistentVolumeClaim of a generic ephemeral volume: the names of the pod and of the volume with a dash between them
/// (Kubernetes API, `EphemeralVolumeSource`).
pub fn ephemeral_claim_name(pod: &str, volume: &str) -> String {
    format!("{pod}-{volume}")
}

/// The name that case files give the generic ephemeral volume of this index in a pod.
pub fn ephemeral_volume(index: usize) -> String {
    format!("scratch-{index}")
}
