//! The quota usage of single objects, and the decision which ResourceQuotas apply to an object.
//!
//! Owns the names of quota resources. For most kinds only objects are counted; `pod`, `claim`, `device` and `service` compute the usage of
//! additional quota resources. Does not know the total usage of a namespace.

mod claim;
mod device;
mod pod;
mod scopes;
mod service;

use fake_apiserver::extension::{Amounts, Kind};
use fake_apiserver::quantity::Quantity;
use serde_json::Value;

/// Computes the quota usage of objects of one kind, apart from the object count.
struct Evaluator {
    group: &'static str,
    plural: &'static str,
    /// Whether objects of the kind can use the quota resource with this name.
    tracks: fn(&str) -> bool,
    usage: fn(&Value) -> Amounts,
    /// Whether an API object (second argument) matches a quota scope (first argument).
    is_in: fn(&Value, &Value) -> bool,
    /// Whether an update (new and old object) can increase the usage.
    grows: fn(&Value, &Value) -> bool,
}

const EVALUATORS: &[Evaluator] = &[
    Evaluator {
        group: "",
        plural: "pods",
        tracks: pod::tracks,
        usage: pod::usage,
        is_in: scopes::matches_pod,
        grows: |new, old| pod::is_terminating(new) != pod::is_terminating(old),
    },
    Evaluator {
        group: "",
        plural: "persistentvolumeclaims",
        tracks: claim::tracks,
        usage: claim::usage,
        is_in: scopes::matches_claim,
        grows: |_, _| true,
    },
    Evaluator {
        group: "",
        plural: "services",
        tracks: service::tracks,
        usage: service::usage,
        is_in: |_, _| false,
        grows: |_, _| true,
    },
    Evaluator {
        group: "resource.k8s.io",
        plural: "resourceclaims",
        tracks: device::tracks,
        usage: device::usage,
        is_in: |_, _| false,
        grows: |_, _| true,
    },
];

/// Kinds of the core group whose objects quotas can also count under the plural name, without `count/`.
const COUNTED: [&str; 4] = [
    "configmaps",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
];

fn one() -> Quantity {
    Quantity::from_integer(1)
}

impl Evaluator {
    fn of(kind: &Kind) -> Option<&'static Self> {
        let is_of = |known: &&Self| known.plural == kind.plural() && known.group == kind.group();
        EVALUATORS.iter().find(is_of)
    }
}

/// The quota resource for the object count of a kind: `count/PLURAL.GROUP`.
fn count_resource(kind: &Kind) -> String {
    match kind.group() {
        "" => format!("count/{}", kind.plural()),
        group => format!("count/{}.{group}", kind.plural()),
    }
}

/// Whether objects of `kind` can use the quota resource `name`.
pub(crate) fn tracks(kind: &Kind, name: &str) -> bool {
    let is_count = name
        .strip_prefix("count/")
        .and_then(|name| name.strip_prefix(kind.plural()))
        .is_some_and(|rest| rest.strip_prefix('.').unwrap_or_default() == kind.group() && rest != ".");
    is_count
        || Evaluator::of(kind).is_some_and(|of| (of.tracks)(name))
        || (kind.group().is_empty() && kind.plural() == name && COUNTED.contains(&name))
}

/// Computes the amounts that an object uses of each quota resource, including the object count.
pub(crate) fn usage(kind: &Kind, object: &Value) -> Amounts {
    let mut used = Evaluator::of(kind).map_or_else(Amounts::default, |of| (of.usage)(object));
    used.set(count_resource(kind), one());
    if kind.group().is_empty() && COUNTED.contains(&kind.plural()) {
        used.set(kind.plural(), one());
    }
    used
}

pub(crate) fn may_grow(kind: &Kind, new: &Value, old: &Value) -> bool {
    Evaluator::of(kind).is_some_and(|of| (of.grows)(new, old))
}

/// The usage of an object under a quota; empty if the object does not match the scopes of the quota.
pub(crate) fn usage_under_quota(quota: &Value, kind: &Kind, object: &Value) -> Amounts {
    if !matches(quota, kind, object) {
        return Amounts::default();
    }
    let hard = &quota["status"]["hard"];
    usage(kind, object).filtered(|name, _| hard.get(name).is_some() && tracks(kind, name))
}

pub(crate) fn matches(quota: &Value, kind: &Kind, object: &Value) -> bool {
    let hard = quota["status"]["hard"].as_object();
    let is_about = hard.into_iter().flatten().any(|(name, _)| tracks(kind, name));
    let is_in = Evaluator::of(kind).map_or((|_, _| false) as fn(&Value, &Value) -> bool, |of| of.is_in);
    is_about
        && scopes::scope_requirements(&quota["spec"])
            .iter()
            .all(|scope| is_in(scope, object))
}

/// Quota resources that containers must specify but do not, each with the names of the containers that lack the resource.
pub(crate) fn unspecified_resources(
    quota: &Value,
    kind: &Kind,
    object: &Value,
) -> Vec<(String, Vec<String>)> {
    if kind.plural() != "pods" || !kind.group().is_empty() {
        return Vec::new();
    }
    let hard = quota["status"]["hard"].as_object().into_iter().flatten();
    pod::unspecified_resources(object, hard.map(|(name, _)| name.as_str()))
}
