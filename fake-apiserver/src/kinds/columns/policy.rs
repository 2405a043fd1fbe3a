//! Rows of classes, policies and the extensions of the API.

use super::{AGE, NAME, Printer, age, at, boolean, count, integer, name, or, since, text};
use crate::machinery::meta;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub(crate) static PRIORITY_CLASS: Printer = Printer {
    columns: &[
        NAME,
        integer("Value"),
        boolean("Global-Default"),
        AGE,
        text("PreemptionPolicy"),
    ],
    row: |o, now| {
        vec![
            name(o),
            json!(o["value"].as_i64().unwrap_or_default()),
            json!(o["globalDefault"] == true),
            age(o, now),
            at(o, "/preemptionPolicy"),
        ]
    },
    null_when_empty: false,
};

pub(crate) static RUNTIME_CLASS: Printer = Printer {
    columns: &[NAME, text("Handler"), AGE],
    row: |o, now| vec![name(o), at(o, "/handler"), age(o, now)],
    null_when_empty: false,
};

pub(crate) static VOLUME_ATTRIBUTES_CLASS: Printer = Printer {
    columns: &[NAME, text("DriverName"), AGE],
    row: |o, now| vec![name(o), at(o, "/driverName"), age(o, now)],
    null_when_empty: false,
};

pub(crate) static RESOURCE_CLAIM: Printer = Printer {
    columns: &[NAME, text("State"), AGE],
    row: |o, now| {
        let (gone, status) = (meta::is_deleting(o), &o["status"]);
        let allocated = status["allocation"].is_object();
        let states = [
            ("deleted", gone),
            ("pending", !gone && !allocated),
            ("allocated", allocated),
            ("reserved", allocated && count(&status["reservedFor"]) > 0),
        ];
        let states: Vec<&str> = states
            .iter()
            .filter(|(_, is)| *is)
            .map(|(state, _)| *state)
            .collect();
        vec![name(o), json!(states.join(",")), age(o, now)]
    },
    null_when_empty: false,
};

pub(crate) static RESOURCE_SLICE: Printer = Printer {
    columns: &[NAME, text("Node"), text("Driver"), text("Pool"), AGE],
    row: |o, now| {
        vec![
            name(o),
            at(o, "/spec/nodeName"),
            at(o, "/spec/driver"),
            at(o, "/spec/pool/name"),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

/// The cells of a policy: how many entries of one list, and what its parameters are.
fn policy(o: &Value, list: &str, now: Timestamp) -> Vec<Value> {
    let parameters = &o["spec"]["paramKind"];
    let word = |field: &str| parameters[field].as_str().unwrap_or_default();
    let shown = match parameters.is_object() {
        true => format!("{}/{}", word("apiVersion"), word("kind")),
        false => String::new(),
    };
    vec![
        name(o),
        json!(count(&o["spec"][list])),
        or(&shown, "<unset>"),
        age(o, now),
    ]
}

pub(crate) static MUTATING_POLICY: Printer = Printer {
    columns: &[NAME, integer("Mutations"), text("ParamKind"), AGE],
    row: |o, now| policy(o, "mutations", now),
    null_when_empty: false,
};

pub(crate) static VALIDATING_POLICY: Printer = Printer {
    columns: &[NAME, integer("Validations"), text("ParamKind"), AGE],
    row: |o, now| policy(o, "validations", now),
    null_when_empty: false,
};

pub(crate) static POLICY_BINDING: Printer = Printer {
    columns: &[NAME, text("PolicyName"), text("ParamRef"), AGE],
    row: |o, now| {
        let parameters = &o["spec"]["paramRef"];
        let word = |field: &str| parameters[field].as_str().filter(|word| !word.is_empty());
        let shown = match (word("namespace"), word("name")) {
            (Some(namespace), name) => format!("{namespace}/{}", name.unwrap_or("*")),
            (None, name) if parameters.is_object() => name.unwrap_or("*").to_owned(),
            (None, _) => String::new(),
        };
        vec![
            name(o),
            at(o, "/spec/policyName"),
            or(&shown, "<unset>"),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static WEBHOOKS: Printer = Printer {
    columns: &[NAME, integer("Webhooks"), AGE],
    row: |o, now| vec![name(o), json!(count(&o["webhooks"])), age(o, now)],
    null_when_empty: false,
};

/// The condition of that type.
fn condition<'a>(o: &'a Value, of: &str) -> Option<&'a Value> {
    let mut conditions = o["status"]["conditions"].as_array()?.iter();
    conditions.find(|one| one["type"] == of)
}

pub(crate) static API_SERVICE: Printer = Printer {
    columns: &[NAME, text("Service"), text("Available"), AGE],
    row: |o, now| {
        let service = &o["spec"]["service"];
        let word = |field: &str| service[field].as_str().unwrap_or_default();
        let available = condition(o, "Available").map(|one| {
            let status = one["status"].as_str().unwrap_or_default();
            match one["reason"].as_str() {
                Some(reason) if status != "True" => format!("{status} ({reason})"),
                _ => status.to_owned(),
            }
        });
        vec![
            name(o),
            json!(match service.is_object() {
                true => format!("{}/{}", word("namespace"), word("name")),
                false => "Local".to_owned(),
            }),
            or(&available.unwrap_or_default(), "Unknown"),
            age(o, now),
        ]
    },
    null_when_empty: false,
};

pub(crate) static SIGNING_REQUEST: Printer = Printer {
    columns: &[
        NAME,
        AGE,
        text("SignerName"),
        text("Requestor"),
        text("RequestedDuration"),
        text("Condition"),
    ],
    row: |o, now| {
        let lifetime = o["spec"]["expirationSeconds"].as_i64().and_then(|seconds| {
            let end = now.checked_add(SignedDuration::from_secs(seconds)).ok()?;
            Some(since(&now.to_string(), end))
        });
        let decided = ["Approved", "Denied", "Failed"]
            .into_iter()
            .filter(|of| condition(o, of).is_some());
        let mut states: Vec<&str> = decided.collect();
        if states.is_empty() {
            states.push("Pending");
        }
        if !o["status"]["certificate"].as_str().unwrap_or_default().is_empty() {
            states.push("Issued");
        }
        vec![
            name(o),
            age(o, now),
            at(o, "/spec/signerName"),
            at(o, "/spec/username"),
            or(&lifetime.unwrap_or_default(), "<none>"),
            json!(states.join(",")),
        ]
    },
    null_when_empty: false,
};

pub(crate) static FLOW_SCHEMA: Printer = Printer {
    columns: &[
        NAME,
        text("PriorityLevel"),
        text("MatchingPrecedence"),
        text("DistinguisherMethod"),
        AGE,
        text("MissingPL"),
    ],
    row: |o, now| {
        let method = o["spec"]["distinguisherMethod"]["type"].as_str();
        let dangling = condition(o, "Dangling").and_then(|one| one["status"].as_str());
        vec![
            name(o),
            at(o, "/spec/priorityLevelConfiguration/name"),
            json!(
                o["spec"]["matchingPrecedence"]
                    .as_i64()
                    .unwrap_or_default()
                    .to_string()
            ),
            or(method.unwrap_or_default(), "<none>"),
            age(o, now),
            or(dangling.unwrap_or_default(), "?"),
        ]
    },
    null_when_empty: false,
};

pub(crate) static PRIORITY_LEVEL: Printer = Printer {
    columns: &[
        NAME,
        text("Type"),
        text("NominalConcurrencyShares"),
        text("Queues"),
        text("HandSize"),
        text("QueueLengthLimit"),
        AGE,
    ],
    row: |o, now| {
        let limited = &o["spec"]["limited"];
        let queuing = &limited["limitResponse"]["queuing"];
        let number = |value: &Value| match value.as_i64() {
            Some(number) => json!(number.to_string()),
            None => json!("<none>"),
        };
        vec![
            name(o),
            at(o, "/spec/type"),
            number(&limited["nominalConcurrencyShares"]),
            number(&queuing["queues"]),
            number(&queuing["handSize"]),
            number(&queuing["queueLengthLimit"]),
            age(o, now),
        ]
    },
    null_when_empty: false,
};
