//! serviceaccounts/NAME/token: issues a service account token (`TokenRequest` of authentication.k8s.io/v1).

use super::call::{Answer, Call};
use super::dynamic_admission::WriteAdmission;
use super::read::existing;
use super::subresource_body;
use crate::access::auth::{BINDABLE, Bound, Claim};
use crate::kinds::{Catalogue, POD, TOKEN_REQUEST, token_lifetime};
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::patch::managed::FieldManager;
use crate::store::Txn;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) fn create(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let request = subresource_body::read(txn, call, &TOKEN_REQUEST, None)?;
    let mut request = subresource_body::admit(txn, call, &TOKEN_REQUEST, request)?;
    WriteAdmission::create(&call.target).validate(txn, &request)?;
    FieldManager {
        kind: &TOKEN_REQUEST,
        ..call.field_manager()
    }
    .track(&txn.now, None, &mut request);
    let account = existing(txn, call)?;
    check_name(&request, call.target.name())?;
    let mut spec = request["spec"].take();
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or_default();
    validate_lifetime(seconds)?;
    if json::texts(&spec["audiences"]).is_empty() {
        spec["audiences"] = json!(txn.options().account_tokens.audiences());
    }
    let namespace = metadata::text(account.value(), "namespace");
    let bound = bound_object(txn, namespace, call.target.name(), &spec["boundObjectRef"])?;
    let from = Timestamp::now().as_second();
    let until = from.saturating_add(seconds);
    let claim = Claim {
        namespace: namespace.to_owned(),
        name: call.target.name().to_owned(),
        uid: metadata::text(account.value(), "uid").to_owned(),
        audiences: json::texts(&spec["audiences"])
            .into_iter()
            .map(str::to_owned)
            .collect(),
        from,
        until,
        bound,
    };
    // A dry run also returns a valid token: issuing a token stores nothing.
    let token = txn.issue(&claim);
    let expires = Timestamp::from_second(until)
        .map_err(|_| Status::internal("the expiration time of the token is out of range"))?;
    let mut metadata = request["metadata"].take();
    for (field, value) in [
        ("name", &*claim.name),
        ("uid", &claim.uid),
        ("creationTimestamp", &txn.now),
    ] {
        metadata[field] = value.into();
    }
    let answer = json!({
        "kind": TOKEN_REQUEST.kind,
        "apiVersion": TOKEN_REQUEST.api_version(),
        "metadata": metadata,
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()},
    });
    Ok(Answer::object(201, Object::new(answer, 0)))
}

fn check_name(request: &Value, account: &str) -> Result<(), Status> {
    let name = metadata::text(request, "name");
    if name.is_empty() || name == account {
        return Ok(());
    }
    let mut errors = ErrorList::default();
    let text = "must match the service account name if specified";
    errors.invalid("metadata.name", name, text);
    Err(Status::invalid(TOKEN_REQUEST.group_kind(), account, errors))
}

fn validate_lifetime(seconds: i64) -> Result<(), Status> {
    let mut errors = ErrorList::default();
    let field = "spec.expirationSeconds";
    token_lifetime::validate_lifetime(field, seconds, &mut errors);
    Status::refuse_invalid(TOKEN_REQUEST.group_kind(), "", errors)
}

/// The object to which the token is bound. It must exist and have the requested uid.
fn bound_object(
    txn: &Txn<'_>,
    namespace: &str,
    account: &str,
    reference: &Value,
) -> Result<Option<Bound>, Status> {
    if reference.is_null() {
        return Ok(None);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let mut bindable = BINDABLE
        .iter()
        .filter_map(|plural| Catalogue::built_in().find_resource("", plural));
    let kind = bindable
        .find(|kind| kind.kind == text("kind") && ["", "v1"].contains(&text("apiVersion")))
        .ok_or_else(|| {
            let group_version = match text("apiVersion") {
                "" => "/",
                version => version,
            };
            Status::bad_request(format!(
                "cannot bind token to object of type {group_version}, Kind={}",
                text("kind")
            ))
        })?;
    if text("name").is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let found = txn
        .get(kind, &kind.key(Some(namespace), text("name")))
        .ok_or_else(|| Status::not_found(kind.group_resource(), text("name")))?;
    // A pod has no service account if the ServiceAccount admission plugin was disabled when it was created.
    let of_pod = found.value()["spec"]["serviceAccountName"]
        .as_str()
        .unwrap_or("default");
    if *kind == POD && of_pod != account {
        return Err(Status::bad_request(format!(
            "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
        )));
    }
    let uid = metadata::text(found.value(), "uid");
    if !text("uid").is_empty() && text("uid") != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
             deleted and then recreated",
            text("uid")
        );
        return Err(Status::conflict(kind.group_resource(), text("name"), &why));
    }
    Ok(Some(Bound {
        kind: kind.clone(),
        name: text("name").to_owned(),
        uid: uid.to_owned(),
    }))
}
