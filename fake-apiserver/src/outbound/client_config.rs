//! `clientConfig` of webhooks: address and trusted CAs, with validation.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::string;
use crate::machinery::url::Url;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const FORM: &str = "; desired format: https://host[/path]";

/// `clientConfig` of a webhook (`webhook.ClientConfig` of k8s.io/apiserver).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    pub(crate) endpoint: Endpoint,
    /// `caBundle`: PEM certificates of the CAs that may sign the webhook's certificate.
    pub(crate) ca_bundle: Vec<u8>,
}

/// URL or service of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Url(String),
    Service {
        namespace: String,
        name: String,
        path: String,
        port: u16,
    },
}

impl ClientConfig {
    /// Parses `clientConfig` of a webhook.
    pub fn read(client: &Value) -> Self {
        let service = &client["service"];
        let endpoint = match client["url"].as_str() {
            Some(url) => Endpoint::Url(url.to_owned()),
            None => Endpoint::Service {
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
            endpoint,
            ca_bundle: STANDARD.decode(string(client, "caBundle")).unwrap_or_default(),
        }
    }

    /// Validates `clientConfig` of a webhook.
    pub fn validate(client: &Value, at: &str, errors: &mut ErrorList) {
        if client["url"].is_null() == client["service"].is_null() {
            return errors.required(at, "exactly one of url or service is required");
        }
        match client["url"].as_str() {
            Some(url) => validate_url(url, &format!("{at}.url"), errors),
            None => validate_service(&client["service"], &format!("{at}.service"), errors),
        }
    }
}
fn validate_url(text: &str, at: &str, errors: &mut ErrorList) {
    let url = match Url::read_relative(text) {
        Ok(url) => url,
        Err(why) => return errors.required(at, &format!("url must be a valid URL: {why}{FORM}")),
    };
    if url.scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        errors.invalid(at, url.scheme, &why);
    }
    if url.host.is_empty() {
        errors.invalid(at, "", &format!("host must be specified{FORM}"));
    }
}

fn validate_service(service: &Value, at: &str, errors: &mut ErrorList) {
    // kube-apiserver reports each of the two fields under the field path of the other.
    for (missing, reported) in [("namespace", "name"), ("name", "namespace")] {
        if string(service, missing).is_empty() {
            errors.required(format!("{at}.{reported}"), "");
        }
    }
    let port = service["port"].as_i64().unwrap_or(443);
    errors.validate_service_port(&format!("{at}.port"), port);
}
