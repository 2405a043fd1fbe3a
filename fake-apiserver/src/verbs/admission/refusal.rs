//! How admission refuses an object.

use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use serde_json::Value;

/// The refusal of an object, by its name or by what its name is made of.
pub(super) fn forbidden(kind: &Kind, object: &Value, why: &str) -> Status {
    let name = match metadata::text(object, "name") {
        "" => metadata::text(object, "generateName"),
        name => name,
    };
    Status::forbidden(kind.resource(), name, why)
}
