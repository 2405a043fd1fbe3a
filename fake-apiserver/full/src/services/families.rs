//! Cluster IPs and IP families of services: defaulting and validation.
//!
//! Does not allocate addresses. Runs before `allocator` and before all other validation: as in kube-apiserver, if these fields have errors,
//! no other errors are returned.

use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::ip;
use fake_apiserver::extension::json::{self, list, string, texts};
use fake_apiserver::extension::resource::service_parts::{
    has_node_ports, is_external, is_headless, needs_health_check, node_ports,
};
use serde_json::{Value, json};
use std::collections::HashSet;

const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const POLICY: &str = "spec.ipFamilyPolicy";

/// Sets the cluster IP and IP family fields that are unset, from the old service or from `family`, the IP family of the cluster.
pub(super) fn set_defaults(
    service: &mut Value,
    old: Option<&Value>,
    family: &'static str,
) -> Result<(), ErrorList> {
    if let Some(old) = old {
        copy_omitted_allocations(service, old);
        sync_cluster_ips(service, old);
    } else if list(&service["spec"]["clusterIPs"]).is_empty() {
        let address = string(&service["spec"], "clusterIP").to_owned();
        if !address.is_empty() {
            service["spec"]["clusterIPs"] = json!([address]);
        }
    }
    if is_external(service) || old.is_some_and(|old| stays_as_preferred(service, old)) {
        return Ok(());
    }
    set_families_and_policy(service, old, family)
}

/// Copies cluster IPs and node ports that the client omitted in an update from the old service.
fn copy_omitted_allocations(new: &mut Value, old: &Value) {
    if !is_external(new) && !is_external(old) {
        for field in ["clusterIP", "clusterIPs"] {
            if list(&new["spec"][field]).is_empty() && string(&new["spec"], field).is_empty() {
                json::assign(&mut new["spec"], field, old["spec"][field].clone());
            }
        }
    }
    if needs_health_check(new)
        && needs_health_check(old)
        && new["spec"]["healthCheckNodePort"].as_u64().unwrap_or(0) == 0
    {
        let port = old["spec"]["healthCheckNodePort"].clone();
        json::assign(&mut new["spec"], "healthCheckNodePort", port);
    }
    if !has_node_ports(new) || !has_node_ports(old) {
        return;
    }
    let used: HashSet<u64> = node_ports(new).into_iter().filter(|port| *port != 0).collect();
    for port in json::entries(new, "/spec/ports") {
        let mut before = list(&old["spec"]["ports"]).iter();
        let before = before.find(|before| before["name"] == port["name"]);
        let known = before.and_then(|before| before["nodePort"].as_u64());
        if port["nodePort"].as_u64().unwrap_or_default() == 0
            && let Some(known) = known.filter(|known| !used.contains(known))
        {
            port["nodePort"] = known.into();
        }
    }
}

/// If a client changes only `clusterIP`, which is older than `clusterIPs`, sets `clusterIPs` to the same IP.
fn sync_cluster_ips(new: &mut Value, old: &Value) {
    let (now, before) = (
        string(&new["spec"], "clusterIP"),
        string(&old["spec"], "clusterIP"),
    );
    let addresses = texts(&new["spec"]["clusterIPs"]);
    let follows = if now == before {
        addresses.is_empty().then(|| old["spec"]["clusterIPs"].clone())
    } else {
        let stays = addresses == texts(&old["spec"]["clusterIPs"]);
        stays.then(|| if now.is_empty() { Value::Null } else { json!([now]) })
    };
    if let Some(addresses) = follows {
        json::assign(&mut new["spec"], "clusterIPs", addresses);
    }
}

/// Whether an update keeps the type, IP families and addresses of a `PreferDualStack` service.
fn stays_as_preferred(new: &Value, old: &Value) -> bool {
    let (now, before) = (&new["spec"], &old["spec"]);
    let is_same = |name: &str| texts(&now[name]) == texts(&before[name]);
    now["ipFamilyPolicy"] == "PreferDualStack"
        && (before["ipFamilyPolicy"].is_null() || before["ipFamilyPolicy"] == "PreferDualStack")
        && now["type"] == before["type"]
        && is_same("clusterIPs")
        && is_same("ipFamilies")
}

/// Sets the IP families and IP family policy that a service lacks, and validates them.
fn set_families_and_policy(
    service: &mut Value,
    old: Option<&Value>,
    family: &'static str,
) -> Result<(), ErrorList> {
    let has_selector = json::string_members(&service["spec"]["selector"])
        .next()
        .is_some();
    let is_free = service["spec"]["clusterIP"] == "None" && !has_selector;
    if service["spec"]["ipFamilyPolicy"].is_null() {
        let before = old.map_or(&Value::Null, |old| &old["spec"]["ipFamilyPolicy"]);
        service["spec"]["ipFamilyPolicy"] = match before {
            Value::Null if is_free => "RequireDualStack".into(),
            Value::Null => "SingleStack".into(),
            before => before.clone(),
        };
    }
    let mut errors = ErrorList::default();
    validate(service, &mut errors);
    err_if_any(errors)?;

    let mut errors = ErrorList::default();
    let is_single = service["spec"]["ipFamilyPolicy"] == "SingleStack";
    if let Some(old) = old {
        release_secondary(service, old, &mut errors);
    }
    if is_single {
        for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if list(&service["spec"][field]).len() == 2 {
                let why = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                errors.invalid(POLICY, "SingleStack", &why);
            }
        }
    }
    let mut families: Vec<String> = texts(&service["spec"]["ipFamilies"])
        .into_iter()
        .map(str::to_owned)
        .collect();
    for (i, address) in texts(&service["spec"]["clusterIPs"]).into_iter().enumerate() {
        if address == "None" {
            break;
        }
        let its = family_of(address);
        if i >= families.len() && its != family {
            let all = service["spec"]["clusterIPs"].clone();
            let why = format!("{its} is not configured on this cluster");
            errors.invalid(format!("spec.clusterIPs[{i}]"), all, &why);
        } else if i >= families.len() {
            families.push(its.to_owned());
        }
    }
    err_if_any(errors)?;

    let mut errors = ErrorList::default();
    if !is_free {
        let policy = &service["spec"]["ipFamilyPolicy"];
        if policy == "RequireDualStack" {
            let why = "this cluster is not configured for dual-stack services";
            errors.invalid(POLICY, policy.clone(), why);
        }
        for (i, other) in families.iter().enumerate().filter(|(_, other)| *other != family) {
            errors.invalid(
                format!("spec.ipFamilies[{i}]"),
                other.as_str(),
                "not configured on this cluster",
            );
        }
    }
    err_if_any(errors)?;
    if families.is_empty() {
        families.push(family.to_owned());
    }
    if is_free && !is_single && families.len() < 2 {
        families.push(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }.to_owned());
    }
    service["spec"]["ipFamilies"] = families.into();
    Ok(())
}

/// Removes the secondary cluster IP and IP family of a service that becomes single-stack.
fn release_secondary(new: &mut Value, old: &Value, errors: &mut ErrorList) {
    let is_single = new["spec"]["ipFamilyPolicy"] == "SingleStack";
    for (field, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (now, before) = (texts(&new["spec"][field]), texts(&old["spec"][field]));
        if is_single && now == before && now.len() > 1 {
            let first = json!([now[0]]);
            new["spec"][field] = first;
        } else if !is_single && !now.is_empty() && now.len() < before.len() {
            let why = format!("must be 'SingleStack' to release the secondary {what}");
            errors.invalid(POLICY, new["spec"]["ipFamilyPolicy"].clone(), &why);
        }
    }
}

fn err_if_any(errors: ErrorList) -> Result<(), ErrorList> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

pub(super) fn family_of(address: &str) -> &'static str {
    if address.contains(':') { "IPv6" } else { "IPv4" }
}

/// Validates cluster IPs, IP families and IP family policy of a service.
pub(super) fn validate(service: &Value, errors: &mut ErrorList) {
    if is_external(service) {
        return;
    }
    let spec = &service["spec"];
    let (addresses, families) = (texts(&spec["clusterIPs"]), texts(&spec["ipFamilies"]));
    let field = "spec.clusterIPs";
    let all = || spec["clusterIPs"].clone();
    match (string(spec, "clusterIP"), addresses.first()) {
        ("", Some(_)) => errors.invalid(field, all(), "must be empty when `clusterIP` is not specified"),
        ("", None) => {}
        (_, None) => errors.required(field, ""),
        (one, Some(first)) if one != *first => {
            errors.invalid(field, all(), "first value must match `clusterIP`");
        }
        _ => {}
    }
    for (i, family) in families.iter().enumerate() {
        let at = format!("spec.ipFamilies[{i}]");
        errors.one_of(&at, family, &["IPv4", "IPv6"]);
        if families[..i].contains(family) {
            errors.duplicate(at, *family);
        }
    }
    if let Some(policy) = spec["ipFamilyPolicy"].as_str() {
        errors.one_of(POLICY, policy, &POLICIES);
    }
    let mut is_wrong = false;
    for (i, address) in addresses.iter().enumerate() {
        if i == 0 && *address == "None" {
            if addresses.len() > 1 {
                is_wrong = true;
                errors.invalid(field, all(), "'None' must be the first and only value");
            }
            continue;
        }
        let complaints = ip::validate_any_notation(address);
        is_wrong |= !complaints.is_empty();
        errors.invalid_all(&format!("{field}[{i}]"), address, complaints);
    }
    if addresses.len() > 2 {
        errors.invalid(field, all(), "may only hold up to 2 values");
    }
    if is_wrong {
        return;
    }
    let has = |family: &str| addresses.iter().any(|address| family_of(address) == family);
    if addresses.len() > 1 && !(has("IPv4") && has("IPv6")) {
        errors.invalid(field, all(), "may specify no more than one IP for each IP family");
    }
    if is_headless(service) {
        return;
    }
    for (i, (address, family)) in addresses.iter().zip(&families).enumerate() {
        if ["IPv4", "IPv6"].contains(family) && family_of(address) != *family {
            let why = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.invalid(format!("{field}[{i}]"), *address, &why);
        }
    }
}

/// Validates an update of a service: the secondary address and IP family may be added or removed, the primary address and family may not.
pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    if is_external(new) || is_external(old) {
        return;
    }
    let (is_headless, was_headless) = (is_headless(new), is_headless(old));
    if !(is_headless && was_headless) {
        primary_unchanged(new, old, "clusterIPs", "clusterIP", errors);
    }
    if !is_headless && !was_headless {
        primary_unchanged(new, old, "ipFamilies", "ipFamily", errors);
    }
}

fn primary_unchanged(new: &Value, old: &Value, name: &str, one: &str, errors: &mut ErrorList) {
    let (now, before) = (texts(&new["spec"][name]), texts(&old["spec"][name]));
    let is_address = name == "clusterIPs";
    let (list, addresses) = (new["spec"][name].clone(), new["spec"]["clusterIPs"].clone());
    let at = |i: usize| format!("spec.{name}[{i}]");
    if now.len() == before.len() {
        for i in (0..now.len()).filter(|i| now[*i] != before[*i]) {
            let at = at(if is_address { i } else { 0 });
            errors.invalid(at, list.clone(), "may not change once set");
        }
        return;
    }
    let is_less = now.len() < before.len();
    if is_less && texts(&addresses).is_empty() {
        errors.invalid(at(0), list, &format!("primary {one} can not be unset"));
    }
    if let (Some(now), Some(before)) = (now.first(), before.first())
        && now != before
    {
        errors.invalid(at(0), addresses, "may not change once set");
    }
    let policy = &new["spec"]["ipFamilyPolicy"];
    if is_less && now.len() == 1 && policy != "SingleStack" {
        let why = format!("must be set to 'SingleStack' when releasing the secondary {one}");
        errors.invalid(POLICY, policy.clone(), &why);
    }
}
