//! Secret: `stringData`, required keys by type, and size limit.

use super::config_map::{BYTES_MAX, base64_decoded_len, config_key, validate_immutable_update};
use super::resource_definition::not_supported;
use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::kinds::columns::Cell::Text;
use crate::kinds::columns::{AGE, Cell, NAME, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use crate::machinery::selector::selectable;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(super) static SECRET: ResourceDefinition = ResourceDefinition {
    kind: "Secret",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "secrets",
    hooks: Hooks {
        default: secret_default,
        validate_create: secret_validate,
        validate_update: secret_validate_update,
        ..NO_HOOKS
    },
    selectable: &[selectable("type", &["/type"])],
    unknown_label: not_supported,
    columns: &[
        NAME,
        text("Type", Text("/type")),
        text("Data", Cell::Count("/data")),
        AGE,
    ],
    ..PLAIN
};

/// Merges `stringData`, which is write-only, into `data`.
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

/// Keys that `data` must contain, by type of Secret.
const HELD: [(&str, &[&str]); 5] = [
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/basic-auth", &["username", "password"]),
];

fn secret_validate(object: &Value, errors: &mut ErrorList) {
    let data = &object["data"];
    let mut bytes = 0;
    for (key, value) in json::string_members(data) {
        config_key("data", key, errors);
        bytes += base64_decoded_len(value);
    }
    if bytes > BYTES_MAX {
        errors.too_long("data", BYTES_MAX);
    }
    let kind = object["type"].as_str().unwrap_or_default();
    let owner = "kubernetes.io/service-account.name";
    let owned = object["metadata"]["annotations"][owner]
        .as_str()
        .is_some_and(|name| !name.is_empty());
    if kind == "kubernetes.io/service-account-token" && !owned {
        errors.required(format!("metadata.annotations[{owner}]"), "");
    }
    let held = HELD.iter().find(|(known, _)| *known == kind);
    let held = held.map_or(&[][..], |(_, keys)| *keys);
    let missing: Vec<&&str> = held.iter().filter(|key| data[**key].is_null()).collect();
    // For `basic-auth`, one of user name and password is enough.
    if kind != "kubernetes.io/basic-auth" || missing.len() == held.len() {
        for key in missing {
            errors.required(format!("data[{key}]"), "");
        }
    }
}

fn secret_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    errors.require_unchanged("type", &new["type"], &old["type"]);
    validate_immutable_update(new, old, errors);
    secret_validate(new, errors);
}
