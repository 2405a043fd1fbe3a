//! What writes to the parts of a pod have in common.

use crate::machinery::metadata;
use serde_json::Value;

/// Static pods are those of one kubelet alone.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Puts the pod back as it was, and returns what was sent. Of metadata, only the preconditions of the writer count.
pub(super) fn put_back(new: &mut Value, old: &Value) -> Value {
    let sent = std::mem::replace(new, old.clone());
    for field in ["uid", "resourceVersion", "managedFields"] {
        metadata::set(new, field, sent["metadata"].get(field).cloned());
    }
    sent
}

/// Whether a kubelet has the pod from somewhere else.
pub(super) fn is_static(pod: &Value) -> bool {
    !pod["metadata"]["annotations"][MIRROR].is_null()
}
