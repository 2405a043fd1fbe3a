//! Where an object is, so that the rest of the cluster can speak of plural names alone.

use fake_apiserver::ResourceRef;

/// One object. An unknown resource is looked for in the core group, and refused there.
pub(super) fn at(resource: &str, namespace: Option<&str>, name: &str) -> ResourceRef {
    let known = ResourceRef::by_plural(resource).map(|(collection, _)| collection);
    let collection = known.unwrap_or_else(|| ResourceRef::core(resource));
    match namespace {
        Some(namespace) => collection.namespace(namespace).name(name),
        None => collection.name(name),
    }
}
