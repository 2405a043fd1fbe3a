//! The rules for claims of devices, their templates, and classes of devices.
//!
//! Owns which requests of a claim go together. What it is given is in `status`. Does not know whose claim may have
//! administrative access.

use super::lists::{each, set};
use super::names::fully_qualified;
use super::selection::{configuration, selectors};
use crate::kinds::resource_names::is_extended;
use crate::kinds::{internal_form, volume};
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use serde_json::Value;

/// Requests, and references to them.
const REQUESTS_MAX: usize = 32;
const ALTERNATIVES_MAX: usize = 8;
const CONSTRAINTS_MAX: usize = 32;
const CONFIGURATIONS_MAX: usize = 32;
const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];
const NO_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/// The rules for a new claim.
pub(super) fn validate(claim: &Value, faults: &mut Faults) {
    spec(&claim["spec"], "spec", faults);
}

/// The rules for a changed claim: what it asks for stays.
pub(super) fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    internal_form::unchanged("ResourceClaimSpec", "spec", &new["spec"], &old["spec"], faults);
}

/// The rules for a template of claims.
pub(super) fn validate_template(template: &Value, faults: &mut Faults) {
    volume::template_metadata(&template["spec"]["metadata"], "spec.metadata", faults);
    spec(&template["spec"]["spec"], "spec.spec", faults);
}

/// The rules for a changed template: nothing of it changes.
pub(super) fn validate_template_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (new, old) = (&new["spec"], &old["spec"]);
    internal_form::unchanged("ResourceClaimTemplateSpec", "spec", new, old, faults);
}

/// The rules for a class.
pub(super) fn validate_class(class: &Value, faults: &mut Faults) {
    let spec = &class["spec"];
    selectors(&spec["selectors"], "spec.selectors", faults);
    each(
        &spec["config"],
        CONFIGURATIONS_MAX,
        "spec.config",
        faults,
        configuration,
    );
    if let Some(name) = spec["extendedResourceName"]
        .as_str()
        .filter(|name| !is_extended(name))
    {
        faults.invalid(
            "spec.extendedResourceName",
            name,
            "must be a valid extended resource name",
        );
    }
}

fn spec(spec: &Value, at: &str, faults: &mut Faults) {
    let (devices, at) = (&spec["devices"], format!("{at}.devices"));
    let requests = list(&devices["requests"]);
    let name = |request| string(request, "name");
    set(
        &devices["requests"],
        REQUESTS_MAX,
        name,
        &format!("{at}.requests"),
        faults,
        request,
    );
    let field = format!("{at}.constraints");
    each(
        &devices["constraints"],
        CONSTRAINTS_MAX,
        &field,
        faults,
        |one, at, faults| constraint(one, requests, at, faults),
    );
    let field = format!("{at}.config");
    each(
        &devices["config"],
        CONFIGURATIONS_MAX,
        &field,
        faults,
        |one, at, faults| {
            references(&one["requests"], requests, &format!("{at}.requests"), faults);
            configuration(one, at, faults);
        },
    );
}

fn request(request: &Value, at: &str, faults: &mut Faults) {
    let name = string(request, "name");
    faults.complain(&format!("{at}.name"), name, names::label(name));
    let alternatives = &request["firstAvailable"];
    match (request["exactly"].is_null(), list(alternatives).is_empty()) {
        (true, true) => faults.required(at, "exactly one of `exactly` or `firstAvailable` is required"),
        (false, false) => {
            let text =
                "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            faults.invalid(at, Value::Null, text);
        }
        (false, true) => exactly(&request["exactly"], &format!("{at}.exactly"), faults),
        (true, false) => {
            let field = format!("{at}.firstAvailable");
            let name = |one| string(one, "name");
            set(
                alternatives,
                ALTERNATIVES_MAX,
                name,
                &field,
                faults,
                |one, at, faults| {
                    let name = string(one, "name");
                    faults.complain(&format!("{at}.name"), name, names::label(name));
                    exactly(one, at, faults);
                },
            );
        }
    }
}

/// The rules for how many devices of which class are wanted.
fn exactly(request: &Value, at: &str, faults: &mut Faults) {
    faults.needed(
        &format!("{at}.deviceClassName"),
        string(request, "deviceClassName"),
        names::subdomain,
    );
    selectors(&request["selectors"], &format!("{at}.selectors"), faults);
    let count = request["count"].as_i64().unwrap_or_default();
    let field = format!("{at}.count");
    match string(request, "allocationMode") {
        "All" if count != 0 => {
            faults.invalid(field, count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if count <= 0 => faults.invalid(field, count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        mode => faults.not_supported(format!("{at}.allocationMode"), mode, &["All", "ExactCount"]),
    }
    for (i, one) in list(&request["tolerations"]).iter().enumerate() {
        toleration(one, &format!("{at}.tolerations[{i}]"), faults);
    }
}

fn toleration(toleration: &Value, at: &str, faults: &mut Faults) {
    let (key, value) = (string(toleration, "key"), string(toleration, "value"));
    if !key.is_empty() {
        faults.complain(&format!("{at}.key"), key, names::qualified(key));
    }
    let (operator, field) = (string(toleration, "operator"), format!("{at}.operator"));
    match operator {
        "Exists" if !value.is_empty() => {
            faults.invalid(
                format!("{at}.value"),
                value,
                "must be empty for operator `Exists`",
            );
        }
        "Exists" => {}
        "Equal" => faults.complain(&format!("{at}.value"), value, names::label_value(value)),
        "" => faults.required(field, ""),
        other => faults.not_supported(field, other, &["Equal", "Exists"]),
    }
    let effect = string(toleration, "effect");
    if !effect.is_empty() {
        faults.one_of(&format!("{at}.effect"), effect, &EFFECTS);
    }
}

/// The rules for a taint of a device.
pub(super) fn taint(taint: &Value, at: &str, faults: &mut Faults) {
    let (key, value) = (string(taint, "key"), string(taint, "value"));
    faults.complain(&format!("{at}.key"), key, names::qualified(key));
    if !value.is_empty() {
        faults.complain(&format!("{at}.value"), value, names::label_value(value));
    }
    match string(taint, "effect") {
        "" => faults.required(format!("{at}.effect"), ""),
        effect => faults.one_of(&format!("{at}.effect"), effect, &EFFECTS),
    }
}

fn constraint(constraint: &Value, requests: &[Value], at: &str, faults: &mut Faults) {
    references(
        &constraint["requests"],
        requests,
        &format!("{at}.requests"),
        faults,
    );
    let wanted = ["matchAttribute", "distinctAttribute"]
        .into_iter()
        .find_map(|name| Some((name, constraint[name].as_str()?)));
    match wanted {
        Some((name, attribute)) => fully_qualified(attribute, &format!("{at}.{name}"), faults),
        // The real server says so, too, where none is set.
        None => faults.required(
            at,
            "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set",
        ),
    }
}

/// The rules for names of requests.
pub(super) fn references(all: &Value, requests: &[Value], at: &str, faults: &mut Faults) {
    let text = |one| Value::as_str(one).unwrap_or_default();
    set(all, REQUESTS_MAX, text, at, faults, |one, at, faults| {
        reference(text(one), requests, at, faults);
    });
}

/// The rules for the name of a request.
pub(super) fn reference(name: &str, requests: &[Value], at: &str, faults: &mut Faults) {
    let parts: Vec<&str> = name.split('/').collect();
    if parts.len() <= 2 {
        for part in &parts {
            faults.complain(at, part, names::label(part));
        }
    }
    let is_named = |of: &Value, wanted: &str| string(of, "name") == wanted;
    let found = requests.iter().find(|request| is_named(request, parts[0]));
    let is_there = match (found, parts.get(1)) {
        _ if parts.len() > 2 => false,
        (None, _) => false,
        (Some(_), None) => true,
        (Some(request), Some(part)) => list(&request["firstAvailable"])
            .iter()
            .any(|one| is_named(one, part)),
    };
    if !is_there {
        faults.invalid(at, name, NO_REQUEST);
    }
}
