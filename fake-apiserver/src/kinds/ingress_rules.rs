//! The rules for ingresses and their classes.

use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string, texts};
use crate::machinery::{ip, metadata, names};
use serde_json::{Value, json};

/// The annotation by which classes were chosen before there was a field for that.
pub(super) const CLASS: &str = "kubernetes.io/ingress.class";

const NO_ADDRESS: &str = "must be a DNS name, not an IP address";
const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
/// What paths may not contain, and how they may not end, where their segments count.
const ILLEGAL: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const ILLEGAL_ENDS: [&str; 2] = ["/..", "/."];
/// Letters of the name of a controller.
const CONTROLLER_MAX: usize = 250;
/// What a path of a controller may have beside letters and digits.
const PATH_SIGNS: &str = "/-._~%!$&'()*+,;=:";

pub(super) fn validate_create(ingress: &Value, faults: &mut Faults) {
    validate(ingress, faults);
    let (annotated, named) = (
        ingress["metadata"]["annotations"][CLASS].as_str(),
        ingress["spec"]["ingressClassName"].as_str(),
    );
    if let (Some(annotated), Some(named)) = (annotated, named)
        && annotated != named
    {
        let why = "must match `ingressClassName` when both are specified";
        faults.invalid(format!("annotations.{CLASS}"), annotated, why);
    }
}

pub(super) fn validate(ingress: &Value, faults: &mut Faults) {
    let spec = &ingress["spec"];
    let rules = list(&spec["rules"]);
    if rules.is_empty() && spec["defaultBackend"].is_null() {
        let why = "either `defaultBackend` or `rules` must be specified";
        faults.invalid("spec", spec["rules"].clone(), why);
    }
    if !spec["defaultBackend"].is_null() {
        backend(&spec["defaultBackend"], "spec.defaultBackend", faults);
    }
    for (i, one) in rules.iter().enumerate() {
        rule(one, &format!("spec.rules[{i}]"), faults);
    }
    for (i, one) in list(&spec["tls"]).iter().enumerate() {
        tls(one, &format!("spec.tls[{i}]"), faults);
    }
    if let Some(class) = spec["ingressClassName"].as_str() {
        faults.complain("spec.ingressClassName", class, names::subdomain(class));
    }
}

fn rule(rule: &Value, at: &str, faults: &mut Faults) {
    let (field, name) = (format!("{at}.host"), string(rule, "host"));
    if !name.is_empty() {
        if ip::parse(name).is_some() {
            faults.invalid(field.as_str(), name, NO_ADDRESS);
        }
        host(name, &field, faults);
    }
    let http = &rule["http"];
    if http.is_null() {
        return;
    }
    let (field, paths) = (format!("{at}.http.paths"), list(&http["paths"]));
    if paths.is_empty() {
        faults.required(field.as_str(), "");
    }
    for (i, one) in paths.iter().enumerate() {
        path(one, &format!("{field}[{i}]"), faults);
    }
}

/// The rules for the name of a host, which may have a star in the place of its first part.
fn host(name: &str, field: &str, faults: &mut Faults) {
    let complaints = match name.contains('*') {
        true => names::wildcard_subdomain(name),
        false => names::subdomain(name),
    };
    faults.complain(field, name, complaints);
}

fn tls(tls: &Value, at: &str, faults: &mut Faults) {
    for (i, name) in texts(&tls["hosts"]).into_iter().enumerate() {
        host(name, &format!("{at}.hosts[{i}]"), faults);
    }
    let secret = string(tls, "secretName");
    if !secret.is_empty() {
        let field = format!("{at}.secretName");
        faults.complain(&field, secret, names::subdomain(secret));
    }
}

fn path(path: &Value, at: &str, faults: &mut Faults) {
    let Some(of) = path["pathType"].as_str() else {
        return faults.required(format!("{at}.pathType"), "pathType must be specified");
    };
    let (field, text) = (format!("{at}.path"), string(path, "path"));
    let segments_count = of != "ImplementationSpecific";
    if !PATH_TYPES.contains(&of) {
        faults.not_supported(format!("{at}.pathType"), of, &PATH_TYPES);
    } else if (segments_count || !text.is_empty()) && !text.starts_with('/') {
        faults.invalid(field.as_str(), text, "must be an absolute path");
    }
    if PATH_TYPES.contains(&of) && segments_count {
        for part in ILLEGAL.into_iter().filter(|part| text.contains(part)) {
            faults.invalid(field.as_str(), text, &format!("must not contain '{part}'"));
        }
        for end in ILLEGAL_ENDS.into_iter().filter(|end| text.ends_with(end)) {
            faults.invalid(field.as_str(), text, &format!("cannot end with '{end}'"));
        }
    }
    backend(&path["backend"], &format!("{at}.backend"), faults);
}

fn backend(backend: &Value, at: &str, faults: &mut Faults) {
    match (backend["resource"].is_null(), backend["service"].is_null()) {
        (false, false) => faults.invalid(at, "", "cannot set both resource and service backends"),
        (false, true) => reference(&backend["resource"], &format!("{at}.resource"), faults),
        (true, false) => service(&backend["service"], at, faults),
        (true, true) => faults.invalid(at, "", "resource or service backend is required"),
    }
}

fn service(service: &Value, at: &str, faults: &mut Faults) {
    faults.needed(
        &format!("{at}.service.name"),
        string(service, "name"),
        names::label,
    );
    let port = &service["port"];
    let (name, number) = (string(port, "name"), port["number"].as_i64().unwrap_or_default());
    match (name, number) {
        ("", 0) => faults.required(at, "port name or number is required"),
        ("", number) => faults.port(&format!("{at}.service.port.number"), number),
        (name, 0) => faults.complain(&format!("{at}.service.port.name"), name, names::port(name)),
        _ => faults.invalid(at, "", "cannot set both port name & port number"),
    }
}

/// The rules for a reference to an object of any kind.
fn reference(reference: &Value, at: &str, faults: &mut Faults) {
    if let Some(group) = reference["apiGroup"].as_str() {
        faults.complain(&format!("{at}.apiGroup"), group, names::subdomain(group));
    }
    for part in ["kind", "name"] {
        faults.needed(
            &format!("{at}.{part}"),
            string(reference, part),
            names::path_segment,
        );
    }
}

pub(super) fn validate_status(new: &Value, old: &Value, faults: &mut Faults) {
    let of = |ingress: &Value| list(&ingress["status"]["loadBalancer"]["ingress"]).to_vec();
    let before = of(old);
    for (i, one) in of(new).iter().enumerate() {
        let at = format!("status.loadBalancer.ingress[{i}]");
        let (address, name) = (string(one, "ip"), string(one, "hostname"));
        // What is there stays, whatever it is.
        if !address.is_empty() && before.iter().all(|before| before["ip"] != address) {
            faults.complain(&format!("{at}.ip"), address, ip::any_form(address));
        }
        if name.is_empty() {
            continue;
        }
        let field = format!("{at}.hostname");
        faults.complain(&field, name, names::subdomain(name));
        if ip::parse(name).is_some() {
            faults.invalid(field, name, NO_ADDRESS);
        }
    }
}

/// Warnings about the old way to choose a class, and about odd addresses in a status that changes.
pub(super) fn warn(new: &Value, old: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let is_annotated = !new["metadata"]["annotations"][CLASS].is_null();
    if old.is_null() && is_annotated && new["spec"]["ingressClassName"].is_null() {
        out.push(format!(
            "annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"
        ));
    }
    if !old.is_null() && new["status"] != old["status"] {
        let all = list(&new["status"]["loadBalancer"]["ingress"]).iter();
        let told = all.enumerate().filter_map(|(i, one)| {
            ip::warning(string(one, "ip"), &format!("status.loadBalancer.ingress[{i}]"))
        });
        out.extend(told);
    }
    out
}

pub(super) fn class_default(class: &mut Value) {
    let parameters = class.pointer_mut("/spec/parameters");
    if let Some(parameters) = parameters.filter(|parameters| parameters.is_object()) {
        json::default_member(parameters, "scope", "Cluster");
    }
}

pub(super) fn validate_class(class: &Value, faults: &mut Faults) {
    let spec = &class["spec"];
    let name = string(spec, "controller");
    if name.len() > CONTROLLER_MAX {
        faults.too_long("spec.controller", CONTROLLER_MAX);
    }
    domain_path(name, "spec.controller", faults);
    let parameters = &spec["parameters"];
    if !parameters.is_null() {
        reference(parameters, "spec.parameters", faults);
        scope(parameters, "spec.parameters", faults);
    }
}

pub(super) fn validate_class_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (now, before) = (
        string(&new["spec"], "controller"),
        string(&old["spec"], "controller"),
    );
    faults.unchanged("spec.controller", &json!(now), &json!(before));
    metadata::validate(new, |_| Vec::new(), faults);
    validate_class(new, faults);
}

/// The rules for a domain with a path.
pub(super) fn domain_path(name: &str, field: &str, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(field, "");
    }
    let (domain, path) = name.split_once('/').unwrap_or((name, ""));
    if domain.is_empty() || path.is_empty() {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return faults.invalid(field, name, why);
    }
    faults.complain(field, domain, names::subdomain(domain));
    let is_legal = |c: char| c.is_ascii_alphanumeric() || PATH_SIGNS.contains(c);
    if !path.chars().all(is_legal) {
        let why = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        faults.invalid(field, path, why);
    }
}

/// The rules for where the parameters of a class are.
fn scope(parameters: &Value, at: &str, faults: &mut Faults) {
    let namespace = format!("{at}.namespace");
    match (string(parameters, "scope"), parameters["namespace"].as_str()) {
        ("Cluster", None) => {}
        ("Cluster", Some(_)) => faults.forbidden(namespace, "`parameters.scope` is set to 'Cluster'"),
        ("Namespace", None) => {
            faults.required(namespace, "`parameters.scope` is set to 'Namespace'");
        }
        ("Namespace", Some(name)) => faults.complain(&namespace, name, names::label(name)),
        (other, _) => faults.not_supported(format!("{at}.scope"), other, &["Cluster", "Namespace"]),
    }
}
