//! Webhook calls of a request, made without the store lock.
//!
//! Owns the order of calls and the connections to webhooks. Does not know verbs or the protocol of client requests.

mod conversion;
mod resolver;

pub(crate) use conversion::convert_objects;

use crate::admission::{AdmissionSession, WebhookContext};
use crate::outbound::{ClientConfig, WebhookClient};
use crate::store::Store;
use conversion::RequestConverter;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

impl WebhookClient for Store {
    fn post<'a>(
        &'a self,
        config: &'a ClientConfig,
        review: &'a Value,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Value, String>> {
        async move {
            let destination = resolver::resolve(config, self);
            self.connections().post(&destination, review, timeout).await
        }
        .boxed()
    }
}

/// Makes all pending webhook calls and conversions of the admission session, and records their results.
pub(crate) async fn call_pending_webhooks(store: &Store, session: &mut AdmissionSession) {
    conversion::convert_pending(store, session).await;
    let Some(webhooks) = session.registry.webhooks.clone() else {
        return;
    };
    for request in std::mem::take(&mut session.pending) {
        let response = {
            let converter = RequestConverter {
                store,
                request: &request,
            };
            let context = WebhookContext {
                request: &request,
                requester: &session.requester,
                state: store,
                converter: &converter,
                client: store,
            };
            webhooks.dispatch(context).await
        };
        let is_denied = response.outcome.is_err();
        session.record(request, response);
        // The remaining admission requests concern objects that are not processed after a denial.
        if is_denied {
            return;
        }
    }
}
