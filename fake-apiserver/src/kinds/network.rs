//! IPAddress and ServiceCIDR: rules and what is shown. Addresses are given out of the range of the options only.

use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, Row, StatusMetadata, internal_form};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Join, Of};
use crate::kinds::columns::{AGE, NAME, or, text};
use crate::machinery::faults::Faults;
use crate::machinery::json::{string, texts};
use crate::machinery::{ip, names};
use serde_json::Value;

pub(super) const NETWORKING: Row = Row {
    group: "networking.k8s.io",
    ..PLAIN
};

pub(super) static IP_ADDRESS: Row = Row {
    kind: "IPAddress",
    plural: "ipaddresses",
    singular: "ipaddress",
    short_names: &["ip"],
    namespaced: false,
    name_rule: ip::canonical,
    metadata_checks: MetadataChecks::core(2),
    hooks: Hooks {
        validate: address_validate,
        validate_update: address_update,
        ..NO_HOOKS
    },
    columns: &[NAME, text("ParentRef", Of(address_parent))],
    life: Life::since(33),
    ..NETWORKING
};

fn address_validate(address: &Value, faults: &mut Faults) {
    let (at, parent) = ("spec.parentRef", &address["spec"]["parentRef"]);
    if parent.is_null() {
        return faults.required(at, "");
    }
    let group = string(parent, "group");
    if !group.is_empty() {
        faults.complain(&format!("{at}.group"), group, names::subdomain(group));
    }
    for (part, is_needed) in [("resource", true), ("name", true), ("namespace", false)] {
        let (field, text) = (format!("{at}.{part}"), string(parent, part));
        if text.is_empty() && is_needed {
            faults.required(field.as_str(), "");
        }
        faults.complain(&field, text, names::path_segment(text));
    }
}

fn address_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (now, before) = (&new["spec"]["parentRef"], &old["spec"]["parentRef"]);
    if now == before {
        return;
    }
    let shown = internal_form::shown("*ParentReference", now);
    faults.invalid_as("spec.parentRef", &shown, IMMUTABLE);
}

pub(super) static SERVICE_CIDR: Row = Row {
    kind: "ServiceCIDR",
    metadata_checks: MetadataChecks::core(1),
    plural: "servicecidrs",
    singular: "servicecidr",
    namespaced: false,
    status: true,
    status_metadata: StatusMetadata::Described,
    status_resets: &[&["metadata"], &["spec"]],
    hooks: Hooks {
        validate_create: ranges_validate,
        validate_update: ranges_update,
        ..NO_HOOKS
    },
    columns: &[NAME, text("CIDRs", Join("/spec/cidrs", "")), AGE],
    life: Life::since(33),
    ..NETWORKING
};

const CIDRS: &str = "spec.cidrs";
const IMMUTABLE: &str = "field is immutable";

fn cidrs(ranges: &Value) -> Vec<&str> {
    texts(&ranges["spec"]["cidrs"])
}

fn ranges_validate(ranges: &Value, faults: &mut Faults) {
    let all = cidrs(ranges);
    if all.is_empty() {
        return faults.required(CIDRS, "at least one CIDR required");
    }
    if all.len() > 2 {
        let shown = internal_form::shown("ServiceCIDRSpec", &ranges["spec"]);
        return faults.invalid_as(CIDRS, &shown, "may only hold up to 2 values");
    }
    for (i, text) in all.iter().enumerate() {
        faults.complain(&format!("{CIDRS}[{i}]"), text, ip::canonical_range(text));
    }
    let families: Vec<bool> = all
        .iter()
        .filter_map(|text| Some(ip::Range::parse(text)?.is_ipv4()))
        .collect();
    if let [first, second] = families[..]
        && first == second
    {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        faults.invalid(CIDRS, all, why);
    }
}

/// A range of the other family may come; what is there stays.
fn ranges_update(new: &Value, old: &Value, faults: &mut Faults) {
    let (now, before) = (cidrs(new), cidrs(old));
    let grows = (before.len(), now.len()) == (1, 2);
    if now.len() != before.len() && !grows {
        return faults.invalid(CIDRS, new["spec"]["cidrs"].clone(), IMMUTABLE);
    }
    for (i, (now, before)) in now.iter().zip(&before).enumerate() {
        if now != before {
            faults.invalid(format!("{CIDRS}[{i}]"), *now, IMMUTABLE);
        }
    }
    if grows {
        ranges_validate(new, faults);
    }
}

fn address_parent(address: &Value) -> Value {
    let parent = &address["spec"]["parentRef"];
    let resource = match (string(parent, "resource"), string(parent, "group")) {
        ("", _) | (_, "") => string(parent, "resource").to_owned(),
        (resource, group) => format!("{resource}.{group}"),
    };
    let words = [&resource, string(parent, "namespace"), string(parent, "name")];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    or(&words.join("/"), "<none>")
}
