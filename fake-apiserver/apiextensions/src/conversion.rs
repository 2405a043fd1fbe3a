//! Conversion of custom resources by a webhook (`ConversionReview`).
//!
//! Owns the ConversionReview request and the validation of the response. Does not know when custom resources are converted.

use fake_apiserver::extension::json::{self, list, string};
use fake_apiserver::extension::webhook::{ClientConfig, WebhookClient};
use fake_apiserver::extension::{Conversion, ConversionWebhook, CustomResourceVersion, metadata};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Timeout of one call of a conversion webhook.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The conversion webhook of a CRD (`webhookConverter` of apiextensions-apiserver).
struct WebhookConverter {
    client: ClientConfig,
    /// The ConversionReview version to send; None if the server knows none of `conversionReviewVersions`.
    version: Option<&'static str>,
}

/// Parses `spec.conversion` of a CRD. None unless the strategy is `Webhook`.
pub(crate) fn read(conversion: &Value) -> Option<Arc<Conversion>> {
    if conversion["strategy"] != "Webhook" {
        return None;
    }
    let webhook = &conversion["webhook"];
    let versions = json::texts(&webhook["conversionReviewVersions"]);
    let mut versions = versions.into_iter();
    Some(Arc::new(Conversion::new(WebhookConverter {
        client: ClientConfig::read(&webhook["clientConfig"]),
        version: versions.find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| *known == version)),
    })))
}

impl ConversionWebhook for WebhookConverter {
    fn convert<'a>(
        &'a self,
        client: &'a dyn WebhookClient,
        to: &'a CustomResourceVersion,
        objects: Vec<Value>,
    ) -> BoxFuture<'a, Result<Vec<Value>, String>> {
        async move { self.convert_objects(client, to, &objects).await }.boxed()
    }
}

impl WebhookConverter {
    async fn convert_objects(
        &self,
        client: &dyn WebhookClient,
        to: &CustomResourceVersion,
        objects: &[Value],
    ) -> Result<Vec<Value>, String> {
        let Some(version) = self.version else {
            return Err("no supported conversion review versions".to_owned());
        };
        let kind = match objects {
            [one] => format!("{}, Kind={}", string(one, "apiVersion"), to.definition.kind),
            all => {
                let first = all.first().map_or("", |first| string(first, "apiVersion"));
                format!("{first}, Kind={}", to.list_kind)
            }
        };
        let uid = Uuid::new_v4().to_string();
        let review = json!({
            "kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{version}"),
            "request": {"uid": uid, "desiredAPIVersion": to.definition.api_version(), "objects": objects},
        });
        let failed = |why: String| format!("conversion webhook for {kind} failed: {why}");
        let review = client
            .post(&self.client, &review, TIMEOUT)
            .await
            .map_err(failed)?;
        let converted = converted_objects(&review, version, &uid).map_err(failed)?;
        if converted.len() != objects.len() {
            return Err(format!(
                "conversion webhook for {kind} returned {} objects, expected {}",
                converted.len(),
                objects.len()
            ));
        }
        let pairs = objects.iter().zip(converted).enumerate();
        pairs
            .map(|(at, (before, after))| {
                restored(to, before, after.clone()).map_err(|why| {
                    let object = match (objects.len(), why.at_index) {
                        (1, false) => "object".to_owned(),
                        (1, true) => "object at index 0".to_owned(),
                        _ => format!("converted object at index {at}"),
                    };
                    format!(
                        "conversion webhook for {kind} returned invalid {object}: {}",
                        why.text
                    )
                })
            })
            .collect()
    }
}

/// The converted objects in a ConversionReview response, or an error message if the response is invalid or reports a failure.
fn converted_objects<'a>(review: &'a Value, version: &str, uid: &str) -> Result<&'a [Value], String> {
    let response = &review["response"];
    let (found_version, found_kind) = (string(review, "apiVersion"), string(review, "kind"));
    if version == "v1" && (found_version, found_kind) != ("apiextensions.k8s.io/v1", "ConversionReview") {
        let wanted = "apiextensions.k8s.io/v1, Kind=ConversionReview";
        return Err(format!(
            "expected webhook response of {wanted}, got {found_version}, Kind={found_kind}"
        ));
    }
    if !response.is_object() {
        return Err("no response provided".to_owned());
    }
    let found_uid = string(response, "uid");
    if version == "v1" && found_uid != uid {
        return Err(format!("expected response.uid={uid:?}, got {found_uid:?}"));
    }
    let result = &response["result"];
    match (string(result, "status"), string(result, "message")) {
        ("Success", _) => Ok(list(&response["convertedObjects"])),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

/// Why an object in a ConversionReview response is rejected.
struct Invalid {
    text: String,
    /// Whether kube-apiserver's message contains the index of the object: only for a wrong apiVersion or kind.
    at_index: bool,
}

/// Validates an object that the webhook returned, and restores its metadata except labels and annotations, which the webhook can change.
fn restored(to: &CustomResourceVersion, before: &Value, mut after: Value) -> Result<Value, Invalid> {
    let at_index = |text: String| Invalid { text, at_index: true };
    let (expected, found) = (to.definition.api_version(), string(&after, "apiVersion"));
    if found != expected {
        let text = format!("invalid groupVersion (expected {expected}, received {found})");
        return Err(at_index(text));
    }
    let found = string(&after, "kind");
    if found != to.definition.kind {
        let text = format!("invalid kind (expected {}, received {found})", to.definition.kind);
        return Err(at_index(text));
    }
    let inside = |text: String| Invalid {
        text,
        at_index: false,
    };
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (expected, found) = (metadata::text(before, field), metadata::text(&after, field));
        if expected != found {
            return Err(inside(format!(
                "must have the same {shown}: {expected} != {found}"
            )));
        }
    }
    let mut own = before["metadata"].clone();
    for field in ["labels", "annotations"] {
        let made = after["metadata"].get(field).cloned().unwrap_or_default();
        if !made.is_null() && !made.is_object() {
            return Err(inside(format!("invalid metadata.{field} in converted object")));
        }
        json::assign(&mut own, field, made);
    }
    after["metadata"] = own;
    Ok(after)
}
