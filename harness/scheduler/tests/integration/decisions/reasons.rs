//! Reasons for which nodes are rejected, in kube-scheduler's wording.

pub(crate) const SPACE: &str = "node(s) did not have enough free storage";
pub(crate) const BIND: &str = "node(s) didn't find available persistent volumes to bind";
pub(crate) const AFFINITY: &str = "node(s) didn't match PersistentVolume's node affinity";
pub(crate) const MISSING: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
