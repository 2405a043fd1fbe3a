//! Validating webhooks, called concurrently.

use crate::accessor::WebhookAccessor;
use crate::dispatcher::Dispatcher;
use crate::review::WebhookResponse;
use fake_apiserver::extension::{AdmissionResponse, Kind, WebhookContext};
use futures::future::join_all;

/// Calls all matching validating webhooks. If several webhooks deny the request, the denial of the first one is returned.
pub(crate) async fn dispatch(webhooks: &[WebhookAccessor], context: WebhookContext<'_>) -> AdmissionResponse {
    let object = context.request.object.as_ref();
    let dispatcher = Dispatcher(context);
    let mut response = AdmissionResponse::allowed();
    let mut matched: Vec<(&WebhookAccessor, Kind)> = Vec::new();
    for hook in webhooks {
        match dispatcher.should_call_hook(hook, object).await {
            Ok(kind) => matched.extend(kind.map(|kind| (hook, kind))),
            Err(denial) => {
                response.outcome = Err(denial);
                return response;
            }
        }
    }
    let calls = matched
        .iter()
        .map(|(hook, kind)| dispatcher.call_hook(hook, kind, object, false));
    for ((hook, _), called) in matched.iter().zip(join_all(calls).await) {
        let denial = match called {
            Ok(WebhookResponse { outcome, warnings }) => {
                response.warnings.extend(warnings);
                outcome.err()
            }
            Err(error) => error.denial(hook),
        };
        if let Some(denial) = denial.filter(|_| response.outcome.is_ok()) {
            response.outcome = Err(denial);
        }
    }
    response
}
