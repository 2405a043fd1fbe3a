//! serviceaccounts/NAME/token: issues a token for a service account (`TokenRequest` of authentication.k8s.io/v1).

use super::body::no_body;
use super::call::{Answer, Call, Payload};
use super::consult::Write;
use super::options::dry_run;
use super::read::existing;
use crate::access::auth::{API_AUDIENCE, BINDABLE, Bound, Claim};
use crate::kinds::{Catalogue, token_lifetime};
use crate::machinery::faults::Faults;
use crate::machinery::status::{GroupResource, Status};
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::schema::{Type, conform};
use crate::store::Txn;
use jiff::Timestamp;
use serde_json::{Value, json};

const TOKEN_REQUEST: GroupResource<'static> = GroupResource {
    group: "authentication.k8s.io",
    kind: "TokenRequest",
};

pub(super) fn create(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let dry = dry_run(&call.params.all("dryRun"), "CreateOptions")?;
    let Payload::Object(body) = &call.payload else {
        return Err(no_body());
    };
    let account = existing(txn, call)?;
    txn.dry_run = dry;
    let mut sent = body.value.clone();
    let write = Write::create(&call.target);
    write.mutate(txn, &mut sent, |_, _| Ok(()))?;
    let mut request = identify(&sent)?;
    write.approve(txn, &request)?;
    check_name(&request, call.target.name())?;
    let mut spec = request["spec"].take();
    let seconds = spec["expirationSeconds"]
        .as_i64()
        .unwrap_or(token_lifetime::USUAL_SECONDS);
    check(seconds)?;
    if json::texts(&spec["audiences"]).is_empty() {
        spec["audiences"] = json!([API_AUDIENCE]);
    }
    spec["expirationSeconds"] = seconds.into();
    let namespace = metadata::text(&account.value, "namespace");
    let bound = bound(txn, namespace, &spec["boundObjectRef"])?;
    let from = Timestamp::now().as_second();
    let until = from.saturating_add(seconds);
    let claim = Claim {
        namespace: namespace.to_owned(),
        name: call.target.name().to_owned(),
        uid: metadata::text(&account.value, "uid").to_owned(),
        audiences: json::texts(&spec["audiences"])
            .into_iter()
            .map(str::to_owned)
            .collect(),
        from,
        until,
        bound,
    };
    let token = if dry { "fake".to_owned() } else { txn.issue(&claim) };
    let expires =
        Timestamp::from_second(until).map_err(|_| Status::internal("the time of expiry is out of range"))?;
    let answer = json!({
        "kind": TOKEN_REQUEST.kind,
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": claim.name, "namespace": namespace, "uid": txn.new_uid(),
            "creationTimestamp": txn.now,
        },
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()},
    });
    Ok(Answer::Object {
        code: 201,
        object: Object::new(answer, 0),
    })
}

/// Checks `apiVersion` and `kind` of the body.
fn identify(body: &Value) -> Result<Value, Status> {
    for (field, expected) in [
        ("kind", TOKEN_REQUEST.kind),
        ("apiVersion", "authentication.k8s.io/v1"),
    ] {
        let sent = body[field].as_str().unwrap_or(expected);
        if sent != expected {
            return Err(Status::bad_request(format!(
                "the {field} of the body is {sent:?}; send {expected}"
            )));
        }
    }
    let mut request = body.clone();
    let form = Type::find("authentication.k8s.io/v1", TOKEN_REQUEST.kind)
        .ok_or_else(|| Status::internal("the form of a TokenRequest is not known"))?;
    conform(form, &mut request).map_err(|why| {
        Status::bad_request(format!(
            "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: {why}"
        ))
    })?;
    if request["spec"].is_null() {
        request["spec"] = json!({});
    }
    Ok(request)
}

/// A request that names an account names the one that it is sent to.
fn check_name(request: &Value, account: &str) -> Result<(), Status> {
    let name = metadata::text(request, "name");
    if name.is_empty() || name == account {
        return Ok(());
    }
    let mut faults = Faults::default();
    let text = "must match the service account name if specified";
    faults.invalid("metadata.name", name, text);
    Err(Status::invalid(TOKEN_REQUEST, account, faults))
}

fn check(seconds: i64) -> Result<(), Status> {
    let mut faults = Faults::default();
    let field = "spec.expirationSeconds";
    token_lifetime::check(field, seconds, &mut faults);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(TOKEN_REQUEST, "", faults))
    }
}

/// The object that the token is to be bound to; it must exist and be the one that is meant.
fn bound(txn: &Txn<'_>, namespace: &str, reference: &Value) -> Result<Option<Bound>, Status> {
    if reference.is_null() {
        return Ok(None);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let mut bindable = BINDABLE
        .iter()
        .filter_map(|plural| Catalogue::built_in().find_resource("", plural));
    let kind = bindable
        .find(|kind| kind.kind == text("kind") && text("apiVersion") == "v1")
        .ok_or_else(|| {
            Status::bad_request(format!(
                "cannot bind token to object of type {}, Kind={}",
                text("apiVersion"),
                text("kind")
            ))
        })?;
    let found = txn
        .get(kind, &kind.key(Some(namespace), text("name")))
        .ok_or_else(|| Status::not_found(kind.resource(), text("name")))?;
    let uid = metadata::text(&found.value, "uid");
    if !text("uid").is_empty() && text("uid") != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
             deleted and then recreated",
            text("uid")
        );
        return Err(Status::conflict(kind.resource(), text("name"), &why));
    }
    Ok(Some(Bound {
        kind: kind.clone(),
        name: text("name").to_owned(),
        uid: uid.to_owned(),
    }))
}
