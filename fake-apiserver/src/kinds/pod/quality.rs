//! How well a pod is treated where resources run short.

use crate::machinery::json::list;
use crate::machinery::quantity::Quantity;
use serde_json::Value;
use std::cmp::Ordering;

/// What decides about it.
const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// What a pod asks for and may have at most, of each resource.
#[derive(Default)]
struct Sums {
    requests: [Option<Quantity>; 2],
    limits: [Option<Quantity>; 2],
    /// Each part has limits of all.
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

/// Adds an amount; whether there is one.
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

/// The class of a pod: by its own resources, or else by those of its containers.
pub(super) fn of(spec: &Value) -> &'static str {
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
