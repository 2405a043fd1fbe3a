//! Score of VolumeBinding: scores a feasible node by its storage (KEP-4049).
//!
//! The shape (scoring function) maps the utilisation of each class after provisioning to a score. The node's score is the mean over the
//! classes, without weights and without normalization.

use std::collections::BTreeMap;

use capacity_types::{ByteConversion, Quantity};

use crate::filter::VolumePlan;
use crate::objects::Capacity;
use crate::rules::{Pooling, Rules};
use crate::shape::Shape;

/// Requested and available bytes of one StorageClass on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassUse {
    /// Sum of the requests of the pod's PVCs, in bytes.
    pub requested: i128,
    /// Available capacity in bytes.
    pub capacity: i128,
}

/// The node's score, 0 to 100. The score is 0 if scoring is disabled (no shape) or the plan contains no volume that is scored.
pub fn score(rules: &Rules, plan: &VolumePlan) -> i64 {
    let Some(shape) = &rules.shape else {
        return 0;
    };
    let classes = class_use(rules, plan);
    if classes.is_empty() {
        return 0;
    }
    let scores = classes
        .values()
        .map(|class| class_score(rules.arithmetic, shape, *class));
    let sum: i64 = scores.sum();
    // Rounded half away from zero, as upstream.
    (sum as f64 / classes.len() as f64).round() as i64
}

/// Requested and available bytes by class name. If any PVC is bound statically on the node, only static bindings are included. PVCs whose
/// capacity was not checked are left out.
pub fn class_use<'a>(rules: &Rules, plan: &'a VolumePlan) -> BTreeMap<&'a str, ClassUse> {
    let arithmetic = rules.arithmetic;
    let mut classes: BTreeMap<&str, ClassUse> = BTreeMap::new();
    let bytes = |quantity: Option<Quantity>| quantity.map_or(0, |quantity| quantity.bytes(arithmetic));
    for binding in &plan.bindings {
        let class = classes.entry(&binding.volume.class).or_default();
        class.requested = add(arithmetic, class.requested, bytes(binding.claim.request));
        class.capacity = add(arithmetic, class.capacity, bytes(binding.volume.capacity));
    }
    let has_static_bindings = !plan.bindings.is_empty();
    if has_static_bindings || rules.static_only {
        return classes;
    }
    for provision in &plan.provisions {
        let Some(object) = &provision.capacity else {
            continue;
        };
        let class = classes.entry(&provision.claim.class).or_default();
        let request = bytes(provision.claim.request);
        class.requested = add(arithmetic, class.requested, request);
        let capacity = bytes(scored_capacity(object));
        class.capacity = match rules.pooling {
            Pooling::Once => capacity,
            Pooling::Each => add(arithmetic, class.capacity, capacity),
        };
    }
    classes
}

/// The `capacity` of an object. If unset, `maximumVolumeSize` counts instead, although it is not the free space (upstream crashes).
fn scored_capacity(object: &Capacity) -> Option<Quantity> {
    object.capacity.or(object.maximum)
}

fn class_score(arithmetic: ByteConversion, shape: &Shape, class: ClassUse) -> i64 {
    if class.capacity == 0 || class.requested > class.capacity {
        return shape.score(100);
    }
    shape.score(match arithmetic {
        ByteConversion::Exact => exact_percent(class),
        ByteConversion::Wrapping | ByteConversion::Saturating => {
            let (requested, capacity) = (class.requested as i64, class.capacity as i64);
            requested.wrapping_mul(100).wrapping_div(capacity)
        }
    })
}

/// The utilisation in percent, truncated. It is at most 100, because the request does not exceed the capacity.
fn exact_percent(class: ClassUse) -> i64 {
    let percent = class.requested.saturating_mul(100) / class.capacity;
    i64::try_from(percent).unwrap_or(0)
}

fn add(arithmetic: ByteConversion, left: i128, right: i128) -> i128 {
    match arithmetic {
        ByteConversion::Exact => left.saturating_add(right),
        ByteConversion::Wrapping | ByteConversion::Saturating => {
            (left as i64).wrapping_add(right as i64).into()
        }
    }
}
