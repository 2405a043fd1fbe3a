//! apiregistration.k8s.io: APIServices are stored and printed. Requests are not forwarded to aggregated
//! API servers.

use fake_apiserver::extension::json;
use fake_apiserver::extension::names::Messages;
use fake_apiserver::extension::resource::Cell::Of;
use fake_apiserver::extension::resource::{AGE, NAME, condition, text, text_or_default};
use fake_apiserver::extension::resource::{
    Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StatusMetadata,
};
use serde_json::Value;

pub(super) static API_SERVICE: ResourceDefinition = ResourceDefinition {
    kind: "APIService",
    metadata_checks: MetadataChecks::apimachinery_checks(2),
    plural: "apiservices",
    registry: Some("apiregistration.k8s.io/apiservices"),
    group: "apiregistration.k8s.io",
    // APIServices have names such as `v1.apps`. Names that are no valid path segment are rejected before this check.
    name_rule: |_| Messages::new(),
    status_metadata: StatusMetadata::Unchanged,
    status_resets: &[&["spec"], &["metadata"]],
    hooks: Hooks {
        default: |api| {
            if let Some(service) = api
                .pointer_mut("/spec/service")
                .filter(|service| service.is_object())
            {
                json::default_member(service, "port", 443);
            }
        },
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Service", Of(service_cell)),
        text("Available", Of(available_cell)),
        AGE,
    ],
    caveat: Some(
        "this server does not serve aggregated APIs: the APIService is stored, but does not become available",
    ),
    categories: &["api-extensions"],
    namespaced: false,
    status: true,
    unconditional_update: false,
    ..PLAIN
};

fn service_cell(api: &Value) -> Value {
    let service = &api["spec"]["service"];
    match service.is_object() {
        true => format!(
            "{}/{}",
            json::string(service, "namespace"),
            json::string(service, "name")
        )
        .into(),
        false => "Local".into(),
    }
}

fn available_cell(api: &Value) -> Value {
    let Some(condition) = condition(api, "Available") else {
        return "Unknown".into();
    };
    let status = json::string(condition, "status");
    match condition["reason"].as_str() {
        Some(reason) if status != "True" => format!("{status} ({reason})").into(),
        _ => text_or_default(status, "Unknown"),
    }
}
