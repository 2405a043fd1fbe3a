//! The rules for requests for certificates: what is asked for, how it is decided and what is handed out.

use super::Setting;
use super::conditions::STATES;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string, texts};
use crate::machinery::{names, x509, x509_request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::{PemObject, SectionKind};
use serde_json::Value;
use std::collections::HashSet;

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Conditions that can only be true.
const FINAL: [&str; 3] = ["Approved", "Denied", "Failed"];
/// Those of them that say how a request was decided.
const DECISIONS: [&str; 2] = ["Approved", "Denied"];

const SECONDS_MIN: i64 = 600;
const NAME_BYTES_MAX: usize = 253;
const SIGNER_BYTES_MAX: usize = 571;

const CONDITIONS: &str = "status.conditions";

/// The rules for what is asked for, which never changes.
pub(super) fn validate_create(request: &Value, faults: &mut Faults) {
    let spec = &request["spec"];
    if let Some(why) = request_fault(string(spec, "request")) {
        faults.invalid("spec.request", spec["request"].clone(), why);
    }
    usages(&texts(&spec["usages"]), faults);
    match string(spec, "signerName") {
        legacy @ "kubernetes.io/legacy-unknown" => {
            let text = "the legacy signerName is not allowed via this API version";
            faults.invalid("spec.signerName", legacy, text);
        }
        name => signer(name, "spec.signerName", faults),
    }
    let seconds = spec["expirationSeconds"].as_i64();
    if let Some(seconds) = seconds.filter(|seconds| *seconds < SECONDS_MIN) {
        let text = "may not specify a duration less than 600 seconds (10 minutes)";
        faults.invalid("spec.expirationSeconds", seconds, text);
    }
}

fn request_fault(request: &str) -> Option<&'static str> {
    let pem = STANDARD.decode(request).unwrap_or_default();
    match <(SectionKind, Vec<u8>)>::from_pem_slice(&pem) {
        Ok((SectionKind::Csr, der)) => x509_request::fault(&der),
        _ => Some("PEM block type must be CERTIFICATE REQUEST"),
    }
}

fn usages(usages: &[&str], faults: &mut Faults) {
    let at = "spec.usages";
    if usages.is_empty() {
        faults.required(at, "");
    }
    for (i, usage) in usages.iter().enumerate() {
        faults.one_of(&format!("{at}[{i}]"), usage, &USAGES);
    }
    let mut seen = HashSet::new();
    for (i, usage) in usages.iter().enumerate() {
        if !seen.insert(usage) {
            faults.duplicate(format!("{at}[{i}]"), *usage);
        }
    }
}

/// The rules for the name of a signer: a domain and a name in it.
fn signer(name: &str, field: &str, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(field, "");
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, path] = parts.as_slice() else {
        let text = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return faults.invalid(field, name, text);
    };
    if domain.len() > NAME_BYTES_MAX {
        faults.too_long(field, NAME_BYTES_MAX);
    }
    first_fault(domain, names::label, field, faults);
    if !domain.contains('.') {
        let text = "should be a domain with at least two segments separated by dots";
        faults.invalid(field, *domain, text);
    }
    first_fault(path, names::subdomain, field, faults);
    if name.len() > SIGNER_BYTES_MAX {
        faults.too_long(field, SIGNER_BYTES_MAX);
    }
}

/// What is wrong with the first of the labels of a name that is wrong.
fn first_fault(name: &str, rule: names::NameRule, field: &str, faults: &mut Faults) {
    let mut told = name.split('.').map(|label| (label, rule(label)));
    let Some((label, complaints)) = told.find(|(_, complaints)| !complaints.is_empty()) else {
        return;
    };
    for complaint in complaints {
        faults.invalid(field, name, &format!("validating label {label:?}: {complaint}"));
    }
}

/// Times of conditions that the writer leaves open.
pub(super) fn date_conditions(new: &mut Value, old: &Value, setting: &Setting<'_>) {
    for condition in json::entries(new, "/status/conditions") {
        json::default_member(condition, "lastUpdateTime", setting.now);
        let mut before = list(&old["status"]["conditions"]).iter();
        let same = |one: &&Value| one["type"] == condition["type"] && one["status"] == condition["status"];
        let since = before.find(|one| same(one) && one["lastTransitionTime"].is_string());
        let since = since
            .map_or(setting.now, |one| string(one, "lastTransitionTime"))
            .to_owned();
        json::default_member(condition, "lastTransitionTime", since);
    }
}

/// A decision comes with conditions and nothing else.
pub(super) fn only_conditions(new: &mut Value, old: &Value) {
    json::assign(new, "spec", old["spec"].clone());
    let conditions = new["status"]["conditions"].take();
    json::assign(new, "status", old["status"].clone());
    if conditions.is_null() && new["status"].is_null() {
        return;
    }
    json::assign(json::slot(new, "status"), "conditions", conditions);
}

/// Who writes the status leaves decisions as they are, as long as there are as many.
pub(super) fn keep_decisions(new: &mut Value, old: &Value) {
    for decision in DECISIONS {
        let before = of_type(old, decision);
        if before.len() != of_type(new, decision).len() {
            continue;
        }
        let same = json::entries(new, "/status/conditions").filter(|one| one["type"] == decision);
        for (condition, before) in same.zip(before) {
            *condition = before.clone();
        }
    }
}

fn of_type<'a>(request: &'a Value, of: &str) -> Vec<&'a Value> {
    let all = list(&request["status"]["conditions"]).iter();
    all.filter(|one| one["type"] == of).collect()
}

/// The rules for a decision.
pub(super) fn validate_approval(new: &Value, old: &Value, faults: &mut Faults) {
    conditions(new, faults);
    kept(new, old, faults);
}

/// The rules for what comes after a decision.
pub(super) fn validate_status(new: &Value, old: &Value, faults: &mut Faults) {
    let handed_out = |request: &Value| string(&request["status"], "certificate").to_owned();
    let (now, before) = (handed_out(new), handed_out(old));
    conditions(new, faults);
    if let Some(why) = certificate_fault(&now).filter(|_| now != before) {
        faults.invalid("status.certificate", "<certificate data>", &why);
    }
    kept(new, old, faults);
    for decision in DECISIONS {
        if of_type(new, decision).len() > of_type(old, decision).len() {
            let text = format!("updates may not add a condition of type {decision:?}");
            faults.forbidden(CONDITIONS, &text);
        }
    }
    if now != before && !before.is_empty() {
        let text = "updates may not modify existing certificate content";
        faults.forbidden("status.certificate", text);
    }
}

fn kept(new: &Value, old: &Value, faults: &mut Faults) {
    for condition in FINAL {
        if of_type(new, condition).len() < of_type(old, condition).len() {
            let text = format!("updates may not remove a condition of type {condition:?}");
            faults.forbidden(CONDITIONS, &text);
        }
    }
}

fn conditions(request: &Value, faults: &mut Faults) {
    let mut seen = HashSet::new();
    for (i, condition) in list(&request["status"]["conditions"]).iter().enumerate() {
        let (of, at) = (string(condition, "type"), format!("{CONDITIONS}[{i}]"));
        if of.is_empty() {
            faults.required(format!("{at}.type"), "");
        }
        let legal = if FINAL.contains(&of) {
            &STATES[1..2]
        } else {
            &STATES
        };
        match string(condition, "status") {
            "" => faults.required(format!("{at}.status"), ""),
            state => faults.one_of(&format!("{at}.status"), state, legal),
        }
        let contrary = DECISIONS.iter().any(|other| *other != of && seen.contains(other));
        if DECISIONS.contains(&of) && contrary {
            let text = "Approved and Denied conditions are mutually exclusive";
            faults.invalid(CONDITIONS, of, text);
        }
        if !seen.insert(of) {
            faults.duplicate(format!("{at}.type"), of);
        }
    }
}

/// What is wrong with certificates that are handed out.
fn certificate_fault(certificate: &str) -> Option<String> {
    let pem = STANDARD.decode(certificate).unwrap_or_default();
    if pem.is_empty() {
        return None;
    }
    let mut blocks = <(SectionKind, Vec<u8>)>::pem_slice_iter(&pem)
        .flatten()
        .peekable();
    if blocks.peek().is_none() {
        return Some("must contain at least one CERTIFICATE PEM block".to_owned());
    }
    blocks.find_map(|(kind, der)| match kind {
        SectionKind::Certificate if x509::certificate(&der).is_ok() => None,
        SectionKind::Certificate => Some("x509: malformed certificate".to_owned()),
        kind => {
            let found = block_name(kind);
            Some(format!(
                "only CERTIFICATE PEM blocks are allowed, found {found:?}"
            ))
        }
    })
}

fn block_name(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::Csr => "CERTIFICATE REQUEST",
        SectionKind::PrivateKey => "PRIVATE KEY",
        SectionKind::RsaPrivateKey => "RSA PRIVATE KEY",
        SectionKind::EcPrivateKey => "EC PRIVATE KEY",
        SectionKind::PublicKey => "PUBLIC KEY",
        SectionKind::Crl => "X509 CRL",
        _ => "ECHCONFIG",
    }
}
