//! Rows of networking.k8s.io and discovery.k8s.io.

use super::config::first;
use super::{AGE, NAME, Printer, age, at, count, name, or, selector_text, text};
use crate::machinery::json;
use serde_json::{Value, json};

pub(crate) static ENDPOINT_SLICE: Printer = Printer {
    columns: &[NAME, text("AddressType"), text("Ports"), text("Endpoints"), AGE],
    row: |o, now| {
        let list = |field: &str| o[field].as_array().into_iter().flatten();
        let ports: Vec<String> = list("ports")
            .map(|port| {
                port["port"]
                    .as_i64()
                    .map_or_else(|| "*".to_owned(), |port| port.to_string())
            })
            .collect();
        let endpoints: Vec<String> = list("endpoints")
            .flat_map(|endpoint| json::texts(&endpoint["addresses"]))
            .map(str::to_owned)
            .collect();
        vec![
            name(o),
            at(o, "/addressType"),
            or(&first(&ports), "<unset>"),
            or(&first(&endpoints), "<unset>"),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static INGRESS_CLASS: Printer = Printer {
    columns: &[NAME, text("Controller"), text("Parameters"), AGE],
    row: |o, now| {
        let parameters = &o["spec"]["parameters"];
        let word = |field: &str| parameters[field].as_str().unwrap_or_default();
        let group = match word("apiGroup") {
            "" => String::new(),
            group => format!(".{group}"),
        };
        let shown = match parameters.is_object() {
            true => format!("{}{group}/{}", word("kind"), word("name")),
            false => String::new(),
        };
        vec![
            name(o),
            at(o, "/spec/controller"),
            or(&shown, "<none>"),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static INGRESS: Printer = Printer {
    columns: &[
        NAME,
        text("Class"),
        text("Hosts"),
        text("Address"),
        text("Ports"),
        AGE,
    ],
    row: |o, now| {
        let annotated = o["metadata"]["annotations"]["kubernetes.io/ingress.class"].as_str();
        let class = o["spec"]["ingressClassName"].as_str().or(annotated);
        let list = |pointer: &str| o.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let hosts: Vec<String> = list("/spec/rules")
            .filter_map(|rule| rule["host"].as_str())
            .map(str::to_owned)
            .collect();
        let addresses: Vec<&str> = list("/status/loadBalancer/ingress")
            .filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()))
            .collect();
        let secure = count(&o["spec"]["tls"]) > 0;
        vec![
            name(o),
            or(class.unwrap_or_default(), "<none>"),
            or(&first(&hosts), "*"),
            json!(addresses.join(",")),
            json!(if secure { "80, 443" } else { "80" }),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static IP_ADDRESS: Printer = Printer {
    columns: &[NAME, text("ParentRef")],
    row: |o, _| {
        let parent = &o["spec"]["parentRef"];
        let words: Vec<String> = [
            match (parent["resource"].as_str(), parent["group"].as_str()) {
                (Some(resource), Some(group)) if !group.is_empty() => format!("{resource}.{group}"),
                (resource, _) => resource.unwrap_or_default().to_owned(),
            },
            parent["namespace"].as_str().unwrap_or_default().to_owned(),
            parent["name"].as_str().unwrap_or_default().to_owned(),
        ]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
        vec![name(o), or(&words.join("/"), "<none>")]
    },
    null_when_empty: false,
};

pub(crate) static NETWORK_POLICY: Printer = Printer {
    columns: &[NAME, text("Pod-Selector"), AGE],
    row: |o, now| vec![name(o), selector_text(&o["spec"]["podSelector"]), age(o, now)],
    null_when_empty: false,
};

pub(crate) static SERVICE_CIDR: Printer = Printer {
    columns: &[NAME, text("CIDRs"), AGE],
    row: |o, now| {
        vec![
            name(o),
            json!(json::texts(&o["spec"]["cidrs"]).join(",")),
            age(o, now),
        ]
    },
    null_when_empty: false,
};
