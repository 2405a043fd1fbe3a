//! Rows of the kinds that configure pods and namespaces, and of what is left of older configurations.

use super::{AGE, NAME, Printer, age, at, count, integer, name, or, selector_text, text};
use crate::machinery::json;
use serde_json::{Value, json};

/// How many entries of a list a cell shows.
const SHOWN: usize = 3;

pub(crate) static SECRET: Printer = Printer {
    columns: &[NAME, text("Type"), integer("Data"), AGE],
    row: |o, now| vec![name(o), at(o, "/type"), json!(count(&o["data"])), age(o, now)],
    null_when_empty: false,
};

pub(crate) static ENDPOINTS: Printer = Printer {
    columns: &[NAME, text("Endpoints"), AGE],
    row: |o, now| {
        let subsets = o["subsets"].as_array().into_iter().flatten();
        let all: Vec<String> = subsets.flat_map(addresses).collect();
        vec![name(o), or(&first(&all), "<none>"), age(o, now)]
    },
    null_when_empty: false,
};

/// Every address of a subset with every port.
fn addresses(subset: &Value) -> Vec<String> {
    let ports = json::list(&subset["ports"]);
    let addresses = subset["addresses"].as_array().into_iter().flatten();
    let addresses = addresses.filter_map(|address| address["ip"].as_str());
    addresses
        .flat_map(|ip| match ports {
            [] => vec![ip.to_owned()],
            ports => ports
                .iter()
                .map(|port| format!("{ip}:{}", port["port"]))
                .collect(),
        })
        .collect()
}

/// The first entries of a list, and how many more there are.
pub(super) fn first(all: &[String]) -> String {
    let shown = all[..all.len().min(SHOWN)].join(",");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

pub(crate) static RESOURCE_QUOTA: Printer = Printer {
    columns: &[NAME, text("Request"), text("Limit"), AGE],
    row: |o, now| {
        let (mut requests, mut limits) = (Vec::new(), Vec::new());
        for (resource, hard) in json::pairs(&o["status"]["hard"]) {
            let used = o["status"]["used"][resource].as_str().unwrap_or("0");
            let list = if resource.starts_with("limits.") {
                &mut limits
            } else {
                &mut requests
            };
            list.push(format!("{resource}: {used}/{hard}"));
        }
        vec![
            name(o),
            json!(requests.join(", ")),
            json!(limits.join(", ")),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static POD_TEMPLATE: Printer = Printer {
    columns: &[NAME, text("Containers"), text("Images"), text("Pod Labels")],
    row: |o, _| {
        let containers = |field: &str| {
            let list = o["template"]["spec"]["containers"]
                .as_array()
                .into_iter()
                .flatten();
            let texts: Vec<&str> = list.filter_map(|one| one[field].as_str()).collect();
            json!(texts.join(","))
        };
        let labels = selector_text(&o["template"]["metadata"]["labels"]);
        vec![name(o), containers("name"), containers("image"), labels]
    },
    null_when_empty: false,
};

pub(crate) static CONTROLLER_REVISION: Printer = Printer {
    columns: &[NAME, text("Controller"), text("Revision"), AGE],
    row: |o, now| {
        let owners = o["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let controller = owners
            .into_iter()
            .find(|owner| owner["controller"] == true)
            .map(|owner| {
                let word = |field: &str| owner[field].as_str().unwrap_or_default();
                let group = word("apiVersion")
                    .split_once('/')
                    .map(|(group, _)| format!(".{group}"));
                format!(
                    "{}{}/{}",
                    word("kind").to_lowercase(),
                    group.unwrap_or_default(),
                    word("name")
                )
            });
        vec![
            name(o),
            or(&controller.unwrap_or_default(), "<none>"),
            json!(o["revision"].as_i64().unwrap_or_default().to_string()),
            age(o, now),
        ]
    },
    null_when_empty: false,
};
