//! The rules for services of whole APIs: what they are called, and where they are.

use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::{metadata, names};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const STATES: [&str; 3] = ["True", "False", "Unknown"];

/// The priorities: how high they may be.
const PRIORITIES: [(&str, i64); 2] = [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)];

/// What the server itself serves is there at once.
pub(super) fn create(api: &mut Value, now: &str) {
    if api["spec"]["service"].is_object() {
        return;
    }
    json::member(api, "status").insert(
        "conditions".to_owned(),
        json!([{
            "type": "Available", "status": "True", "lastTransitionTime": now, "reason": "Local",
            "message": "Local APIServices are always available",
        }]),
    );
}

pub(super) fn validate(api: &Value, faults: &mut Faults) {
    let spec = &api["spec"];
    let (group, version) = (string(spec, "group"), string(spec, "version"));
    called(api, &format!("{version}.{group}"), faults);
    if group.is_empty() && version != "v1" {
        let text = "only v1 may have an empty group and it better be legacy kube";
        faults.required("spec.group", text);
    } else if !group.is_empty() {
        faults.complain("spec.group", group, names::subdomain(group));
    }
    faults.complain("spec.version", version, names::label_1035(version));
    for (name, most) in PRIORITIES {
        let priority = spec[name].as_i64().unwrap_or_default();
        if !(1..=most).contains(&priority) {
            let text = format!("must be positive and less than {most}");
            faults.invalid(format!("spec.{name}"), priority, &text);
        }
    }
    place(spec, faults);
}

fn called(api: &Value, wanted: &str, faults: &mut Faults) {
    for field in ["generateName", "name"] {
        let name = metadata::text(api, field);
        let complaints = names::path_segment(name);
        if !complaints.is_empty() {
            faults.complain(&format!("metadata.{field}"), name, complaints);
        } else if !name.is_empty() && name != wanted {
            let text = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
            faults.invalid(format!("metadata.{field}"), name, &text);
        }
    }
}

fn place(spec: &Value, faults: &mut Faults) {
    let service = &spec["service"];
    let trust = STANDARD.decode(string(spec, "caBundle")).unwrap_or_default();
    let trusts_all = spec["insecureSkipTLSVerify"] == true;
    let field = "spec.insecureSkipTLSVerify";
    if !service.is_object() {
        if !trust.is_empty() {
            let size = format!("{} bytes", trust.len());
            faults.invalid("spec.caBundle", size, "local APIServices may not have a caBundle");
        }
        if trusts_all {
            faults.invalid(
                field,
                true,
                "local APIServices may not have insecureSkipTLSVerify",
            );
        }
        return;
    }
    for name in ["namespace", "name"] {
        if string(service, name).is_empty() {
            faults.required(format!("spec.service.{name}"), "");
        }
    }
    let port = service["port"].as_i64().unwrap_or_default();
    faults.service_port("spec.service.port", port);
    if trusts_all && !trust.is_empty() {
        faults.invalid(field, true, "may not be true if caBundle is present");
    }
}

pub(super) fn validate_status(new: &Value, _: &Value, faults: &mut Faults) {
    for (i, condition) in list(&new["status"]["conditions"]).iter().enumerate() {
        let field = format!("status.conditions[{i}].status");
        faults.one_of(&field, string(condition, "status"), &STATES);
    }
}
