//! certificates.k8s.io: CertificateSigningRequests are stored with their requester; no signer issues certificates.

use fake_apiserver::extension::resource::Cell::{At, Of, Text};
use fake_apiserver::extension::resource::ServedReleases;
use fake_apiserver::extension::resource::not_supported;
use fake_apiserver::extension::resource::selectable;
use fake_apiserver::extension::resource::since;
use fake_apiserver::extension::resource::{AGE, NAME, condition, text};
use fake_apiserver::extension::resource::{
    Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext, Subresource,
};
use fake_apiserver::extension::{json, names};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub(super) static CERTIFICATE_SIGNING_REQUEST: ResourceDefinition = ResourceDefinition {
    kind: "CertificateSigningRequest",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "certificatesigningrequests",
    group: "certificates.k8s.io",
    short_names: &["csr"],
    namespaced: false,
    status: true,
    subresources: &[Subresource::Approval],
    // As in kube-apiserver, the object name is not validated.
    name_rule: |_| names::Messages::new(),
    main_resets: &[&["spec"], &["status"]],
    status_resets: &[&["spec"], &["status", "conditions"]],
    selectable: &[selectable("spec.signerName", &["/spec/signerName"])],
    unknown_label: not_supported,
    hooks: Hooks {
        create: set_requester,
        // The spec is immutable: changes to the spec are ignored.
        update: |new, old, _| json::assign(new, "spec", old["spec"].clone()),
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        AGE,
        text("SignerName", Text("/spec/signerName")),
        text("Requestor", Text("/spec/username")),
        text("RequestedDuration", At(requested_duration)),
        text("Condition", Of(condition_cell)),
    ],
    life: ServedReleases::since(19),
    ..PLAIN
};

/// Sets the user of the request as the requester, and ignores the requester fields in the request body.
fn set_requester(object: &mut Value, setting: &StrategyContext<'_>) {
    let spec = json::member_or_insert_null(object, "spec");
    for field in ["username", "uid", "groups", "extra"] {
        json::assign(spec, field, Value::Null);
    }
    let Some(by) = setting.requester else { return };
    json::assign(spec, "username", by.name.into());
    json::assign(spec, "groups", by.groups.into());
    if !by.uid.is_empty() {
        json::assign(spec, "uid", by.uid.into());
    }
    if !by.extra.is_empty() {
        json::assign(spec, "extra", json!(by.extra));
    }
}

fn requested_duration(request: &Value, now: Timestamp) -> Value {
    let seconds = request["spec"]["expirationSeconds"].as_i64();
    let end = seconds.and_then(|seconds| now.checked_add(SignedDuration::from_secs(seconds)).ok());
    end.map_or_else(|| "<none>".into(), |end| since(&now.to_string(), end).into())
}

fn condition_cell(request: &Value) -> Value {
    let decided = ["Approved", "Denied", "Failed"].into_iter();
    let mut states: Vec<&str> = decided.filter(|of| condition(request, of).is_some()).collect();
    if states.is_empty() {
        states.push("Pending");
    }
    if !json::string(&request["status"], "certificate").is_empty() {
        states.push("Issued");
    }
    states.join(",").into()
}
