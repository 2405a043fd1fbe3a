//! Which API group a resource of the story is in, so that the rest of the cluster can speak of plural names alone.

use fake_apiserver::ResourceRef;

/// Resources outside the core group that the harness writes.
const GROUPS: [(&str, &str); 4] = [
    ("storageclasses", "storage.k8s.io"),
    ("csinodes", "storage.k8s.io"),
    ("csidrivers", "storage.k8s.io"),
    ("csistoragecapacities", "storage.k8s.io"),
];

/// One object.
pub(super) fn at(resource: &str, namespace: Option<&str>, name: &str) -> ResourceRef {
    let group = GROUPS
        .iter()
        .find(|(known, _)| *known == resource)
        .map_or("", |(_, group)| group);
    let collection = ResourceRef::new(group, resource);
    match namespace {
        Some(namespace) => collection.namespace(namespace).name(name),
        None => collection.name(name),
    }
}
