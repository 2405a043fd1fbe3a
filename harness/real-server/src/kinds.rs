//! Owns the list of resources that cases and programs under test can write. Objects of these resources are watched, and deleted after a
//! run.
//!
//! Writes to other resources are rejected, so that nothing remains on the server after a run.

use capacity_types::capacity_api::RESOURCE;

/// A resource whose objects are watched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// API group; empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
}

impl Kind {
    /// API path of the collection of the resource in all namespaces.
    pub(crate) fn path(self) -> String {
        match self.group {
            "" => format!("/api/{}/{}", self.version, self.resource),
            group => format!("/apis/{group}/{}/{}", self.version, self.resource),
        }
    }
}

const fn kind(group: &'static str, version: &'static str, resource: &'static str) -> Kind {
    Kind {
        group,
        version,
        resource,
    }
}

const STORAGE: &str = "storage.k8s.io";

/// All watched resources in the order in which they are cleaned up. Namespaces are last, because they contain other objects.
pub(crate) const KINDS: [Kind; 29] = [
    kind("", "v1", "pods"),
    kind("apps", "v1", "deployments"),
    kind("apps", "v1", "statefulsets"),
    kind("apps", "v1", "daemonsets"),
    kind("apps", "v1", "replicasets"),
    kind("", "v1", "replicationcontrollers"),
    kind("batch", "v1", "jobs"),
    kind("resource.k8s.io", "v1", "resourceclaims"),
    kind("resource.k8s.io", "v1", "resourceclaimtemplates"),
    kind("resource.k8s.io", "v1", "resourceslices"),
    kind("resource.k8s.io", "v1", "deviceclasses"),
    kind(STORAGE, "v1", RESOURCE),
    kind(STORAGE, "v1", "volumeattachments"),
    kind("", "v1", "persistentvolumeclaims"),
    kind("", "v1", "persistentvolumes"),
    kind(STORAGE, "v1", "volumeattributesclasses"),
    kind(STORAGE, "v1", "storageclasses"),
    kind(STORAGE, "v1", "csidrivers"),
    kind(STORAGE, "v1", "csinodes"),
    kind("", "v1", "nodes"),
    kind("policy", "v1", "poddisruptionbudgets"),
    kind("", "v1", "services"),
    kind("", "v1", "configmaps"),
    kind("", "v1", "secrets"),
    kind("coordination.k8s.io", "v1", "leases"),
    kind("scheduling.k8s.io", "v1", "priorityclasses"),
    kind("", "v1", "serviceaccounts"),
    kind("", "v1", "events"),
    kind("", "v1", "namespaces"),
];

/// Review resources: the server answers a created review, but never stores the object.
const REVIEWS: [&str; 6] = [
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectreviews",
    "selfsubjectrulesreviews",
    "subjectaccessreviews",
    "tokenreviews",
];

pub(crate) const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
pub(crate) const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

pub(crate) fn watched_kind(resource: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.resource == resource)
}

pub(crate) fn is_review(resource: &str) -> bool {
    REVIEWS.contains(&resource)
}
