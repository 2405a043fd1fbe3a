//! Helpers shared by the subresources of pods.

use crate::machinery::metadata;
use serde_json::Value;

const MIRROR: &str = "kubernetes.io/config.mirror";

/// Replaces the new pod by the old pod and returns the request body. From the metadata of the body, only uid, resourceVersion and
/// managedFields are copied to the pod.
pub(super) fn restore_old_pod(new: &mut Value, old: &Value) -> Value {
    let sent = std::mem::replace(new, old.clone());
    for field in ["uid", "resourceVersion", "managedFields"] {
        metadata::set(new, field, sent["metadata"].get(field).cloned());
    }
    sent
}

/// Whether the pod is a mirror pod, which represents a static pod of a kubelet.
pub(super) fn is_static(pod: &Value) -> bool {
    !pod["metadata"]["annotations"][MIRROR].is_null()
}
