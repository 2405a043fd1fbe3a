//! Validation of a webhook's `clientConfig`.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::string;
use crate::machinery::url::Url;
use serde_json::Value;

const FORM: &str = "; desired format: https://host[/path]";

/// Validates the URL or the service of a client.
pub fn place(client: &Value, at: &str, faults: &mut ErrorList) {
    match client["url"].as_str() {
        Some(address) => url(address, &format!("{at}.url"), faults),
        None => service(&client["service"], &format!("{at}.service"), faults),
    }
}

/// Validates `clientConfig`.
pub(super) fn client(client: &Value, at: &str, faults: &mut ErrorList) {
    if client["url"].is_null() == client["service"].is_null() {
        return faults.required(at, "exactly one of url or service is required");
    }
    place(client, at, faults);
}

fn url(text: &str, at: &str, faults: &mut ErrorList) {
    let url = match Url::read_relative(text) {
        Ok(url) => url,
        Err(why) => return faults.required(at, &format!("url must be a valid URL: {why}{FORM}")),
    };
    if url.scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        faults.invalid(at, url.scheme, &why);
    }
    if url.host.is_empty() {
        faults.invalid(at, "", &format!("host must be specified{FORM}"));
    }
}

fn service(service: &Value, at: &str, faults: &mut ErrorList) {
    // kube-apiserver reports the two fields under swapped field paths.
    for (missing, told) in [("namespace", "name"), ("name", "namespace")] {
        if string(service, missing).is_empty() {
            faults.required(format!("{at}.{told}"), "");
        }
    }
    let port = service["port"].as_i64().unwrap_or(443);
    faults.service_port(&format!("{at}.port"), port);
}
