//! Calls one webhook: matching, request, and handling of failures.

use crate::accessor::WebhookAccessor;
use crate::activation::Activation;
use crate::authorizer::{RequestAuthorizer, request_resource};
use crate::review::{WebhookResponse, review_request, verify_response};
use fake_apiserver::Status;
use fake_apiserver::extension::{Kind, WebhookContext};
use serde_json::{Value, json};
use uuid::Uuid;

/// Calls webhooks for one admission request (`generic.Dispatcher` of k8s.io/apiserver).
#[derive(Clone, Copy)]
pub(crate) struct Dispatcher<'a>(pub(crate) WebhookContext<'a>);

pub(crate) enum CallError {
    /// The request is rejected, whatever the `failurePolicy`.
    Rejected(Status),
    /// The call failed; the `failurePolicy` decides whether the request is rejected.
    Failed(String),
}

impl Dispatcher<'_> {
    /// The resource and API version in which the request matches the webhook (`ShouldCallHook`). None if the request does not match. An
    /// error during matching rejects the request.
    pub(crate) async fn should_call_hook(
        &self,
        hook: &WebhookAccessor,
        object: Option<&Value>,
    ) -> Result<Option<Kind>, Status> {
        let found = hook.criteria.matched_kind(self.0.request, object, self.0.state)?;
        let Some(kind) = found else { return Ok(None) };
        if hook.conditions.is_empty() {
            return Ok(Some(kind));
        }
        let (object, old) = self
            .objects(&kind, object)
            .await
            .map_err(Status::internal_error)?;
        let matches = self.match_conditions_hold(hook, &kind, &object, &old);
        let target = &self.0.request.target;
        let forbidden = |why: String| Status::forbidden(target.kind.group_resource(), &target.name, &why);
        Ok(matches.map_err(forbidden)?.then_some(kind))
    }

    fn match_conditions_hold(
        &self,
        hook: &WebhookAccessor,
        kind: &Kind,
        object: &Value,
        old_object: &Value,
    ) -> Result<bool, String> {
        let WebhookContext {
            request,
            requester,
            state,
            ..
        } = self.0;
        let target = &request.target;
        let namespace = match target.namespace.as_str() {
            "" => None,
            _ if target.is_namespace() => None,
            name => state.namespace(name).ok(),
        };
        let authorizer = RequestAuthorizer {
            state,
            user: &requester.user,
        };
        hook.conditions.all_true(&Activation {
            object,
            old_object,
            request: &review_request(request, requester, kind),
            params: None,
            namespace: namespace.as_ref().map_or(&Value::Null, |found| found.value()),
            authorizer: (&authorizer, &request_resource(target)),
        })
    }

    /// New and old object, converted to the version of `kind`. A missing object is `null`.
    async fn objects(&self, kind: &Kind, object: Option<&Value>) -> Result<(Value, Value), String> {
        let old = self.0.request.old.as_ref().map(|old| old.document().into_owned());
        Ok((
            self.object(kind, object).await?,
            self.object(kind, old.as_ref()).await?,
        ))
    }

    async fn object(&self, kind: &Kind, object: Option<&Value>) -> Result<Value, String> {
        match object {
            None => Ok(Value::Null),
            Some(object) => self.0.converter.convert(kind, object).await,
        }
    }

    /// Calls a webhook with an object in the version of `kind`.
    pub(crate) async fn call_hook(
        &self,
        hook: &WebhookAccessor,
        kind: &Kind,
        object: Option<&Value>,
        mutating: bool,
    ) -> Result<WebhookResponse, CallError> {
        if self.0.request.dry_run && !hook.supports_dry_run {
            let text = format!("admission webhook {:?} does not support dry run", hook.name);
            return Err(CallError::Rejected(Status::bad_request(text)));
        }
        let Some(version) = hook.version else {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, \
                       v1beta1)";
            return Err(CallError::Failed(why.to_owned()));
        };
        let uid = Uuid::new_v4().to_string();
        let mut request = review_request(self.0.request, self.0.requester, kind);
        request["uid"] = uid.as_str().into();
        let objects = self.objects(kind, object).await;
        let unconvertible = |why: String| CallError::Rejected(Status::internal_error(why));
        (request["object"], request["oldObject"]) = objects.map_err(unconvertible)?;
        let review = json!({
            "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request,
        });
        let response = self.0.client.post(&hook.client, &review, hook.timeout).await;
        let response = response.map_err(|why| CallError::Failed(format!("failed to call webhook: {why}")))?;
        verify_response(&response, (&hook.name, version), &uid, mutating).map_err(CallError::Failed)
    }
}

impl CallError {
    /// The Status that rejects the request. None if `failurePolicy` is `Ignore`.
    pub(crate) fn denial(self, hook: &WebhookAccessor) -> Option<Status> {
        match self {
            Self::Rejected(status) => Some(status),
            Self::Failed(why) if hook.ignores_failures => {
                tracing::warn!(
                    webhook = hook.name,
                    why,
                    "failed calling webhook; failurePolicy Ignore admits the request"
                );
                None
            }
            Self::Failed(why) => Some(Status::internal_error(format!(
                "failed calling webhook {:?}: {why}",
                hook.name
            ))),
        }
    }
}
