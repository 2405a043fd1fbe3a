//! Kinds of the core group that configure pods and namespaces: stored and shown. Limits and quotas are not enforced.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, Selectable, pod};
use crate::faults::Faults;
use crate::meta;
use crate::printer;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub(super) static CONFIG_MAP: Kind = Kind {
    kind: "ConfigMap",
    plural: "configmaps",
    singular: "configmap",
    short_names: &["cm"],
    hooks: Hooks {
        validate_update: immutable_update,
        ..NO_HOOKS
    },
    printer: &printer::CONFIG_MAP,
    ..PLAIN
};

pub(super) static SECRET: Kind = Kind {
    kind: "Secret",
    plural: "secrets",
    singular: "secret",
    hooks: Hooks {
        default: secret_default,
        validate_update: secret_validate_update,
        ..NO_HOOKS
    },
    selectable: &[Selectable {
        label: "type",
        pointers: &["/type"],
    }],
    printer: &printer::SECRET,
    ..PLAIN
};

/// `stringData` is only ever written: it goes into `data`.
fn secret_default(object: &mut Value) {
    meta::default_member(object, "type", "Opaque");
    let written = object
        .as_object_mut()
        .and_then(|secret| secret.remove("stringData"));
    if let Some(Value::Object(written)) = written {
        let data = meta::member(object, "data");
        for (key, text) in written {
            data.insert(key, STANDARD.encode(text.as_str().unwrap_or_default()).into());
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
    printer: &printer::ENDPOINTS,
    ..PLAIN
};

pub(super) static LIMIT_RANGE: Kind = Kind {
    kind: "LimitRange",
    plural: "limitranges",
    singular: "limitrange",
    short_names: &["limits"],
    create_on_update: true,
    printer: &printer::NAME_AND_CREATION,
    caveat: Some("limits are stored here, and not enforced"),
    ..PLAIN
};

pub(super) static POD_TEMPLATE: Kind = Kind {
    kind: "PodTemplate",
    plural: "podtemplates",
    singular: "podtemplate",
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
    printer: &printer::POD_TEMPLATE,
    ..PLAIN
};

pub(super) static RESOURCE_QUOTA: Kind = Kind {
    kind: "ResourceQuota",
    plural: "resourcequotas",
    singular: "resourcequota",
    short_names: &["quota"],
    status: true,
    returns_deleted: true,
    printer: &printer::RESOURCE_QUOTA,
    caveat: Some("quotas are stored here, and not enforced"),
    ..PLAIN
};
