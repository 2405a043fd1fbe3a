//! The rules for a container's environment (`ValidateEnv` of core/v1).

use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use serde_json::Value;

/// What a variable may take its value from.
const SOURCES: [&str; 5] = [
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
];

/// Fields of a pod that a variable may show.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields of a pod that have a name, whether they can be shown or not.
const CONVERTIBLE: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.phase",
    "status.podIP",
    "status.podIPs",
];

/// The rules for `env` and `envFrom`.
pub(super) fn validate(container: &Value, at: &str, faults: &mut Faults) {
    for (i, variable) in list(&container["env"]).iter().enumerate() {
        let at = format!("{at}.env[{i}]");
        faults.needed(&format!("{at}.name"), string(variable, "name"), names::variable);
        if !variable["valueFrom"].is_null() {
            source(variable, &format!("{at}.valueFrom"), faults);
        }
    }
    let list_at = format!("{at}.envFrom");
    for (i, origin) in list(&container["envFrom"]).iter().enumerate() {
        let at = format!("{at}.envFrom[{i}]");
        let prefix = string(origin, "prefix");
        faults.complain(&format!("{at}.prefix"), prefix, names::variable(prefix));
        let named: Vec<&str> = ["configMapRef", "secretRef"]
            .into_iter()
            .filter(|name| !origin[*name].is_null())
            .collect();
        for kind in &named {
            let name = string(&origin[*kind], "name");
            faults.needed(&format!("{at}.{kind}.name"), name, names::subdomain);
        }
        match named.len() {
            0 => faults.invalid(
                list_at.as_str(),
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            ),
            1 => {}
            _ => faults.invalid(
                list_at.as_str(),
                "",
                "may not have more than one field specified at a time",
            ),
        }
    }
}

fn source(variable: &Value, at: &str, faults: &mut Faults) {
    let from = &variable["valueFrom"];
    if !from["fieldRef"].is_null() {
        field_reference(&from["fieldRef"], &FIELDS, &format!("{at}.fieldRef"), faults);
    }
    if !from["resourceFieldRef"].is_null() {
        let field = format!("{at}.resourceFieldRef");
        resource_reference(&from["resourceFieldRef"], false, &field, faults);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if !from[kind].is_null() {
            key(&from[kind], &format!("{at}.{kind}"), faults);
        }
    }
    if !from["fileKeyRef"].is_null() {
        file_key(&from["fileKeyRef"], &format!("{at}.fileKeyRef"), faults);
    }
    let count = SOURCES.iter().filter(|name| !from[**name].is_null()).count();
    if count == 0 {
        let text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or \
            `fileKeyRef`";
        faults.invalid(at, "", text);
    } else if !string(variable, "value").is_empty() {
        faults.invalid(at, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        faults.invalid(at, "", "may not have more than one field specified at a time");
    }
}

/// The rules for a variable that a file of a volume tells.
fn file_key(source: &Value, at: &str, faults: &mut Faults) {
    faults.needed(&format!("{at}.key"), string(source, "key"), names::variable);
    faults.needed(
        &format!("{at}.volumeName"),
        string(source, "volumeName"),
        names::label,
    );
    let path = string(source, "path");
    let field = format!("{at}.path");
    match path {
        "" => faults.required(field, ""),
        path if path.split('/').any(|part| part == "..") => {
            faults.invalid(field, path, "must not contain '..'");
        }
        _ => {}
    }
}

/// The rules for showing a field, one of some.
pub(super) fn field_reference(reference: &Value, fields: &[&str], at: &str, faults: &mut Faults) {
    let path = string(reference, "fieldPath");
    if path.is_empty() {
        faults.required(format!("{at}.fieldPath"), "");
        return;
    }
    let (version, field) = (string(reference, "apiVersion"), format!("{at}.fieldPath"));
    let mut unknown = |why: String| {
        let why = format!("error converting fieldPath: {why}");
        faults.invalid(field.as_str(), path, &why);
    };
    match subscripted(path) {
        _ if version != "v1" => unknown(format!("unsupported pod version: {version}")),
        Some(("metadata.labels", key)) => faults.complain(at, key, names::qualified(key)),
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            faults.complain(at, &key, names::qualified(&key));
        }
        Some(_) => unknown(format!("field label does not support subscript: {path}")),
        None if fields.contains(&path) => {}
        None if CONVERTIBLE.contains(&path) => faults.not_supported(field, path, fields),
        None => unknown(format!("field label not supported: {path}")),
    }
}

/// A path and the key of one of its entries: `metadata.labels['key']`.
fn subscripted(path: &str) -> Option<(&str, &str)> {
    let (path, key) = path.strip_suffix("']")?.split_once("['")?;
    (!path.is_empty()).then_some((path, key))
}

/// Amounts of a container that can be shown.
const AMOUNTS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// The rules for showing an amount, in a variable or in a volume, where the container has to be named.
pub(super) fn resource_reference(reference: &Value, in_volume: bool, at: &str, faults: &mut Faults) {
    let resource = string(reference, "resource");
    let pages = ["limits.hugepages-", "requests.hugepages-"];
    if in_volume && string(reference, "containerName").is_empty() {
        faults.required(format!("{at}.containerName"), "");
    } else if resource.is_empty() {
        faults.required(format!("{at}.resource"), "");
    } else if !AMOUNTS.contains(&resource) && !pages.iter().any(|begin| resource.starts_with(begin)) {
        faults.not_supported(format!("{at}.resource"), resource, &AMOUNTS);
    } else {
        divisor(resource, string(reference, "divisor"), at, faults);
    }
}

const UNITS: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// Amounts are told in whole units. It is the resource that a refusal shows.
fn divisor(resource: &str, divisor: &str, at: &str, faults: &mut Faults) {
    let (_, what) = resource.split_once('.').unwrap_or_default();
    let (name, units): (_, &[&str]) = match what {
        "cpu" => ("cpu", &["1m", "1"]),
        "memory" => ("memory", &UNITS),
        "ephemeral-storage" => ("local ephemeral storage", &UNITS),
        _ => ("hugepages", &UNITS),
    };
    if !["", "0"].contains(&divisor) && !units.contains(&divisor) {
        let told = match what {
            "cpu" => "1m and 1".to_owned(),
            _ => units.join(", "),
        };
        let why = format!("only divisor's values {told} are supported with the {name} resource");
        faults.invalid(format!("{at}.divisor"), resource, &why);
    }
}

fn key(reference: &Value, at: &str, faults: &mut Faults) {
    let name = string(reference, "name");
    faults.complain(&format!("{at}.name"), name, names::subdomain(name));
    faults.needed(&format!("{at}.key"), string(reference, "key"), names::config_key);
}
