//! Kinds of the core group that configure pods and namespaces: stored and shown. Limits and quotas are not enforced.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Selectable, pod};
use crate::kinds::columns;
use crate::machinery::faults::Faults;
use crate::machinery::json;
use crate::machinery::names;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(crate) static CONFIG_MAP: Kind = Kind {
    kind: "ConfigMap",
    plural: "configmaps",
    singular: "configmap",
    short_names: &["cm"],
    hooks: Hooks {
        validate: config_map_validate,
        validate_update: immutable_update,
        ..NO_HOOKS
    },
    printer: &columns::CONFIG_MAP,
    ..PLAIN
};

pub(super) static SECRET: Kind = Kind {
    kind: "Secret",
    plural: "secrets",
    singular: "secret",
    hooks: Hooks {
        default: secret_default,
        validate: secret_validate,
        validate_update: secret_validate_update,
        ..NO_HOOKS
    },
    selectable: &[Selectable {
        label: "type",
        pointers: &["/type"],
    }],
    printer: &columns::SECRET,
    ..PLAIN
};

/// `stringData` is only ever written: it goes into `data`.
fn secret_default(object: &mut Value) {
    json::default_member(object, "type", "Opaque");
    let written = object
        .as_object_mut()
        .and_then(|secret| secret.remove("stringData"));
    if let Some(Value::Object(written)) = written {
        let data = json::member(object, "data");
        for (key, text) in written {
            data.insert(key, STANDARD.encode(text.as_str().unwrap_or_default()).into());
        }
    }
}

/// Bytes that all values of a config map, or of a secret, may have together.
const BYTES_MAX: usize = 1024 * 1024;

fn config_map_validate(object: &Value, faults: &mut Faults) {
    let binary = &object["binaryData"];
    let mut bytes = 0;
    for (key, value) in json::pairs(&object["data"]) {
        config_key("data", key, faults);
        if !binary[key].is_null() {
            faults.invalid(
                format!("data[{key}]"),
                key,
                "duplicate of key present in binaryData",
            );
        }
        bytes += value.len();
    }
    for (key, value) in json::pairs(binary) {
        config_key("binaryData", key, faults);
        bytes += decoded(value);
    }
    if bytes > BYTES_MAX {
        faults.too_long("", BYTES_MAX);
    }
}

fn config_key(list: &str, key: &str, faults: &mut Faults) {
    faults.complain(&format!("{list}[{key}]"), key, names::config_key(key));
}

/// How many bytes a text in base64 stands for.
fn decoded(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// What secrets of some types must hold.
const HELD: [(&str, &[&str]); 5] = [
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/basic-auth", &["username", "password"]),
];

fn secret_validate(object: &Value, faults: &mut Faults) {
    let data = &object["data"];
    let mut bytes = 0;
    for (key, value) in json::pairs(data) {
        config_key("data", key, faults);
        bytes += decoded(value);
    }
    if bytes > BYTES_MAX {
        faults.too_long("data", BYTES_MAX);
    }
    let kind = object["type"].as_str().unwrap_or_default();
    let owner = "kubernetes.io/service-account.name";
    let owned = object["metadata"]["annotations"][owner]
        .as_str()
        .is_some_and(|name| !name.is_empty());
    if kind == "kubernetes.io/service-account-token" && !owned {
        faults.required(format!("metadata.annotations[{owner}]"), "");
    }
    let held = HELD.iter().find(|(known, _)| *known == kind);
    let held = held.map_or(&[][..], |(_, keys)| *keys);
    let missing: Vec<&&str> = held.iter().filter(|key| data[**key].is_null()).collect();
    // One of a name and a password is enough.
    if kind != "kubernetes.io/basic-auth" || missing.len() == held.len() {
        for key in missing {
            faults.required(format!("data[{key}]"), "");
        }
    }
}

fn secret_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    faults.unchanged("type", &new["type"], &old["type"]);
    immutable_update(new, old, faults);
}

/// What is immutable stays so, with all that it holds.
fn immutable_update(new: &Value, old: &Value, faults: &mut Faults) {
    if old["immutable"] != true {
        return;
    }
    for field in ["immutable", "data", "binaryData"] {
        if new[field] != old[field] {
            faults.forbidden(field, "field is immutable when `immutable` is set");
        }
    }
}

pub(super) static ENDPOINTS: Kind = Kind {
    kind: "Endpoints",
    plural: "endpoints",
    singular: "endpoints",
    short_names: &["ep"],
    create_on_update: true,
    deprecation: Some((33, "discovery.k8s.io/v1 EndpointSlice")),
    printer: &columns::ENDPOINTS,
    ..PLAIN
};

pub(super) static LIMIT_RANGE: Kind = Kind {
    kind: "LimitRange",
    plural: "limitranges",
    singular: "limitrange",
    short_names: &["limits"],
    create_on_update: true,
    printer: &columns::NAME_AND_CREATION,
    caveat: Some("limits are stored here, and not enforced"),
    ..PLAIN
};

pub(super) static POD_TEMPLATE: Kind = Kind {
    kind: "PodTemplate",
    plural: "podtemplates",
    singular: "podtemplate",
    generation_of: &["template"],
    generation: Generation::FromCreation,
    returns_deleted: true,
    hooks: Hooks {
        default: |object| {
            if let Some(template) = object.get_mut("template") {
                pod::template_default(template);
            }
        },
        ..NO_HOOKS
    },
    printer: &columns::POD_TEMPLATE,
    ..PLAIN
};

pub(super) static RESOURCE_QUOTA: Kind = Kind {
    kind: "ResourceQuota",
    plural: "resourcequotas",
    singular: "resourcequota",
    short_names: &["quota"],
    status: true,
    returns_deleted: true,
    printer: &columns::RESOURCE_QUOTA,
    caveat: Some("quotas are stored here, and not enforced"),
    ..PLAIN
};
