//! What a pod says of its volumes, and a claim of its class. Knows both as the API has them, and nothing else.

use crate::ephemeral_claim_name;
use serde_json::Value;

/// The volumes of a pod.
pub fn volumes_of(pod: &Value) -> &[Value] {
    pod["spec"]["volumes"].as_array().map_or(&[], Vec::as_slice)
}

/// The name of the claim behind a volume of a pod; a generic ephemeral volume has one that is called after both.
pub fn claim_of(pod: &Value, volume: &Value) -> Option<String> {
    if let Some(name) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        return Some(name.to_owned());
    }
    let name = |object: &'_ Value| object["name"].as_str().unwrap_or_default().to_owned();
    let is_ephemeral = !volume["ephemeral"].is_null();
    is_ephemeral.then(|| ephemeral_claim_name(&name(&pod["metadata"]), &name(volume)))
}

/// The names of all claims that a pod has volumes of.
pub fn claims_of(pod: &Value) -> Vec<String> {
    let volumes = volumes_of(pod).iter();
    volumes.filter_map(|volume| claim_of(pod, volume)).collect()
}

/// Names the class of a claim or volume; older than `storageClassName`, and stronger where both are set.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The class of a claim or volume.
pub fn class_of(object: &Value) -> Option<&str> {
    let annotated = object["metadata"]["annotations"][BETA_CLASS].as_str();
    annotated.or_else(|| object["spec"]["storageClassName"].as_str())
}
