//! One admission webhook, from its configuration.

use super::conditions::Conditions;
use super::matching::Selection;
use crate::machinery::json::{string, texts};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::time::Duration;

/// Default of `timeoutSeconds`.
const PATIENCE_SECONDS: u64 = 10;

/// One admission webhook.
#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) selection: Selection,
    pub(crate) conditions: Conditions,
    pub(crate) client: Client,
    /// `failurePolicy: Ignore`: failed calls are ignored.
    pub(crate) ignores_failures: bool,
    pub(crate) patience: Duration,
    /// `sideEffects` allow dry runs.
    pub(crate) takes_dry_runs: bool,
    /// `reinvocationPolicy: IfNeeded`.
    pub(crate) again: bool,
    /// The version of AdmissionReviews. None if the webhook accepts no known version.
    pub(crate) version: Option<&'static str>,
}

/// `clientConfig` of a webhook: address and trusted CAs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) place: Place,
    /// `caBundle`: PEM certificates of the CAs that sign the webhook's certificate.
    pub(crate) authorities: Vec<u8>,
}

/// URL or service of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Url(String),
    Service {
        namespace: String,
        name: String,
        path: String,
        port: u16,
    },
}

impl Webhook {
    pub(super) fn read(hook: &Value) -> Self {
        let ignores_failures = hook["failurePolicy"] == "Ignore";
        let seconds = hook["timeoutSeconds"].as_u64().unwrap_or(PATIENCE_SECONDS);
        let versions = texts(&hook["admissionReviewVersions"]);
        let mut versions = versions.into_iter();
        Self {
            name: string(hook, "name").to_owned(),
            selection: Selection::of_webhook(hook),
            conditions: Conditions::read(&hook["matchConditions"], ignores_failures),
            client: Client::read(&hook["clientConfig"]),
            ignores_failures,
            patience: Duration::from_secs(seconds),
            takes_dry_runs: ["None", "NoneOnDryRun"].contains(&string(hook, "sideEffects")),
            again: hook["reinvocationPolicy"] == "IfNeeded",
            version: versions
                .find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| *known == version)),
        }
    }
}

impl Client {
    /// Parses `clientConfig`.
    pub(crate) fn read(client: &Value) -> Self {
        let service = &client["service"];
        let place = match client["url"].as_str() {
            Some(url) => Place::Url(url.to_owned()),
            None => Place::Service {
                namespace: string(service, "namespace").to_owned(),
                name: string(service, "name").to_owned(),
                path: string(service, "path").to_owned(),
                port: service["port"]
                    .as_u64()
                    .and_then(|port| port.try_into().ok())
                    .unwrap_or(443),
            },
        };
        Self {
            place,
            authorities: STANDARD.decode(string(client, "caBundle")).unwrap_or_default(),
        }
    }
}
