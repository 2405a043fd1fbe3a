//! What a pod says of its volumes. Knows the Pod as the API has it, and nothing else.

use serde_json::Value;

/// The volumes of a pod.
pub(crate) fn volumes_of(pod: &Value) -> &[Value] {
    pod["spec"]["volumes"].as_array().map_or(&[], Vec::as_slice)
}

/// The name of the claim behind a volume of a pod; a generic ephemeral volume has one that is called after both.
pub(crate) fn claim_of(pod: &Value, volume: &Value) -> Option<String> {
    if let Some(name) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        return Some(name.to_owned());
    }
    let text = |object: &Value| object["name"].as_str().unwrap_or_default().to_owned();
    (!volume["ephemeral"].is_null()).then(|| format!("{}-{}", text(&pod["metadata"]), text(volume)))
}

/// The names of all claims that a pod has volumes of.
pub(crate) fn claims_of(pod: &Value) -> Vec<String> {
    let volumes = volumes_of(pod).iter();
    volumes.filter_map(|volume| claim_of(pod, volume)).collect()
}
