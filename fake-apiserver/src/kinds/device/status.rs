//! The rules for the status of a claim: which devices it was given, who uses them, and what their drivers say of them.
//!
//! Does not know which devices there are, nor who may give them away.

use super::claim::{reference, references};
use super::lists::{each, set};
use super::names::pool;
use super::selection::{configuration, driver_object};
use super::single::binding;
use crate::kinds::selectors::Values;
use crate::kinds::volume::driver_name;
use crate::kinds::{conditions, internal_form, selectors};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::{go, ip, metadata, names};
use serde_json::Value;
use std::collections::HashSet;
use uuid::Uuid;

const USERS_MAX: usize = 256;
const RESULTS_MAX: usize = 32;
/// Of the class and of the claim.
const CONFIGURATIONS_MAX: usize = 64;
const CONDITIONS_MAX: usize = 8;
const DATA_BYTES_MAX: usize = 10 * 1024;
const ADDRESSES_MAX: usize = 16;
const INTERFACE_BYTES_MAX: usize = 256;
const HARDWARE_ADDRESS_BYTES_MAX: usize = 128;
/// What an id may begin with, in the form of a URN.
const URN: &[u8] = b"urn:uuid:";
const SOURCES: [&str; 2] = ["FromClaim", "FromClass"];

/// What is said of devices goes with them.
pub(super) fn drop_gone(new: &mut Value, old: &Value) {
    let now = given(&new["status"]);
    let gone: HashSet<String> = given(&old["status"]).difference(&now).cloned().collect();
    if gone.is_empty() {
        return;
    }
    let devices = list(&new["status"]["devices"]).iter();
    let kept: Vec<Value> = devices
        .filter(|device| !gone.contains(&shown(device)))
        .cloned()
        .collect();
    let kept = if kept.is_empty() { Value::Null } else { kept.into() };
    json::assign(&mut new["status"], "devices", kept);
}

pub(super) fn validate(new: &Value, old: &Value, faults: &mut Faults) {
    let (status, before) = (&new["status"], &old["status"]);
    let users = "status.reservedFor";
    set(
        &status["reservedFor"],
        USERS_MAX,
        |user| string(user, "uid"),
        users,
        faults,
        |user, at, faults| {
            for field in ["resource", "name", "uid"] {
                if string(user, field).is_empty() {
                    faults.required(format!("{at}.{field}"), "");
                }
            }
        },
    );
    devices(status, faults);
    let allocation = &status["allocation"];
    if !list(&status["reservedFor"]).is_empty() {
        let before = list(&before["reservedFor"]);
        if allocation.is_null() {
            faults.forbidden(users, "may not be specified when `allocated` is not set");
        } else if metadata::is_deleting(new)
            && list(&status["reservedFor"])
                .iter()
                .any(|user| !before.contains(user))
        {
            let why =
                "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
            faults.forbidden(users, why);
        }
    }
    if !before["allocation"].is_null() && !allocation.is_null() {
        internal_form::unchanged(
            "*AllocationResult",
            "status.allocation",
            allocation,
            &before["allocation"],
            faults,
        );
    } else if !allocation.is_null() {
        self::allocation(allocation, list(&new["spec"]["devices"]["requests"]), faults);
    }
}

/// The devices that a claim was given, as the server shows them.
fn given(status: &Value) -> HashSet<String> {
    list(&status["allocation"]["devices"]["results"])
        .iter()
        .map(shown)
        .collect()
}

/// What a device is known by, as the server has it inside.
fn shown(device: &Value) -> String {
    let part = |name: &str| Value::from(string(device, name));
    format!(
        "{{\"Driver\":{},\"Pool\":{},\"Device\":{},\"ShareID\":{}}}",
        part("driver"),
        part("pool"),
        part("device"),
        part("shareID")
    )
}

/// What drivers say of devices that the claim was given.
fn devices(status: &Value, faults: &mut Faults) {
    let (given, devices) = (given(status), list(&status["devices"]));
    let ids: Vec<String> = devices.iter().map(shown).collect();
    for (i, (device, id)) in devices.iter().zip(&ids).enumerate() {
        let at = format!("status.devices[{i}]");
        identity(device, &at, faults);
        share(device, &at, faults);
        if !given.contains(id) {
            faults.invalid_as(at.as_str(), id, "must be an allocated device in the claim");
        }
        told(device, &at, faults);
    }
    let mut seen = HashSet::new();
    for (i, id) in ids.iter().enumerate() {
        if !seen.insert(id) {
            faults.duplicate_as(format!("status.devices[{i}]"), id);
        }
    }
}

/// The rules for the parts of a device's name.
fn identity(device: &Value, at: &str, faults: &mut Faults) {
    driver_name(string(device, "driver"), &format!("{at}.driver"), faults);
    pool(string(device, "pool"), &format!("{at}.pool"), faults);
    let name = string(device, "device");
    faults.complain(&format!("{at}.device"), name, names::label(name));
}

/// The rules for the share of a device that several claims can have.
fn share(device: &Value, at: &str, faults: &mut Faults) {
    if let Some(share) = device["shareID"].as_str()
        && let Some(why) = uuid_fault(share)
    {
        faults.invalid(format!("{at}.shareID"), share, &why);
    }
}

fn told(device: &Value, at: &str, faults: &mut Faults) {
    let (all, field) = (&device["conditions"], format!("{at}.conditions"));
    if list(all).len() > CONDITIONS_MAX {
        faults.too_many(field.as_str(), list(all).len(), CONDITIONS_MAX);
    }
    conditions::validate(all, &field, faults);
    let data = &device["data"];
    if !data.is_null() {
        driver_object(data, DATA_BYTES_MAX, format!("{at}.data"), faults);
    }
    let (network, at) = (&device["networkData"], format!("{at}.networkData"));
    for (name, most) in [
        ("interfaceName", INTERFACE_BYTES_MAX),
        ("hardwareAddress", HARDWARE_ADDRESS_BYTES_MAX),
    ] {
        if string(network, name).len() > most {
            faults.too_long(format!("{at}.{name}"), most);
        }
    }
    let text = |one| Value::as_str(one).unwrap_or_default();
    set(
        &network["ips"],
        ADDRESSES_MAX,
        text,
        &format!("{at}.ips"),
        faults,
        |one, at, faults| {
            faults.complain(at, text(one), ip::of_interface(text(one)));
        },
    );
}

/// What a claim is given for its requests.
fn allocation(allocation: &Value, requests: &[Value], faults: &mut Faults) {
    let (devices, at) = (&allocation["devices"], "status.allocation.devices");
    each(
        &devices["results"],
        RESULTS_MAX,
        &format!("{at}.results"),
        faults,
        |result, at, faults| {
            reference(
                string(result, "request"),
                requests,
                &format!("{at}.request"),
                faults,
            );
            identity(result, at, faults);
            binding(result, at, faults);
            share(result, at, faults);
        },
    );
    each(
        &devices["config"],
        CONFIGURATIONS_MAX,
        &format!("{at}.config"),
        faults,
        |config, at, faults| {
            let (source, field) = (string(config, "source"), format!("{at}.source"));
            match source {
                "" => faults.required(field, ""),
                source => faults.one_of(&field, source, &SOURCES),
            }
            references(&config["requests"], requests, &format!("{at}.requests"), faults);
            configuration(config, at, faults);
        },
    );
    let nodes = &allocation["nodeSelector"];
    if !nodes.is_null() {
        selectors::nodes(nodes, "status.allocation.nodeSelector", Values::Labels, faults);
    }
}

/// What is wrong with an id of a share, which is a UUID in its usual form.
fn uuid_fault(id: &str) -> Option<String> {
    let bytes = id.as_bytes();
    let bare = match bytes {
        bytes if matches!(bytes.len(), 32 | 36) => Ok(bytes),
        [b'{', bare @ .., b'}'] if bare.len() == 36 => Ok(bare),
        bytes if bytes.len() == 38 => Err("invalid bracketed UUID format".to_owned()),
        bytes if bytes.len() == URN.len() + 36 => {
            let (prefix, bare) = bytes.split_at(URN.len());
            if prefix.eq_ignore_ascii_case(URN) {
                Ok(bare)
            } else {
                Err(format!("invalid urn prefix: {}", go::quoted_bytes(prefix)))
            }
        }
        bytes => Err(format!("invalid UUID length: {}", bytes.len())),
    };
    let uuid =
        bare.and_then(|bare| Uuid::try_parse_ascii(bare).map_err(|_| "invalid UUID format".to_owned()));
    match uuid {
        Err(why) => Some(format!("error validating uid: {why}")),
        Ok(uuid) if uuid.hyphenated().to_string() == id => None,
        Ok(_) => Some(
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters".to_owned(),
        ),
    }
}
