//! Defaults within a pod's containers and volumes (`SetDefaults_*` of core/v1).
//!
//! The defaults of the pod itself and of top-level container fields are in `pod`.

use crate::kinds::token_lifetime;
use crate::machinery::json;
use serde_json::{Value, json};

/// Probes of a container. Like the lifecycle hooks in `HOOKS`, a probe may contain an HTTP request.
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["/lifecycle/postStart/httpGet", "/lifecycle/preStop/httpGet"];
/// Mode 0644: readable by all, writable by the owner.
const FILE_MODE: i64 = 420;

/// Sets the defaults of a container's ports, probes, hooks and references.
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

/// Sets the defaults of a volume's source. A volume without source becomes an emptyDir.
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

/// Sets the field `name` to `value` if the field is unset or zero.
fn default_number(object: &mut Value, name: &str, value: i64) {
    if object[name].is_null() || object[name] == 0 {
        object[name] = value.into();
    }
}

/// The default `imagePullPolicy` of an image: `Always` if the image has the tag `latest`, or neither tag nor digest. For references that
/// cannot be parsed: `IfNotPresent`, as in kube-apiserver. Does not use a regular expression, because compiling the one of the reference
/// grammar takes longer than a server start.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let path = image.rfind('/').map_or(0, |slash| slash + 1);
    let name = match image[path..].split_once(':') {
        _ if image.contains('@') => None,
        Some((name, "latest")) => Some(&image[..path + name.len()]),
        Some(_) => None,
        None => Some(image),
    };
    match name.is_some_and(is_image_name) {
        true => "Always",
        false => "IfNotPresent",
    }
}

/// Whether a text is an image name without tag and digest: `[HOST[:PORT]/]PART[/PART]...`.
fn is_image_name(name: &str) -> bool {
    let (first, rest) = name.split_once('/').unwrap_or(("", name));
    let is_host = || {
        let (host, port) = first.split_once(':').unwrap_or((first, "0"));
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
        host.bytes().all(is_legal)
            && host.starts_with(|c: char| c.is_ascii_alphanumeric())
            && host.ends_with(|c: char| c.is_ascii_alphanumeric())
            && !port.is_empty()
            && port.bytes().all(|byte| byte.is_ascii_digit())
    };
    rest.split('/').all(is_image_part)
        && (first.is_empty() && !name.starts_with('/') || is_image_part(first) || is_host())
}

/// Lower case letters and digits, separated by single `.`, `_` or `__`, or by dashes.
fn is_image_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = part.split(is_plain).filter(|text| !text.is_empty());
    part.starts_with(is_plain)
        && part.ends_with(is_plain)
        && separators
            .into_iter()
            .all(|text| matches!(text, "." | "_" | "__") || text.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn images_with_the_tag_latest_or_without_tag_are_always_pulled() {
        for image in [
            "a",
            "a/b:latest",
            "localhost:5000/a",
            "Host.example.com/a/b-c__d",
            "a/b.c/d--e",
        ] {
            assert_eq!(pull_policy(image), "Always", "{image}");
        }
        let digest = format!("a@sha256:{}", "0".repeat(64));
        // Invalid image references get `IfNotPresent`.
        for image in [
            "a:1", "a:1.0/b", &digest, "A", "a.", "a/b C", "", "1Gi", "a..b", "/a", "a//b", "h:p/a",
        ] {
            assert_eq!(pull_policy(image), "IfNotPresent", "{image}");
        }
    }
}
