//! LimitRange and ResourceQuota. Admission plugins enforce both, and each commit updates the usage of quotas.

use fake_apiserver::extension::resource::Cell::Of;
use fake_apiserver::extension::resource::{AGE, NAME, NAME_AND_CREATION, text};
use fake_apiserver::extension::resource::{
    Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext,
};
use fake_apiserver::extension::{json, metadata};
use serde_json::Value;

pub(super) static LIMIT_RANGE: ResourceDefinition = ResourceDefinition {
    kind: "LimitRange",
    metadata_checks: MetadataChecks::core_v1_checks(1).without_comparison(),
    plural: "limitranges",
    short_names: &["limits"],
    create_on_update: true,
    columns: NAME_AND_CREATION,
    hooks: Hooks {
        default: limit_range_default,
        create: name_limit_range,
        ..NO_HOOKS
    },
    ..PLAIN
};

pub(super) static RESOURCE_QUOTA: ResourceDefinition = ResourceDefinition {
    kind: "ResourceQuota",
    plural: "resourcequotas",
    short_names: &["quota"],
    status: true,
    returns_deleted: true,
    columns: &[
        NAME,
        text("Request", Of(|o| used_and_hard_cell(o, false))),
        text("Limit", Of(|o| used_and_hard_cell(o, true))),
        AGE,
    ],
    ..PLAIN
};

/// For limits of containers, `default` defaults to `max`, and `defaultRequest` to `default` or, if `default` is unset, to `min`.
fn limit_range_default(object: &mut Value) {
    for limit in json::entries(object, "/spec/limits") {
        if limit["type"] != "Container" {
            continue;
        }
        for (from, to) in [
            ("max", "default"),
            ("default", "defaultRequest"),
            ("min", "defaultRequest"),
        ] {
            let Some(amounts) = limit[from].as_object().cloned() else {
                continue;
            };
            let members = json::member(limit, to);
            for (name, amount) in amounts {
                members.entry(name).or_insert(amount);
            }
        }
    }
}

/// Sets the name of a LimitRange to its uid if it has no name.
fn name_limit_range(object: &mut Value, _: &StrategyContext<'_>) {
    if metadata::text(object, "name").is_empty() {
        let name = metadata::text(object, "uid").to_owned();
        metadata::set(object, "name", Some(name.into()));
    }
}

/// The value of a table column: used and hard amounts of a quota, either of requests or of limits.
fn used_and_hard_cell(quota: &Value, of_limits: bool) -> Value {
    let all = json::string_members(&quota["status"]["hard"]);
    let matching = all.filter(|(resource, _)| resource.starts_with("limits.") == of_limits);
    let shown = matching.map(|(resource, hard)| {
        let used = quota["status"]["used"][resource].as_str().unwrap_or("0");
        format!("{resource}: {used}/{hard}")
    });
    shown.collect::<Vec<_>>().join(", ").into()
}
