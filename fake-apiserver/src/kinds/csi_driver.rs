//! CSIDriver.
//!
//! Validation and messages follow kube-apiserver 1.36, including odd field paths such as `spec.attachedRequired`.

use super::{Generation, Hooks, NO_HOOKS, PLAIN, ResourceDefinition, StorageConversion, StrategyContext};
use crate::config::release::{Gate, Profile, ServedReleases};
use crate::kinds::columns::Cell::{Join, Of, Plain};
use crate::kinds::columns::{AGE, NAME, boolean, text};
use crate::kinds::token_lifetime;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use serde_json::{Value, json};
use std::collections::HashSet;

const ANY_CSI_DRIVER: ResourceDefinition = ResourceDefinition {
    group: "storage.k8s.io",
    kind: "CSIDriver",
    plural: "csidrivers",
    namespaced: false,
    generation: Generation::FromFirstChange,
    unconditional_update: false,
    returns_deleted: true,
    hooks: Hooks {
        default: driver_default,
        create: |object, setting| {
            drop_gated_storage_capacity(object, None, setting);
            drop_prevent_pod_scheduling(object, None);
        },
        update: |object, old, setting| {
            drop_gated_storage_capacity(object, Some(old), setting);
            drop_prevent_pod_scheduling(object, Some(old));
        },
        validate: driver_validate,
        validate_update: driver_validate_update,
        validate_update_then: driver_validate_update_by_release,
        warn: driver_warn,
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        boolean("AttachRequired", Plain("/spec/attachRequired")),
        boolean("PodInfoOnMount", Plain("/spec/podInfoOnMount")),
        boolean("StorageCapacity", Plain("/spec/storageCapacity")),
        text("TokenRequests", Of(audiences)),
        boolean("RequiresRepublish", Plain("/spec/requiresRepublish")),
        text("Modes", Join("/spec/volumeLifecycleModes", "<none>")),
        AGE,
    ],
    ..PLAIN
};

pub(super) static CSI_DRIVER: ResourceDefinition = ResourceDefinition {
    life: ServedReleases::since(19),
    ..ANY_CSI_DRIVER
};

/// CSIDriver before KEP-1472: `storageCapacity` is neither returned nor stored.
pub(super) static CSI_DRIVER_1_18: ResourceDefinition = ResourceDefinition {
    life: ServedReleases::during(18, 18),
    view: Some(StorageConversion {
        stored: &CSI_DRIVER,
        from_stored: |object| {
            let mut object = object.clone();
            drop_storage_capacity(&mut object);
            object
        },
        renamed: &[],
        to_stored: Value::clone,
    }),
    ..ANY_CSI_DRIVER
};

/// If the gate `CSIStorageCapacity` is off, drops `storageCapacity` unless the old object has the field. In releases that do not have the
/// gate, drops the field from all objects.
fn drop_gated_storage_capacity(object: &mut Value, old: Option<&Value>, setting: &StrategyContext<'_>) {
    let had = old.is_some_and(|old| !old["spec"]["storageCapacity"].is_null());
    let knows = setting.profile.is_since(19);
    let is_retained = setting.profile.has(Gate::CsiStorageCapacity) || (knows && had);
    if !is_retained {
        drop_storage_capacity(object);
    }
}

/// Drops the alpha field `preventPodSchedulingIfMissing`, whose gate is off, unless the old object has the field.
fn drop_prevent_pod_scheduling(object: &mut Value, old: Option<&Value>) {
    let field = "preventPodSchedulingIfMissing";
    if old.is_none_or(|old| old["spec"][field].is_null()) {
        json::assign(&mut object["spec"], field, Value::Null);
    }
}

fn drop_storage_capacity(object: &mut Value) {
    json::assign(&mut object["spec"], "storageCapacity", Value::Null);
}

fn driver_default(object: &mut Value) {
    let defaults = [
        ("attachRequired", json!(true)),
        ("fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
        ("podInfoOnMount", json!(false)),
        ("requiresRepublish", json!(false)),
        ("seLinuxMount", json!(false)),
        ("storageCapacity", json!(false)),
        ("volumeLifecycleModes", json!(["Persistent"])),
    ];
    let spec = json::member(object, "spec");
    for (name, value) in defaults {
        spec.entry(name).or_insert(value);
    }
}

fn driver_validate(object: &Value, errors: &mut ErrorList) {
    let spec = &object["spec"];
    let policy = spec["fsGroupPolicy"].as_str().unwrap_or_default();
    errors.one_of(
        "spec.fsGroupPolicy",
        policy,
        &["File", "None", "ReadWriteOnceWithFSType"],
    );
    token_requests(&spec["tokenRequests"], errors);
    for mode in json::texts(&spec["volumeLifecycleModes"]) {
        errors.one_of("spec.volumeLifecycleModes", mode, &["Persistent", "Ephemeral"]);
    }
    if let Some(period) = spec["nodeAllocatableUpdatePeriodSeconds"].as_i64()
        && period < 10
    {
        let text = "must be greater than or equal to 10 seconds";
        errors.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text);
    }
    let in_secrets = &spec["serviceAccountTokenInSecrets"];
    if !in_secrets.is_null() && spec["tokenRequests"].as_array().is_none_or(Vec::is_empty) {
        let text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.invalid("spec.serviceAccountTokenInSecrets", in_secrets.clone(), text);
    }
}

fn token_requests(requests: &Value, errors: &mut ErrorList) {
    let requests = json::list(requests);
    let mut seen = HashSet::new();
    for (i, request) in requests.iter().enumerate() {
        let at = format!("spec.tokenRequests[{i}]");
        let audience = &request["audience"];
        if !seen.insert(audience) {
            errors.duplicate(format!("{at}.audience"), audience.clone());
            continue;
        }
        let seconds = request["expirationSeconds"]
            .as_i64()
            .unwrap_or(*token_lifetime::SECONDS.start());
        let field = format!("{at}.expirationSeconds");
        token_lifetime::validate_lifetime(&field, seconds, errors);
    }
}

/// Warns about `tokenRequests` without `serviceAccountTokenInSecrets`: tokens in the volume context may be logged.
fn driver_warn(new: &Value, old: &Value) -> Vec<String> {
    let (spec, before) = (&new["spec"], &old["spec"]);
    let requests_tokens = spec["tokenRequests"]
        .as_array()
        .is_some_and(|requests| !requests.is_empty());
    if !requests_tokens
        || spec["tokenRequests"] == before["tokenRequests"]
        || !spec["serviceAccountTokenInSecrets"].is_null()
    {
        return Vec::new();
    }
    let text = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
        possible logging of tokens in volume attributes";
    vec![text.to_owned()]
}

fn driver_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    let (new, old) = (&new["spec"], &old["spec"]);
    errors.require_unchanged(
        "spec.attachedRequired",
        &new["attachRequired"],
        &old["attachRequired"],
    );
    errors.require_unchanged(
        "spec.volumeLifecycleModes",
        &new["volumeLifecycleModes"],
        &old["volumeLifecycleModes"],
    );
}

/// Fields of the spec that were immutable in older releases: field name, field path, the release that introduced the field, and the last
/// release in which the field was immutable.
const ONCE_IMMUTABLE: [(&str, &str, u8, u8); 3] = [
    ("storageCapacity", "spec.storageCapacity", 19, 22),
    ("podInfoOnMount", "spec.podInfoOnMount", 18, 28),
    ("fsGroupPolicy", "spec.fsGroupPolicy", 19, 28),
];

fn driver_validate_update_by_release(new: &Value, old: &Value, profile: Profile, errors: &mut ErrorList) {
    for (field, path, first, last) in ONCE_IMMUTABLE {
        if !profile.is_since(first) || profile.is_since(last + 1) {
            continue;
        }
        // A CSIDriver that was stored before `storageCapacity` existed counts as having the default `false`.
        let or_default = |object: &Value| match &object["spec"][field] {
            Value::Null if field == "storageCapacity" => json!(false),
            value => value.clone(),
        };
        errors.require_unchanged(path, &or_default(new), &or_default(old));
    }
}

/// The cell of the column TokenRequests: the audiences of `spec.tokenRequests`.
fn audiences(driver: &Value) -> Value {
    let Some(requests) = driver["spec"]["tokenRequests"].as_array() else {
        return "<unset>".into();
    };
    let audiences = requests.iter().map(|request| json::string(request, "audience"));
    audiences.collect::<Vec<_>>().join(",").into()
}
