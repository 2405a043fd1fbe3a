//! The capacity check as kube-scheduler implements it: for each node and PVC, scans all objects, and builds the selector of each object
//! that is large enough.
//!
//! The scheduler does not use this check. Tests compare the results of the index with it, and the benchmark compares the times. So it
//! shares neither the index nor compiled selectors with the filter.

use capacity_types::{ByteConversion, Labels, Quantity};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use crate::objects::label_selector;

/// The first of these objects that has the class, is large enough, and is accessible from a node with these labels (kube-scheduler:
/// `hasEnoughCapacity`). Objects with an invalid quantity or selector are skipped.
pub fn first_sufficient<'a>(
    objects: &'a [CSIStorageCapacity],
    class: &str,
    request: Quantity,
    labels: &Labels,
) -> Option<&'a CSIStorageCapacity> {
    let request = request.bytes(ByteConversion::Exact);
    objects.iter().find(|object| {
        object.storage_class_name == class && is_sufficient(object, request) && is_accessible(object, labels)
    })
}

fn is_sufficient(object: &CSIStorageCapacity, request: i128) -> bool {
    let limit = object.maximum_volume_size.as_ref().or(object.capacity.as_ref());
    limit.and_then(bytes).is_some_and(|limit| limit >= request)
}

fn bytes(quantity: &ApiQuantity) -> Option<i128> {
    let quantity: Quantity = quantity.0.parse().ok()?;
    Some(quantity.bytes(ByteConversion::Exact))
}

fn is_accessible(object: &CSIStorageCapacity, labels: &Labels) -> bool {
    let compiled = object.node_topology.as_ref().map(label_selector);
    compiled.is_some_and(|selector| selector.is_ok_and(|selector| selector.matches(labels)))
}
