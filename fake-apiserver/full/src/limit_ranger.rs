//! The admission plugin LimitRanger: applies the defaults and bounds in the LimitRanges of the namespace to pods and PVCs.

use crate::forbidden;
use fake_apiserver::Status;
use fake_apiserver::extension::json::{self, list, string};
use fake_apiserver::extension::{
    AdmissionPlugin, Amounts, Attributes, Kind, Object, Part, Subresource, Transaction, metadata, pod_limits,
    pod_requests,
};
use fake_apiserver::quantity::Quantity;
use serde_json::{Value, json};
use std::sync::Arc;

/// The annotation in which LimitRanger lists the requests and limits that it set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

pub(crate) struct LimitRanger;

impl AdmissionPlugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    fn admit(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Status> {
        if request.kind.is_resource("", "pods") {
            set_default_resources(txn, object);
        }
        Ok(())
    }

    fn validate(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &Value,
    ) -> Result<(), Status> {
        let is_pod = request.kind.is_resource("", "pods");
        let is_checked = match request.part {
            // Pod updates are not checked: container resources can only be changed through `pods/resize`.
            Part::Main => !is_pod || request.old.is_none(),
            part => part == Part::Sub(Subresource::Resize),
        };
        match is_checked && (is_pod || request.kind.is_resource("", "persistentvolumeclaims")) {
            true => check(txn, request.kind, object),
            false => Ok(()),
        }
    }
}

fn limit_ranges(txn: &dyn Transaction, object: &Value) -> Vec<Arc<Object>> {
    let kind = txn.kind("", "limitranges");
    kind.map_or_else(Vec::new, |kind| {
        txn.objects(&kind, Some(metadata::text(object, "namespace")))
    })
}

fn set_default_resources(txn: &dyn Transaction, pod: &mut Value) {
    for range in limit_ranges(txn, pod) {
        let (mut requests, mut limits) = (json!({}), json!({}));
        for limit in list(&range.value()["spec"]["limits"])
            .iter()
            .filter(|limit| limit["type"] == "Container")
        {
            overwrite_quantities(&mut requests, &limit["defaultRequest"]);
            overwrite_quantities(&mut limits, &limit["default"]);
        }
        let mut given = Vec::new();
        for (place, name) in [
            ("/spec/containers", "container"),
            ("/spec/initContainers", "init container"),
        ] {
            for container in json::entries(pod, place) {
                let own = string(container, "name").to_owned();
                let resources = json::member_or_insert_null(container, "resources");
                for (side, amounts, word) in
                    [("requests", &requests, "request"), ("limits", &limits, "limit")]
                {
                    let new = set_missing_quantities(resources, side, amounts);
                    if !new.is_empty() {
                        given.push(format!("{} {word} for {name} {own}", new.join(", ")));
                    }
                }
            }
        }
        if !given.is_empty() {
            let text = format!("LimitRanger plugin set: {}", given.join("; "));
            json::member(json::member_or_insert_null(pod, "metadata"), "annotations")
                .insert(ANNOTATION.to_owned(), text.into());
        }
    }
}

fn overwrite_quantities(under: &mut Value, over: &Value) {
    for (name, amount) in over.as_object().into_iter().flatten() {
        under[name] = amount.clone();
    }
}

/// Sets the `amounts` that the `side` (`requests` or `limits`) of `resources` lacks; returns the resource names that were set.
fn set_missing_quantities(resources: &mut Value, side: &str, amounts: &Value) -> Vec<String> {
    let mut new = Vec::new();
    for (name, amount) in amounts.as_object().into_iter().flatten() {
        let present = json::member(resources, side);
        if !present.contains_key(name) {
            present.insert(name.clone(), amount.clone());
            new.push(name.clone());
        }
    }
    new
}

/// Rejects pods and PVCs outside the bounds of a LimitRange.
fn check(txn: &dyn Transaction, kind: &Kind, object: &Value) -> Result<(), Status> {
    for range in limit_ranges(txn, object) {
        let mut errors = Vec::new();
        for limit in list(&range.value()["spec"]["limits"]) {
            check_limit(kind, limit, object, &mut errors);
        }
        // Several LimitRanges can cause equal errors; duplicates are removed.
        let mut seen: Vec<String> = Vec::new();
        errors.retain(|error| {
            !seen.contains(error) && {
                seen.push(error.clone());
                true
            }
        });
        match errors.as_slice() {
            [] => {}
            [one] => return Err(forbidden(kind, object, one)),
            many => return Err(forbidden(kind, object, &format!("[{}]", many.join(", ")))),
        }
    }
    Ok(())
}

/// The requests and limits of a container or pod, which are compared with a LimitRange.
struct Requirements {
    requests: Amounts,
    limits: Amounts,
}

fn check_limit(kind: &Kind, limit: &Value, object: &Value, errors: &mut Vec<String>) {
    let spec = &object["spec"];
    let requirements = |resources: &Value| Requirements {
        requests: Amounts::read(&resources["requests"]),
        limits: Amounts::read(&resources["limits"]),
    };
    match (kind.plural(), string(limit, "type")) {
        ("pods", "Container") => {
            let containers = ["containers", "initContainers"].map(|name| list(&spec[name]));
            for container in containers.into_iter().flatten() {
                check_bounds(limit, &requirements(&container["resources"]), errors);
            }
        }
        ("pods", "Pod") => {
            let mut bare = object.clone();
            // The overhead of the RuntimeClass does not count as request.
            json::assign(&mut bare["spec"], "overhead", Value::Null);
            let whole = Requirements {
                requests: pod_requests(&bare),
                limits: pod_limits(&bare),
            };
            check_bounds(limit, &whole, errors);
        }
        ("persistentvolumeclaims", "PersistentVolumeClaim") => {
            let requests = Amounts::read(&spec["resources"]["requests"]);
            check_claim(limit, &requests, errors);
        }
        _ => {}
    }
}

/// Checks requests and limits against minimum, maximum, and maximum ratio of limit to request.
fn check_bounds(limit: &Value, resources: &Requirements, errors: &mut Vec<String>) {
    let of = string(limit, "type");
    for (name, bound) in &Amounts::read(&limit["min"]).0 {
        errors.extend(check_minimum(
            of,
            name,
            bound,
            resources.requests.get(name),
            resources.limits.get(name),
        ));
    }
    for (name, bound) in &Amounts::read(&limit["max"]).0 {
        let text = format!("maximum {name} usage per {of} is {bound}");
        errors.extend(match (resources.limits.get(name), resources.requests.get(name)) {
            (None, _) => Some(format!("{text}.  No limit is specified")),
            (Some(limit), _) if limit > bound => Some(format!("{text}, but limit is {limit}")),
            (_, Some(request)) if request > bound => Some(format!("{text}, but request is {request}")),
            _ => None,
        });
    }
    for (name, bound) in &Amounts::read(&limit["maxLimitRequestRatio"]).0 {
        let text = format!("{name} max limit to request ratio per {of} is {bound}");
        let some = |amounts: &Amounts| amounts.get(name).filter(|amount| !amount.is_zero()).cloned();
        errors.extend(match (some(&resources.requests), some(&resources.limits)) {
            (None, _) => Some(format!("{text}, but no request is specified or request is 0")),
            (_, None) => Some(format!("{text}, but no limit is specified or limit is 0")),
            (Some(request), Some(limit)) => {
                let ratio = limit.divide_to_float(&request);
                (ratio > bound.divide_to_float(&Quantity::from_integer(1)))
                    .then(|| format!("{text}, but provided ratio is {ratio:.6}"))
            }
        });
    }
}

fn check_minimum(
    of: &str,
    name: &str,
    bound: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let text = format!("minimum {name} usage per {of} is {bound}");
    match (request, limit) {
        (None, _) => Some(format!("{text}.  No request is specified")),
        (Some(request), _) if request < bound => Some(format!("{text}, but request is {request}")),
        (_, Some(limit)) if limit < bound => Some(format!("{text}, but limit is {limit}")),
        _ => None,
    }
}

/// Checks the storage request of a PVC against minimum and maximum. A PVC has no limits.
fn check_claim(limit: &Value, requests: &Amounts, errors: &mut Vec<String>) {
    let of = string(limit, "type");
    for (name, bound) in &Amounts::read(&limit["min"]).0 {
        errors.extend(check_minimum(of, name, bound, requests.get(name), None));
    }
    for (name, bound) in &Amounts::read(&limit["max"]).0 {
        let text = format!("maximum {name} usage per {of} is {bound}");
        errors.extend(match requests.get(name) {
            None => Some(format!("{text}.  No request is specified")),
            Some(request) if request > bound => Some(format!("{text}, but request is {request}")),
            Some(_) => None,
        });
    }
}
