//! The QoS class of pods, computed from requests and limits.

use crate::machinery::json::list;
use crate::machinery::quantity::Quantity;
use serde_json::Value;
use std::cmp::Ordering;

/// The resources that determine the QoS class.
const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// The sums of requests and of limits over all containers, by resource.
#[derive(Default)]
struct Sums {
    requests: [Option<Quantity>; 2],
    limits: [Option<Quantity>; 2],
    /// Whether every container has limits for both CPU and memory.
    is_limited: bool,
}

impl Sums {
    fn add(&mut self, resources: &Value) {
        for (at, name) in RESOURCES.into_iter().enumerate() {
            add(&mut self.requests[at], &resources["requests"][name]);
            self.is_limited &= add(&mut self.limits[at], &resources["limits"][name]);
        }
    }
}

/// Adds a quantity to a sum. Returns false if the quantity is unset or not above zero.
fn add(sum: &mut Option<Quantity>, amount: &Value) -> bool {
    let amount = amount.as_str().and_then(|text| text.parse::<Quantity>().ok());
    let Some(amount) = amount.filter(|amount| !amount.is_zero() && !amount.is_negative()) else {
        return false;
    };
    *sum = Some(match sum {
        Some(sum) => sum.plus(&amount),
        None => amount,
    });
    true
}

/// The QoS class of a pod: computed from its pod-level resources if set, otherwise from its containers.
pub(super) fn qos_class(spec: &Value) -> &'static str {
    let mut sums = Sums {
        is_limited: true,
        ..Sums::default()
    };
    let own = &spec["resources"];
    if own.is_null() {
        let lists = ["containers", "initContainers"].into_iter();
        let containers = lists.flat_map(|name| list(&spec[name]));
        containers.for_each(|container| sums.add(&container["resources"]));
    } else {
        let has_limits = own["limits"].as_object().is_some_and(|limits| !limits.is_empty());
        sums.add(own);
        sums.is_limited |= !has_limits;
    }
    let pairs = || sums.requests.iter().zip(&sums.limits);
    let is_same = |(request, limit): (&Option<Quantity>, &Option<Quantity>)| match (request, limit) {
        (Some(request), Some(limit)) => request.partial_cmp(limit) == Some(Ordering::Equal),
        (None, None) => true,
        _ => false,
    };
    match () {
        () if pairs().all(|(request, limit)| request.is_none() && limit.is_none()) => "BestEffort",
        () if sums.is_limited && pairs().all(is_same) => "Guaranteed",
        () => "Burstable",
    }
}
