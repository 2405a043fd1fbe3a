//! All configured webhooks, in the order of calls.

use crate::accessor::WebhookAccessor;
use crate::resources::{MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION};
use crate::{mutating, validating};
use fake_apiserver::extension::json::list;
use fake_apiserver::extension::{
    AdmissionRequest, AdmissionResponse, Kind, Objects, Part, Phase, WebhookContext, Webhooks,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;

/// All configured webhooks, sorted by the names of their configurations.
#[derive(Debug)]
struct ConfiguredWebhooks {
    mutating: Vec<WebhookAccessor>,
    validating: Vec<WebhookAccessor>,
}

pub(crate) fn read(objects: &dyn Fn(&str) -> Objects) -> Arc<dyn Webhooks> {
    Arc::new(ConfiguredWebhooks {
        mutating: webhooks(&objects(MUTATING_WEBHOOK_CONFIGURATION.plural)),
        validating: webhooks(&objects(VALIDATING_WEBHOOK_CONFIGURATION.plural)),
    })
}

fn webhooks(configurations: &Objects) -> Vec<WebhookAccessor> {
    let hooks = configurations
        .values()
        .flat_map(|configuration| list(&configuration.value()["webhooks"]));
    hooks.map(WebhookAccessor::read).collect()
}

impl Webhooks for ConfiguredWebhooks {
    fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    fn may_match_resource(&self, kind: &Kind, part: Part) -> bool {
        let mut hooks = self.mutating.iter().chain(&self.validating);
        hooks.any(|hook| hook.criteria.may_match_resource(kind, part))
    }

    fn may_match(&self, request: &AdmissionRequest) -> bool {
        let any = |hooks: &[WebhookAccessor]| {
            let mut hooks = hooks.iter();
            hooks.any(|hook| hook.criteria.may_match(request.operation, &request.target))
        };
        match request.phase {
            Phase::Mutating | Phase::Reinvoke(_) => any(&self.mutating),
            Phase::Validating => any(&self.validating),
            Phase::Delete => any(&self.mutating) || any(&self.validating),
        }
    }

    fn dispatch<'a>(&'a self, context: WebhookContext<'a>) -> BoxFuture<'a, AdmissionResponse> {
        async move {
            match &context.request.phase {
                Phase::Mutating => mutating::dispatch(&self.mutating, context, None).await,
                Phase::Reinvoke(due) => mutating::dispatch(&self.mutating, context, Some(due)).await,
                Phase::Validating => validating::dispatch(&self.validating, context).await,
                Phase::Delete => self.delete(context).await,
            }
        }
        .boxed()
    }
}

impl ConfiguredWebhooks {
    /// Calls the mutating webhooks, whose patches are ignored because the object is being deleted, then the validating webhooks.
    async fn delete(&self, context: WebhookContext<'_>) -> AdmissionResponse {
        let mutating = mutating::dispatch(&self.mutating, context, None).await;
        if mutating.outcome.is_err() {
            return mutating;
        }
        let mut response = validating::dispatch(&self.validating, context).await;
        response.warnings.splice(0..0, mutating.warnings);
        response
    }
}
