//! Validation of resource names, such as `cpu`: which resources are standard, and which objects may contain them.

use crate::machinery::error_list::ErrorList;
use crate::machinery::names;

/// Standard resources that containers can request.
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Resources that can be set at pod level, in addition to huge pages.
const OF_WHOLE_POD: [&str; 2] = ["cpu", "memory"];
/// Resources of pods that quotas can limit, in addition to the number of pods.
const OF_PODS: [&str; 6] = [
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "requests.cpu",
    "requests.memory",
];
/// Resource names with which quotas limit the number of objects.
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
/// Names of storage resources that quotas can limit.
const OF_STORAGE: [&str; 4] = [
    "ephemeral-storage",
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
    "requests.storage",
];

/// Validates a resource name: a standard resource, or a name with a domain prefix.
pub(super) fn validate_any(name: &str, field: &str, errors: &mut ErrorList) {
    let complaints = names::qualified_name(name);
    if complaints.is_empty() && !name.contains('/') && !is_standard(name) {
        errors.invalid(field, name, "must be a standard resource type or fully qualified");
    }
    errors.invalid_all(field, name, complaints);
}

/// Validates the name of a resource that containers can request.
pub(super) fn of_container(name: &str, field: &str, errors: &mut ErrorList) {
    validate_any(name, field, errors);
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !is_huge_pages(name) {
            errors.invalid(field, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(field, name, "doesn't follow extended resource name standard");
    }
}

fn is_standard(name: &str) -> bool {
    name == "storage" || is_counted_by_quotas(name)
}

pub(super) fn is_counted_by_quotas(name: &str) -> bool {
    let is_huge = is_huge_pages(name) || name.starts_with("requests.hugepages-");
    is_huge || OF_PODS.contains(&name) || COUNTS.contains(&name) || OF_STORAGE.contains(&name)
}

/// Whether requests and limits of a resource can be set at pod level.
pub(super) fn is_of_whole_pod(name: &str) -> bool {
    OF_WHOLE_POD.contains(&name) || is_huge_pages(name)
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether the limit of a resource may exceed its request.
pub(super) fn is_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Whether a resource name has no domain or a domain of Kubernetes itself.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a resource is an extended resource. Quotas can limit only the requests of such resources.
pub(super) fn is_extended(name: &str) -> bool {
    let is_request = name.starts_with("requests.");
    !is_native(name) && !is_request && names::qualified_name(&format!("requests.{name}")).is_empty()
}
