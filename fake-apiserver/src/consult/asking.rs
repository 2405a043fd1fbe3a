//! Calls of one webhook: matching, request, and handling of failures.

use super::{address, convert};
use crate::admission::{
    Asker, Inputs, Question, Registry, Reply, Requester, StateReader, Webhook, read_review, review_request,
};
use crate::kinds::{Kind, NAMESPACE};
use crate::machinery::status::Status;
use crate::store::Store;
use crate::verbs::for_webhook;
use serde_json::{Value, json};
use uuid::Uuid;

/// An admission request with all that is needed to call webhooks.
pub(super) struct Asking<'a> {
    pub(super) store: &'a Store,
    pub(super) registry: &'a Registry,
    pub(super) requester: &'a Requester,
    pub(super) question: &'a Question,
}

/// Why a webhook call returned no valid result.
pub(super) enum Trouble {
    /// The request is rejected, whatever the failurePolicy.
    Refused(Status),
    /// The call failed.
    Failed(String),
}

impl Asking<'_> {
    /// The resource and version in which a webhook matches. None if it does not match. An error of matching rejects the
    /// request.
    pub(super) async fn wanted(
        &self,
        hook: &Webhook,
        object: Option<&Value>,
    ) -> Result<Option<Kind>, Status> {
        let found = hook.selection.find(self.question, object, self.store)?;
        let Some(kind) = found else { return Ok(None) };
        if hook.conditions.is_empty() {
            return Ok(Some(kind));
        }
        let (object, old) = self
            .objects(&kind, object)
            .await
            .map_err(Status::internal_error)?;
        let holds = self.conditions_hold(hook, &kind, &object, &old);
        let subject = &self.question.subject;
        let refuse = |why: String| Status::forbidden(subject.kind.resource(), &subject.name, &why);
        Ok(holds.map_err(refuse)?.then_some(kind))
    }

    fn conditions_hold(
        &self,
        hook: &Webhook,
        kind: &Kind,
        object: &Value,
        old_object: &Value,
    ) -> Result<bool, String> {
        let subject = &self.question.subject;
        let request = review_request(self.question, self.requester, kind);
        let found = match subject.namespace.as_str() {
            "" => None,
            _ if subject.kind == NAMESPACE => None,
            name => self.store.object(&NAMESPACE, name),
        };
        let namespace = found.map_or(Value::Null, |found| found.value().clone());
        let (asker, check) = (
            Asker {
                around: self.store,
                user: &self.requester.user,
            },
            subject.check(),
        );
        hook.conditions.hold(&Inputs {
            object,
            old_object,
            request: &request,
            params: None,
            namespace: &namespace,
            authority: (&asker, &check),
        })
    }

    /// New and old object in the version of `kind`, or `null`. A failed conversion is an error.
    async fn objects(&self, kind: &Kind, object: Option<&Value>) -> Result<(Value, Value), String> {
        let old = self.question.old.as_ref().map(|old| old.document().into_owned());
        Ok((
            self.form(kind, object).await?,
            self.form(kind, old.as_ref()).await?,
        ))
    }

    /// An object in the version of `kind`, or `null`.
    pub(super) async fn form(&self, kind: &Kind, object: Option<&Value>) -> Result<Value, String> {
        let is_whole = self.question.subject.is_whole();
        match object {
            None => Ok(Value::Null),
            Some(object) if is_whole && kind.conversion().is_some() => {
                let converted = convert::value_of(self.store, kind, object).await?;
                Ok(for_webhook(kind, is_whole, &converted))
            }
            Some(object) => Ok(for_webhook(kind, is_whole, object)),
        }
    }

    /// Calls a webhook with an object in the version of `kind`.
    pub(super) async fn ask(
        &self,
        hook: &Webhook,
        kind: &Kind,
        object: Option<&Value>,
        mutating: bool,
    ) -> Result<Reply, Trouble> {
        if self.question.dry_run && !hook.takes_dry_runs {
            let text = format!("admission webhook {:?} does not support dry run", hook.name);
            return Err(Trouble::Refused(Status::bad_request(text)));
        }
        let Some(version) = hook.version else {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, \
                       v1beta1)";
            return Err(Trouble::Failed(why.to_owned()));
        };
        let uid = Uuid::new_v4().to_string();
        let mut request = review_request(self.question, self.requester, kind);
        request["uid"] = uid.as_str().into();
        let objects = self.objects(kind, object).await;
        let unfit = |why: String| Trouble::Refused(Status::internal_error(why));
        (request["object"], request["oldObject"]) = objects.map_err(unfit)?;
        let review = json!({
            "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request,
        });
        let destination = address::of(&hook.client, self.store);
        let answered = self
            .store
            .connections()
            .post(&destination, &review, hook.patience)
            .await;
        let answered = answered.map_err(|why| Trouble::Failed(format!("failed to call webhook: {why}")))?;
        read_review(&answered, (&hook.name, version), &uid, mutating).map_err(Trouble::Failed)
    }
}

impl Trouble {
    /// The resulting error of the request. None if the webhook ignores failures.
    pub(super) fn refusal(self, hook: &Webhook) -> Option<Status> {
        match self {
            Self::Refused(status) => Some(status),
            Self::Failed(why) if hook.ignores_failures => {
                tracing::warn!(
                    webhook = hook.name,
                    why,
                    "a webhook could not be asked, which it ignores"
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
