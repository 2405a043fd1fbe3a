//! The rules for what a pod and its containers ask of a node (`validateResourceRequirements` of core/v1).

use crate::kinds::pod_resources::of_containers;
use crate::kinds::resource_names::{self, HUGE_PAGES, OF_WHOLE_POD, is_huge_pages, is_of_whole_pod};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::names;
use crate::machinery::quantity::Quantity;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::HashSet;

/// The rules for the name of a resource.
type NameRule = fn(&str, &str, &mut Faults);

/// What a pod as a whole is limited to, and requests, where its writer says only a part of it: huge pages as far as its containers may have
/// them, and of the rest what its containers request, or all that it may have.
pub(super) fn default_of_pod(spec: &mut Value) {
    let has_some = |spec: &Value, side: &str| json::pairs(&spec["resources"][side]).next().is_some();
    let has_limits = has_some(spec, "limits");
    if !has_limits && !has_some(spec, "requests") {
        return;
    }
    let own = spec["resources"].clone();
    let (is_limited, is_requested) = (
        |name: &str| !own["limits"][name].is_null(),
        |name: &str| !own["requests"][name].is_null(),
    );
    let huge = of_containers(spec, "limits").0.into_iter();
    let huge = huge.filter(|(name, _)| is_huge_pages(name) && !is_requested(name) && !is_limited(name));
    let huge: Vec<(String, Value)> = huge
        .map(|(name, amount)| (name, amount.to_string().into()))
        .collect();
    if !huge.is_empty() {
        json::member(&mut spec["resources"], "limits").extend(huge);
    }
    if !has_some(spec, "limits") {
        return;
    }
    let asked = of_containers(spec, "requests").0.into_iter();
    let asked = asked.filter(|(name, _)| OF_WHOLE_POD.contains(&name.as_str()));
    let asked = asked.map(|(name, amount)| (name, Value::from(amount.to_string())));
    let allowed = spec["resources"]["limits"].clone();
    let allowed = json::pairs(&allowed).filter(|(name, _)| is_of_whole_pod(name));
    let allowed = allowed.map(|(name, amount)| (name.to_owned(), amount.into()));
    let missing: Vec<(String, Value)> = asked.chain(allowed).collect();
    let requests = json::member(&mut spec["resources"], "requests");
    for (name, amount) in missing {
        requests.entry(name).or_insert(amount);
    }
}

/// The rules for `resources` of a container of a pod.
pub(super) fn of_container(container: &Value, spec: &Value, at: &str, faults: &mut Faults) {
    let resources = &container["resources"];
    amounts(resources, resource_names::of_container, at, faults);
    claims(resources, spec, at, faults);
}

/// The rules for what every pod costs beside its containers.
pub(in crate::kinds) fn overhead(overhead: &Value, at: &str, faults: &mut Faults) {
    let limits = serde_json::json!({"limits": overhead});
    amounts(&limits, resource_names::of_container, at, faults);
}

/// The rules for `resources` of a pod as a whole: its containers ask for no more.
pub(super) fn of_pod(spec: &Value, at: &str, faults: &mut Faults) {
    let resources = &spec["resources"];
    if resources.is_null() {
        return;
    }
    let at = &format!("{at}.resources");
    if spec["os"]["name"] == "windows" {
        return faults.forbidden(at, "may not be set for a windows pod");
    }
    if !resources["claims"].is_null() {
        let why = "claims may not be set for Resources at pod-level";
        faults.forbidden(format!("{at}.claims"), why);
    }
    amounts(resources, name_of_pod, at, faults);
    claims(resources, spec, at, faults);
    for (name, asked) in of_containers(spec, "requests").0 {
        let whole = &resources["requests"][&name];
        if exceeds(&asked, whole) {
            let why = format!("must be greater than or equal to aggregate container requests of {asked}");
            faults.invalid(format!("{at}.requests[{name}]"), whole.clone(), &why);
        }
    }
    for (name, allowed) in of_containers(spec, "limits").0 {
        let whole = &resources["limits"][&name];
        if is_huge_pages(&name) && exceeds(&allowed, whole) {
            let why = format!("must be greater than or equal to aggregate container limits of {allowed}");
            faults.invalid(format!("{at}.limits[{name}]"), whole.clone(), &why);
        }
    }
    for (i, container) in list(&spec["containers"]).iter().enumerate() {
        for (name, amount) in json::pairs(&container["resources"]["limits"]) {
            let whole = &resources["limits"][name];
            if read(amount).is_some_and(|amount| exceeds(&amount, whole)) {
                let why = format!(
                    "must be less than or equal to pod limits of {}",
                    whole.as_str().unwrap_or_default()
                );
                faults.invalid(format!("{at}.containers[{i}][{name}].limits"), amount, &why);
            }
        }
    }
}

fn exceeds(amount: &Quantity, whole: &Value) -> bool {
    let whole = whole.as_str().and_then(read);
    whole.is_some_and(|whole| amount.partial_cmp(&whole) == Some(Ordering::Greater))
}

fn read(text: &str) -> Option<Quantity> {
    text.parse().ok()
}

fn name_of_pod(name: &str, field: &str, faults: &mut Faults) {
    let before = faults.len();
    resource_names::any(name, field, faults);
    if faults.len() == before && !is_of_whole_pod(name) {
        faults.not_supported(field, name, &["cpu", "hugepages-", "memory"]);
    }
}

/// The rules for limits and requests.
fn amounts(resources: &Value, rule: NameRule, at: &str, faults: &mut Faults) {
    let limits = &resources["limits"];
    for (name, amount) in json::pairs(limits) {
        let field = format!("{at}.limits[{name}]");
        rule(name, &field, faults);
        quantity(name, amount, &field, faults);
        huge_pages(name, amount, &field, faults);
    }
    for (name, amount) in json::pairs(&resources["requests"]) {
        let field = format!("{at}.requests[{name}]");
        rule(name, &field, faults);
        quantity(name, amount, &field, faults);
        within(name, amount, limits[name].as_str(), at, faults);
        huge_pages(name, amount, &field, faults);
    }
    let has = |is_it: fn(&str) -> bool| {
        let mut sides = ["limits", "requests"]
            .into_iter()
            .flat_map(|side| json::pairs(&resources[side]));
        sides.any(|(name, _)| is_it(name))
    };
    if has(is_huge_pages) && !has(|name| OF_WHOLE_POD.contains(&name)) {
        faults.forbidden(at, "HugePages require cpu or memory");
    }
}

/// Huge pages come in whole ones.
fn huge_pages(name: &str, amount: &str, field: &str, faults: &mut Faults) {
    let Some(page) = name.strip_prefix(HUGE_PAGES) else {
        return;
    };
    let milli = |text: &str| read(text).map(|amount| amount.milli());
    let (page, asked) = (milli(page).filter(|page| *page > 0), milli(amount));
    let is_whole = page.zip(asked).is_some_and(|(page, asked)| asked % page == 0);
    if !is_whole {
        let why = format!("{amount} is not positive integer multiple of {name}");
        faults.invalid(field, amount, &why);
    }
}

/// Claims of devices are among those of the pod, each of their requests once.
fn claims(resources: &Value, spec: &Value, at: &str, faults: &mut Faults) {
    let claims = list(&resources["claims"]);
    if claims.is_empty() {
        return;
    }
    let mut known: Vec<&str> = list(&spec["resourceClaims"])
        .iter()
        .map(|claim| string(claim, "name"))
        .filter(|name| !name.is_empty())
        .collect();
    known.sort_unstable();
    known.dedup();
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    for (i, claim) in claims.iter().enumerate() {
        let (at, name, request) = (
            format!("{at}.claims[{i}]"),
            string(claim, "name"),
            string(claim, "request"),
        );
        if name.is_empty() {
            faults.required(at, "");
            continue;
        }
        if seen.contains(&(name, "")) {
            faults.duplicate(at.as_str(), name);
        } else {
            if !request.is_empty() {
                faults.complain(&format!("{at}.request"), request, names::label(request));
            }
            if request.is_empty() {
                let parts = seen.iter().filter(|(other, _)| *other == name);
                parts.for_each(|_| faults.duplicate(at.as_str(), name));
            } else if seen.contains(&(name, request)) {
                faults.duplicate(at.as_str(), format!("{name}/{request}"));
            }
            seen.insert((name, request));
        }
        if !known.contains(&name) {
            let known = match known.as_slice() {
                [] => " which is empty".to_owned(),
                names => format!(": {}", names.join(", ")),
            };
            let why = format!("must be one of the names in pod.spec.resourceClaims{known}");
            faults.not_found_because(at, name, &why);
        }
    }
}

/// A request is within its limit, and equal to it where nodes cannot promise more than they have.
fn within(name: &str, amount: &str, limit: Option<&str>, at: &str, faults: &mut Faults) {
    let field = format!("{at}.requests");
    let Some(limit) = limit else {
        if !resource_names::is_overcommitted(name) {
            let text = "Limit must be set for non overcommitable resources";
            faults.required(format!("{at}.limits"), text);
        }
        return;
    };
    let (asked, allowed) = (read(amount), read(limit));
    if asked != allowed && !resource_names::is_overcommitted(name) {
        faults.invalid(
            field,
            amount,
            &format!("must be equal to {name} limit of {limit}"),
        );
    } else if asked > allowed {
        let text = format!("must be less than or equal to {name} limit of {limit}");
        faults.invalid(field, amount, &text);
    }
}

/// The rules for an amount of a resource; only some come in parts.
pub(in crate::kinds) fn quantity(name: &str, amount: &str, field: &str, faults: &mut Faults) {
    if amount.starts_with('-') {
        faults.invalid(field, amount, "must be greater than or equal to 0");
    }
    if name.contains('/') && !name.contains("kubernetes.io/") && amount.ends_with(['m', 'u', 'n']) {
        faults.invalid(field, amount, "must be an integer");
    }
}
