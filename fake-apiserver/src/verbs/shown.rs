//! The form in which the readers of a resource know an object.

use crate::kinds::Kind;
use crate::object::Object;
use std::sync::Arc;

/// An object in the form of the resource through which it is read.
pub(crate) fn shown(kind: &Kind, object: Arc<Object>) -> Arc<Object> {
    match kind.view {
        None => object,
        Some(view) => object.like((view.from_stored)(&object.value), object.revision),
    }
}
