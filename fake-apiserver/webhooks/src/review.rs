//! `AdmissionReview`: the request to a webhook, and the validation of its response.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fake_apiserver::extension::json::{list, string, texts};
use fake_apiserver::extension::{AdmissionRequest, Kind, Requester, intern};
use fake_apiserver::{Cause, Details, Status};
use serde_json::{Map, Value, json};

pub(crate) struct WebhookResponse {
    /// The JSON patch, if the response contains one; or the Status that denies the request.
    pub(crate) outcome: Result<Option<Value>, Status>,
    pub(crate) warnings: Vec<String>,
}

/// The `request` of an AdmissionReview without its objects; also the variable `request` of CEL expressions. `matched`: the resource and
/// API version in which the request matched the webhook.
pub fn review_request(request: &AdmissionRequest, requester: &Requester, matched: &Kind) -> Value {
    let target = &request.target;
    let names = |kind: &Kind| {
        let (group, version, body) = target.body_group_version_kind(kind);
        let resource = json!({"group": kind.group, "version": kind.version, "resource": kind.plural});
        (
            json!({"group": group, "version": version, "kind": body}),
            resource,
        )
    };
    let ((kind, resource), (request_kind, request_resource)) = (names(matched), names(&target.kind));
    let mut options = json!({"kind": request.operation.options(), "apiVersion": "meta.k8s.io/v1"});
    if let (Some(all), Some(given)) = (options.as_object_mut(), requester.options.as_object()) {
        all.extend(given.clone());
    }
    let mut review = json!({
        "kind": kind, "resource": resource, "requestKind": request_kind, "requestResource": request_resource,
        "operation": request.operation.as_str(), "userInfo": requester.user.info(), "dryRun": request.dry_run,
        "options": options,
    });
    let part = target.part.as_str().unwrap_or_default();
    for (name, text) in [
        ("subResource", part),
        ("requestSubResource", part),
        ("name", &target.name),
        ("namespace", &target.namespace),
    ] {
        if !text.is_empty() {
            review[name] = text.into();
        }
    }
    review
}

/// Parses the webhook's response to the AdmissionReview with this uid. An invalid response is an error.
pub(crate) fn verify_response(
    review: &Value,
    (hook, version): (&str, &str),
    uid: &str,
    mutating: bool,
) -> Result<WebhookResponse, String> {
    let response = &review["response"];
    let invalid = |why: String| format!("received invalid webhook response: {why}");
    if !response.is_object() {
        return Err(invalid("webhook response was absent".to_owned()));
    }
    let patch = match string(response, "patch") {
        "" => None,
        text => Some(STANDARD.decode(text).map_err(|why| why.to_string())?),
    };
    if version == "v1" {
        verify(review, uid, mutating, patch.is_some()).map_err(invalid)?;
    }
    let all = texts(&response["warnings"]).into_iter();
    let warnings = all.map(str::to_owned).collect();
    let outcome = if response["allowed"] == true {
        let patch = patch
            .filter(|_| mutating)
            .map(|patch| serde_json::from_slice(&patch));
        let patch = patch.transpose();
        Ok(patch.map_err(|why| format!("received undecodable patch in webhook response: {why}"))?)
    } else {
        Err(denial(hook, &response["status"]))
    };
    Ok(WebhookResponse { outcome, warnings })
}

fn verify(review: &Value, uid: &str, mutating: bool, has_patch: bool) -> Result<(), String> {
    let response = &review["response"];
    let found = string(response, "uid");
    if found != uid {
        return Err(format!("expected response.uid={uid:?}, got {found:?}"));
    }
    let (version, kind) = (string(review, "apiVersion"), string(review, "kind"));
    if (version, kind) != ("admission.k8s.io/v1", "AdmissionReview") {
        let shown = match (version, kind) {
            ("", "") => "/, Kind=".to_owned(),
            _ => format!(
                "{}, Kind={kind}",
                if version.contains('/') {
                    version.to_owned()
                } else {
                    format!("/{version}")
                }
            ),
        };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {shown}"
        ));
    }
    let has_patch_type = response["patchType"].is_string();
    let why = match (mutating, has_patch, has_patch_type) {
        (true, true, false) => "webhook returned response.patch but not response.patchType",
        (true, false, true) => "webhook returned response.patchType but not response.patch",
        (false, true, _) => "validating webhook may not return response.patch",
        (false, _, true) => "validating webhook may not return response.patchType",
        _ => return patch_type(response, has_patch),
    };
    Err(why.to_owned())
}

fn patch_type(response: &Value, has_patch: bool) -> Result<(), String> {
    match response["patchType"].as_str() {
        Some("JSONPatch") | None => Ok(()),
        Some("") => Err("webhook returned invalid response.patchType of \"\"".to_owned()),
        Some(other) if has_patch => Err(format!("unsupported patch type {other:?}")),
        Some(_) => Ok(()),
    }
}

/// The Status of a denied request, from the webhook's `status`. The code is at least 400.
fn denial(hook: &str, status: &Value) -> Status {
    let denied = format!("admission webhook {hook:?} denied the request");
    let reason = string(status, "reason");
    let message = match string(status, "message") {
        "" if reason.is_empty() => format!("{denied} without explanation"),
        "" => format!("{denied}: {reason}"),
        message => format!("{denied}: {message}"),
    };
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    Status {
        code: code.unwrap_or_default().max(400),
        reason: Some(reason).filter(|reason| !reason.is_empty()).map(intern::name),
        message,
        details: status["details"]
            .as_object()
            .map(|details| Box::new(details_of(details))),
        continue_token: None,
        injected: false,
    }
}

fn details_of(details: &Map<String, Value>) -> Details {
    let details = Value::Object(details.clone());
    let text = |name: &str| string(&details, name).to_owned();
    let causes = list(&details["causes"]).iter().map(|cause| Cause {
        reason: intern::name(string(cause, "reason")),
        message: string(cause, "message").to_owned(),
        field: string(cause, "field").to_owned(),
    });
    let seconds = details["retryAfterSeconds"].as_u64();
    Details {
        name: text("name"),
        group: text("group"),
        kind: text("kind"),
        uid: text("uid"),
        causes: causes.collect(),
        retry_after_seconds: seconds
            .and_then(|seconds| seconds.try_into().ok())
            .unwrap_or_default(),
    }
}
