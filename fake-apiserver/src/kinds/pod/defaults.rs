//! Defaults of what is inside a pod's containers and volumes (`SetDefaults_*` of core/v1).
//!
//! Owns the table of them. Defaults of the pod and of containers as such are in `pod`.

use crate::kinds::token_lifetime;
use crate::machinery::json;
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The handlers and probes of a container that may hold an HTTP request.
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["/lifecycle/postStart/httpGet", "/lifecycle/preStop/httpGet"];
/// Read by all, written by the owner: 0644.
const FILE_MODE: i64 = 420;

/// Fills in ports, probes, hooks and references of a container.
pub(super) fn container(container: &mut Value) {
    for port in json::entries(container, "/ports") {
        json::default_member(port, "protocol", "TCP");
    }
    for probe in PROBES {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            for (name, value) in [
                ("failureThreshold", 3),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("timeoutSeconds", 1),
            ] {
                default_number(probe, name, value);
            }
            probe.pointer_mut("/httpGet").into_iter().for_each(http_get);
            if let Some(grpc) = probe.pointer_mut("/grpc") {
                json::default_member(grpc, "service", "");
            }
        }
    }
    for hook in HOOKS {
        container.pointer_mut(hook).into_iter().for_each(http_get);
    }
    for variable in json::entries(container, "/env") {
        variable
            .pointer_mut("/valueFrom/fieldRef")
            .into_iter()
            .for_each(field_reference);
    }
}

/// Fills in the source of a volume; a volume without any is an empty directory.
pub(super) fn volume(volume: &mut Value) {
    if volume
        .as_object()
        .is_some_and(|members| members.keys().all(|name| name == "name"))
    {
        volume["emptyDir"] = json!({});
    }
    for source in ["configMap", "downwardAPI", "projected", "secret"] {
        if let Some(source) = volume.get_mut(source).filter(|source| source.is_object()) {
            default_number(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(image) = volume.get_mut("image").filter(|image| image.is_object()) {
        let reference = image["reference"].as_str().unwrap_or_default().to_owned();
        json::default_member(image, "pullPolicy", pull_policy(&reference));
    }
    if let Some(path) = volume.get_mut("hostPath").filter(|path| path.is_object()) {
        json::default_member(path, "type", "");
    }
    for item in json::entries(volume, "/downwardAPI/items") {
        item.pointer_mut("/fieldRef")
            .into_iter()
            .for_each(field_reference);
    }
    for source in json::entries(volume, "/projected/sources") {
        if let Some(token) = source
            .get_mut("serviceAccountToken")
            .filter(|token| token.is_object())
        {
            json::default_member(token, "expirationSeconds", token_lifetime::USUAL_SECONDS);
        }
        for item in json::entries(source, "/downwardAPI/items") {
            item.pointer_mut("/fieldRef")
                .into_iter()
                .for_each(field_reference);
        }
    }
}

fn http_get(request: &mut Value) {
    json::default_member(request, "path", "/");
    json::default_member(request, "scheme", "HTTP");
}

fn field_reference(reference: &mut Value) {
    json::default_member(reference, "apiVersion", "v1");
}

/// Sets a number that is missing or zero.
fn default_number(object: &mut Value, name: &str, value: i64) {
    if object[name].is_null() || object[name] == 0 {
        object[name] = value.into();
    }
}

/// The name of an image, with the tag and the digest that it may have. What looks like a host may have capital letters.
static IMAGE: LazyLock<Regex> = LazyLock::new(|| {
    let host = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9])(?::[0-9]+)?";
    let part = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*";
    let digest = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
    let image = format!(
        r"^(?:{host}/)?{part}(?:/{part})*(?::(?<tag>[\w][\w.-]{{0,127}}))?(?:@(?<digest>{digest}))?$"
    );
    Regex::new(&image).expect("it is a pattern")
});

/// Images that change under their name are pulled each time.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let floats = IMAGE
        .captures(image)
        .is_some_and(|parts| match parts.name("tag") {
            Some(tag) => tag.as_str() == "latest",
            None => parts.name("digest").is_none(),
        });
    if floats { "Always" } else { "IfNotPresent" }
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn images_whose_name_may_come_to_mean_another_are_pulled_each_time() {
        for image in ["a", "a/b:latest", "localhost:5000/a", "Host.example.com/a/b-c__d"] {
            assert_eq!(pull_policy(image), "Always", "{image}");
        }
        let digest = format!("a@sha256:{}", "0".repeat(64));
        // What is no name of an image is left to whoever pulls it.
        for image in ["a:1", "a:1.0/b", &digest, "A", "a.", "a/b C", "", "1Gi"] {
            assert_eq!(pull_policy(image), "IfNotPresent", "{image}");
        }
    }
}
