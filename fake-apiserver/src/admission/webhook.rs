//! One webhook, as its configuration describes it.

use super::conditions::Conditions;
use super::matching::Selection;
use crate::machinery::json::{string, texts};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::time::Duration;

/// How long an answer is waited for where nothing else is said.
const PATIENCE_SECONDS: u64 = 10;

/// One webhook.
#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) selection: Selection,
    pub(crate) conditions: Conditions,
    pub(crate) client: Client,
    /// Failures to ask it are passed over.
    pub(crate) ignores_failures: bool,
    pub(crate) patience: Duration,
    /// It can be asked about requests that change nothing.
    pub(crate) takes_dry_runs: bool,
    /// It wants to be asked again where others have changed the object after it.
    pub(crate) again: bool,
    /// The version of reviews that it is sent; none that is known.
    pub(crate) version: Option<&'static str>,
}

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) place: Place,
    /// Certificates of the authorities that it is trusted by, in PEM.
    pub(crate) authorities: Vec<u8>,
}

/// The address of a webhook.
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
    /// Reads `clientConfig`.
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
