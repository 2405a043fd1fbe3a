//! The rules for names of resources, such as `cpu`: which are Kubernetes' own, and where each may stand.

use crate::machinery::faults::Faults;
use crate::machinery::names;

/// Resources that containers ask for.
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Resources that a pod as a whole can ask for, beside huge pages.
const OF_WHOLE_POD: [&str; 2] = ["cpu", "memory"];
/// What quotas of pods can be about, besides their number.
const OF_PODS: [&str; 6] = [
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "requests.cpu",
    "requests.memory",
];
/// Numbers of objects.
const COUNTS: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// What else there can be a quota of.
const OF_STORAGE: [&str; 4] = [
    "ephemeral-storage",
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
    "requests.storage",
];

/// A resource by a name that has a domain, or is Kubernetes' own.
pub(super) fn any(name: &str, field: &str, faults: &mut Faults) {
    let complaints = names::qualified(name);
    if complaints.is_empty() && !name.contains('/') && !is_standard(name) {
        faults.invalid(field, name, "must be a standard resource type or fully qualified");
    }
    faults.complain(field, name, complaints);
}

/// A resource that containers can ask for.
pub(super) fn of_container(name: &str, field: &str, faults: &mut Faults) {
    any(name, field, faults);
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !is_huge_pages(name) {
            faults.invalid(field, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        faults.invalid(field, name, "doesn't follow extended resource name standard");
    }
}

fn is_standard(name: &str) -> bool {
    name == "storage" || is_counted_by_quotas(name)
}

/// Whether quotas know how much of a resource objects use.
pub(super) fn is_counted_by_quotas(name: &str) -> bool {
    let is_huge = is_huge_pages(name) || name.starts_with("requests.hugepages-");
    is_huge || OF_PODS.contains(&name) || COUNTS.contains(&name) || OF_STORAGE.contains(&name)
}

/// Whether a pod as a whole can ask for a resource.
pub(super) fn is_of_whole_pod(name: &str) -> bool {
    OF_WHOLE_POD.contains(&name) || is_huge_pages(name)
}

/// Whether a resource is memory in pages of one size.
fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether more of a resource may be promised than there is.
pub(super) fn is_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Whether a resource is Kubernetes' own.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a resource is somebody else's, and there can be a quota of requests for it.
pub(super) fn is_extended(name: &str) -> bool {
    let is_request = name.starts_with("requests.");
    !is_native(name) && !is_request && names::qualified(&format!("requests.{name}")).is_empty()
}
