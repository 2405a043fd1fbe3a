//! Ingress and IngressClass: defaults and table columns; no traffic is routed.

use super::NETWORKING;
use fake_apiserver::extension::json;
use fake_apiserver::extension::resource::Cell::{Of, Text};
use fake_apiserver::extension::resource::ServedReleases;
use fake_apiserver::extension::resource::{AGE, NAME, count, join_first, text, text_or_default};
use fake_apiserver::extension::resource::{Generation, Hooks, MetadataChecks, NO_HOOKS, ResourceDefinition};
use serde_json::Value;

/// Maximum number of hosts in the HOSTS column of an Ingress.
const SHOWN: usize = 3;

pub(super) static INGRESS_CLASS: ResourceDefinition = ResourceDefinition {
    kind: "IngressClass",
    plural: "ingressclasses",
    namespaced: false,
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: class_default,
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Controller", Text("/spec/controller")),
        text("Parameters", Of(parameters_cell)),
        AGE,
    ],
    life: ServedReleases::since(19),
    ..NETWORKING
};

pub(super) static INGRESS: ResourceDefinition = ResourceDefinition {
    kind: "Ingress",
    metadata_checks: MetadataChecks::core_v1_checks(2).with_status_passes(1, true),
    plural: "ingresses",
    registry: Some("ingress"),
    short_names: &["ing"],
    status: true,
    generation: Generation::FromCreation,
    columns: &[
        NAME,
        text("Class", Of(ingress_class)),
        text("Hosts", Of(ingress_hosts)),
        text("Address", Of(ingress_addresses)),
        text(
            "Ports",
            Of(|o| {
                if count(&o["spec"]["tls"]) > 0 {
                    "80, 443"
                } else {
                    "80"
                }
                .into()
            }),
        ),
        AGE,
    ],
    life: ServedReleases::since(19),
    ..NETWORKING
};

/// The deprecated annotation with the name of the IngressClass.
const CLASS: &str = "kubernetes.io/ingress.class";

fn class_default(class: &mut Value) {
    let parameters = class.pointer_mut("/spec/parameters");
    if let Some(parameters) = parameters.filter(|parameters| parameters.is_object()) {
        json::default_member(parameters, "scope", "Cluster");
    }
}

fn parameters_cell(class: &Value) -> Value {
    let parameters = &class["spec"]["parameters"];
    if !parameters.is_object() {
        return "<none>".into();
    }
    let group = match json::string(parameters, "apiGroup") {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let (kind, name) = (json::string(parameters, "kind"), json::string(parameters, "name"));
    format!("{kind}{group}/{name}").into()
}

fn ingress_class(ingress: &Value) -> Value {
    let annotated = ingress["metadata"]["annotations"][CLASS].as_str();
    let class = ingress["spec"]["ingressClassName"].as_str().or(annotated);
    text_or_default(class.unwrap_or_default(), "<none>")
}

fn ingress_hosts(ingress: &Value) -> Value {
    let rules = json::list(&ingress["spec"]["rules"]).iter();
    let hosts = rules.filter_map(|rule| rule["host"].as_str()).map(str::to_owned);
    text_or_default(&join_first(&hosts.collect::<Vec<_>>(), SHOWN, ","), "*")
}

fn ingress_addresses(ingress: &Value) -> Value {
    let all = json::list(&ingress["status"]["loadBalancer"]["ingress"]).iter();
    let addresses = all.filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()));
    addresses.collect::<Vec<_>>().join(",").into()
}
