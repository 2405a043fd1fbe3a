//! Annotations in which a version keeps fields of another: they are there in an object as a whole, and no part of its metadata.

use super::autoscaler;
use super::workload::TEMPLATE_GENERATION;
use crate::machinery::json;
use serde_json::Value;

/// The metadata of an object for those who ask for nothing else.
pub(crate) fn metadata_alone(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    let is_field: fn(&str) -> bool = match json::string(object, "kind") {
        "DaemonSet" => |name| name == TEMPLATE_GENERATION,
        "HorizontalPodAutoscaler" => autoscaler::is_field,
        _ => return metadata,
    };
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|name, _| !is_field(name));
        if annotations.is_empty() {
            json::assign(&mut metadata, "annotations", Value::Null);
        }
    }
    metadata
}
