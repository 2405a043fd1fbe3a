//! NetworkPolicy: defaults and rules; there is no network.

use super::network::NETWORKING;
use super::{Generation, Hooks, NO_HOOKS, Row, selectors};
use crate::kinds::columns::Cell::Labels;
use crate::kinds::columns::{AGE, NAME, text};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string, texts};
use crate::machinery::{ip, names};
use serde_json::{Value, json};

pub(super) static NETWORK_POLICY: Row = Row {
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    singular: "networkpolicy",
    short_names: &["netpol"],
    generation: Generation::FromCreation,
    hooks: Hooks {
        default,
        validate_create: |policy, faults| validate(policy, &[], faults),
        validate_update: |new, old, faults| validate(new, &known_ranges(old), faults),
        warn: |new, _| warn(new),
        ..NO_HOOKS
    },
    columns: &[NAME, text("Pod-Selector", Labels("/spec/podSelector")), AGE],
    ..NETWORKING
};

/// The ways of traffic, with the members that name the peers.
const WAYS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const TYPES: [&str; 2] = ["Ingress", "Egress"];

/// A policy is about ingress, and about egress if it has egress rules.
fn default(policy: &mut Value) {
    let spec = &policy["spec"];
    if list(&spec["policyTypes"]).is_empty() {
        let out = !list(&spec["egress"]).is_empty();
        policy["spec"]["policyTypes"] = if out { json!(TYPES) } else { json!([TYPES[0]]) };
    }
    for (way, _) in WAYS {
        for rule in json::entries(policy, &format!("/spec/{way}")) {
            for port in json::entries(rule, "/ports") {
                json::default_member(port, "protocol", "TCP");
            }
        }
    }
}

/// The rules of a policy; those ranges are there already, and stay whatever they are.
fn validate(policy: &Value, known: &[&str], faults: &mut Faults) {
    let spec = &policy["spec"];
    selectors::labels(&spec["podSelector"], "spec.podSelector", faults);
    for (way, peers) in WAYS {
        for (i, rule) in list(&spec[way]).iter().enumerate() {
            let at = format!("spec.{way}[{i}]");
            for (j, one) in list(&rule["ports"]).iter().enumerate() {
                port(one, &format!("{at}.ports[{j}]"), faults);
            }
            for (j, one) in list(&rule[peers]).iter().enumerate() {
                peer(one, known, &format!("{at}.{peers}[{j}]"), faults);
            }
        }
    }
    let types = &spec["policyTypes"];
    if list(types).len() > TYPES.len() {
        let why = "may not specify more than two policyTypes";
        return faults.invalid("spec.policyTypes", types.clone(), why);
    }
    for (i, one) in texts(types).into_iter().enumerate() {
        faults.one_of(&format!("spec.policyTypes[{i}]"), one, &TYPES);
    }
}

/// A range of ports begins with a number, and ends after it.
fn port(port: &Value, at: &str, faults: &mut Faults) {
    if let Some(protocol) = port["protocol"].as_str() {
        faults.one_of(&format!("{at}.protocol"), protocol, &PROTOCOLS);
    }
    let (first, last) = (&port["port"], port["endPort"].as_i64());
    let (field, last_field) = (format!("{at}.port"), format!("{at}.endPort"));
    match first {
        Value::Null => {
            if let Some(last) = last {
                let why = "may not be specified when `port` is not specified";
                faults.invalid(last_field, last, why);
            }
        }
        Value::String(name) => {
            if let Some(last) = last {
                let why = "may not be specified when `port` is non-numeric";
                faults.invalid(last_field, last, why);
            }
            faults.complain(&field, name, names::port(name));
        }
        first => {
            let first = first.as_i64().unwrap_or_default();
            faults.port(&field, first);
            let Some(last) = last else { return };
            if last < first {
                // It is the first port that is shown.
                faults.invalid(
                    last_field.as_str(),
                    first,
                    "must be greater than or equal to `port`",
                );
            }
            faults.port(&last_field, last);
        }
    }
}

fn peer(peer: &Value, known: &[&str], at: &str, faults: &mut Faults) {
    let mut count = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if !peer[name].is_null() {
            count += 1;
            selectors::labels(&peer[name], &format!("{at}.{name}"), faults);
        }
    }
    let block = &peer["ipBlock"];
    if !block.is_null() {
        count += 1;
        ip_block(block, known, &format!("{at}.ipBlock"), faults);
    }
    if count == 0 {
        faults.required(at, "must specify a peer");
    } else if count > 1 && !block.is_null() {
        faults.forbidden(at, "may not specify both ipBlock and another peer");
    }
}

fn ip_block(block: &Value, known: &[&str], at: &str, faults: &mut Faults) {
    let (field, whole) = (format!("{at}.cidr"), string(block, "cidr"));
    if whole.is_empty() {
        return faults.required(field, "");
    }
    let judge = |text: &str, field: &str, faults: &mut Faults| {
        if !known.contains(&text) {
            faults.complain(field, text, ip::any_form_of_range(text));
        }
        ip::Range::parse(text)
    };
    let Some(range) = judge(whole, &field, faults) else {
        return;
    };
    for (i, text) in texts(&block["except"]).into_iter().enumerate() {
        let field = format!("{at}.except[{i}]");
        let part = judge(text, &field, faults);
        if part.is_some_and(|part| !range.exceeds(&part)) {
            faults.invalid(field, text, "must be a strict subset of `cidr`");
        }
    }
}

/// The ranges of all peers, with their fields.
fn ranges(policy: &Value) -> Vec<(String, &str)> {
    let mut out = Vec::new();
    for (way, peers) in WAYS {
        for (i, rule) in list(&policy["spec"][way]).iter().enumerate() {
            for (j, peer) in list(&rule[peers]).iter().enumerate() {
                let (at, block) = (format!("spec.{way}[{i}].{peers}[{j}].ipBlock"), &peer["ipBlock"]);
                out.extend(block["cidr"].as_str().map(|text| (format!("{at}.cidr"), text)));
                let parts = texts(&block["except"]).into_iter().enumerate();
                out.extend(parts.map(|(k, text)| (format!("{at}.except[{k}]"), text)));
            }
        }
    }
    out
}

fn known_ranges(policy: &Value) -> Vec<&str> {
    ranges(policy).into_iter().map(|(_, text)| text).collect()
}

fn warn(policy: &Value) -> Vec<String> {
    let all = ranges(policy).into_iter();
    all.flat_map(|(field, text)| ip::range_warnings(text, &field))
        .collect()
}
