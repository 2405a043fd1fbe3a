//! The configuration of one admission webhook, parsed.

use crate::criteria::MatchCriteria;
use crate::matchconditions::MatchConditions;
use fake_apiserver::extension::json::{string, texts};
use fake_apiserver::extension::webhook::ClientConfig;
use serde_json::Value;
use std::time::Duration;

/// Default of `timeoutSeconds` in a webhook configuration.
const TIMEOUT_SECONDS: u64 = 10;

/// One admission webhook (`WebhookAccessor` of k8s.io/apiserver).
#[derive(Debug)]
pub(crate) struct WebhookAccessor {
    pub(crate) name: String,
    pub(crate) criteria: MatchCriteria,
    pub(crate) conditions: MatchConditions,
    pub(crate) client: ClientConfig,
    /// Whether failed webhook calls are ignored (`failurePolicy: Ignore`).
    pub(crate) ignores_failures: bool,
    pub(crate) timeout: Duration,
    /// Whether the webhook is called for dry runs: `sideEffects` is `None` or `NoneOnDryRun`.
    pub(crate) supports_dry_run: bool,
    /// Whether the webhook may be called again after later webhooks changed the object (`reinvocationPolicy: IfNeeded`).
    pub(crate) reinvocable: bool,
    /// The AdmissionReview version to send. None if the webhook accepts no version that the server supports.
    pub(crate) version: Option<&'static str>,
}

impl WebhookAccessor {
    pub(crate) fn read(hook: &Value) -> Self {
        let ignores_failures = hook["failurePolicy"] == "Ignore";
        let seconds = hook["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT_SECONDS);
        let versions = texts(&hook["admissionReviewVersions"]);
        let mut versions = versions.into_iter();
        Self {
            name: string(hook, "name").to_owned(),
            criteria: MatchCriteria::of_webhook(hook),
            conditions: MatchConditions::read(&hook["matchConditions"], ignores_failures),
            client: ClientConfig::read(&hook["clientConfig"]),
            ignores_failures,
            timeout: Duration::from_secs(seconds),
            supports_dry_run: ["None", "NoneOnDryRun"].contains(&string(hook, "sideEffects")),
            reinvocable: hook["reinvocationPolicy"] == "IfNeeded",
            version: versions
                .find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| *known == version)),
        }
    }
}
