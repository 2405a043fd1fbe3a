//! Kinds of the core group that configure pods and namespaces: stored and shown. Limits and quotas are not enforced.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, pod};
use crate::kinds::columns;
use crate::kinds::columns::Cell::{Labels, Of, Text};
use crate::kinds::columns::{AGE, Cell, NAME, containers, count, first, integer, or, text};
use crate::machinery::faults::Faults;
use crate::machinery::selector::selectable;
use crate::machinery::{json, names};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

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
    columns: &[
        NAME,
        text("Data", Of(|o| json!(count(&o["data"]) + count(&o["binaryData"])))),
        AGE,
    ],
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
    selectable: &[selectable("type", &["/type"])],
    columns: &[
        NAME,
        text("Type", Text("/type")),
        integer("Data", Cell::Count("/data")),
        AGE,
    ],
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
    columns: &[NAME, text("Endpoints", Of(endpoints)), AGE],
    ..PLAIN
};

pub(super) static LIMIT_RANGE: Kind = Kind {
    kind: "LimitRange",
    plural: "limitranges",
    singular: "limitrange",
    short_names: &["limits"],
    create_on_update: true,
    columns: columns::NAME_AND_CREATION,
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
    columns: &[
        NAME,
        text(
            "Containers",
            Of(|o| containers(&o["template"]["spec"]["containers"], "name")),
        ),
        text(
            "Images",
            Of(|o| containers(&o["template"]["spec"]["containers"], "image")),
        ),
        text("Pod Labels", Labels("/template/metadata/labels")),
    ],
    ..PLAIN
};

pub(super) static RESOURCE_QUOTA: Kind = Kind {
    kind: "ResourceQuota",
    plural: "resourcequotas",
    singular: "resourcequota",
    short_names: &["quota"],
    status: true,
    returns_deleted: true,
    columns: &[
        NAME,
        text("Request", Of(|o| quota(o, false))),
        text("Limit", Of(|o| quota(o, true))),
        AGE,
    ],
    caveat: Some("quotas are stored here, and not enforced"),
    ..PLAIN
};

/// How many addresses a cell shows.
const ADDRESSES_SHOWN: usize = 3;

fn endpoints(endpoints: &Value) -> Value {
    let all: Vec<String> = json::list(&endpoints["subsets"])
        .iter()
        .flat_map(addresses)
        .collect();
    or(&first(&all, ADDRESSES_SHOWN, ","), "<none>")
}

/// Every address of a subset with every port.
fn addresses(subset: &Value) -> Vec<String> {
    let ports = json::list(&subset["ports"]);
    let addresses = json::list(&subset["addresses"]).iter();
    let addresses = addresses.filter_map(|address| address["ip"].as_str());
    let with_ports = |ip: &str| match ports {
        [] => vec![ip.to_owned()],
        ports => ports
            .iter()
            .map(|port| format!("{ip}:{}", port["port"]))
            .collect(),
    };
    addresses.flat_map(with_ports).collect()
}

/// What is used and what is there, of limits or of requests.
fn quota(quota: &Value, of_limits: bool) -> Value {
    let all = json::pairs(&quota["status"]["hard"]);
    let meant = all.filter(|(resource, _)| resource.starts_with("limits.") == of_limits);
    let shown = meant.map(|(resource, hard)| {
        let used = quota["status"]["used"][resource].as_str().unwrap_or("0");
        format!("{resource}: {used}/{hard}")
    });
    shown.collect::<Vec<_>>().join(", ").into()
}
