//! References to objects by plural resource name.

use fake_apiserver::ResourceRef;

/// Reference to one object. An unknown resource is assumed to be in the core group; the server then rejects the request.
pub(super) fn object_ref(resource: &str, namespace: Option<&str>, name: &str) -> ResourceRef {
    let known = ResourceRef::by_plural(resource).map(|(collection, _)| collection);
    let collection = known.unwrap_or_else(|| ResourceRef::core(resource));
    match namespace {
        Some(namespace) => collection.namespace(namespace).name(name),
        None => collection.name(name),
    }
}
