//! Validation of a pod's containers (`validateContainers` of core/v1).

use super::files::descending_path;
use super::resources;
use super::volumes::MountableVolumes;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The container lists of a pod spec, in kube-apiserver's order of validation.
pub(crate) const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// All containers of a pod spec, with their field paths.
pub(super) fn all<'a>(spec: &'a Value, at: &str) -> Vec<(&'a Value, String)> {
    let all = LISTS.into_iter().flat_map(|name| {
        let entries = list(&spec[name]).iter().enumerate();
        entries.map(move |(i, container)| (container, format!("{at}.{name}[{i}]")))
    });
    all.collect()
}

/// Validates containers and init containers. `volumes` are the volumes that the containers can mount.
pub(super) fn validate(spec: &Value, at: &str, volumes: &MountableVolumes<'_>, errors: &mut ErrorList) {
    let containers = list(&spec["containers"]);
    if containers.is_empty() {
        errors.required(format!("{at}.containers"), "");
    }
    let mut seen = HashSet::new();
    for (i, container) in containers.iter().enumerate() {
        let at = format!("{at}.containers[{i}]");
        validate_common_fields(container, &at, volumes, errors);
        let name = string(container, "name");
        if !seen.insert(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
    }
    host_ports(containers, &format!("{at}.containers"), errors);
    let inits = list(&spec["initContainers"]);
    let list_at = format!("{at}.initContainers");
    for (i, container) in inits.iter().enumerate() {
        let at = format!("{list_at}[{i}]");
        validate_common_fields(container, &at, volumes, errors);
        let name = string(container, "name");
        let is_known = seen.contains(name);
        if !name.is_empty() {
            seen.insert(name);
        }
        if is_known {
            errors.duplicate(format!("{at}.name"), name);
        }
        // Init containers run one at a time, so host ports are checked for each separately. kube-apiserver reports index 0 for all of them.
        host_ports(std::slice::from_ref(container), &list_at, errors);
    }
}

/// With `hostNetwork`, `hostPort` must equal `containerPort`.
pub(super) fn validate_host_network_ports(spec: &Value, at: &str, errors: &mut ErrorList) {
    if spec["hostNetwork"] != true {
        return;
    }
    for (i, container) in list(&spec["containers"]).iter().enumerate() {
        for (j, port) in list(&container["ports"]).iter().enumerate() {
            let number = |name: &str| port[name].as_i64().unwrap_or_default();
            let host = number("hostPort");
            if host != 0 && host != number("containerPort") {
                let field = format!("{at}.containers[{i}].ports[{j}].hostPort");
                errors.invalid(
                    field,
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

/// Rejects host ports that several concurrently running containers use.
fn host_ports(containers: &[Value], at: &str, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for (i, container) in containers.iter().enumerate() {
        for (j, port) in list(&container["ports"]).iter().enumerate() {
            let Some(number) = port["hostPort"].as_i64().filter(|number| *number != 0) else {
                continue;
            };
            let socket = format!("{}/{}/{number}", string(port, "protocol"), string(port, "hostIP"));
            if !seen.insert(socket.clone()) {
                errors.duplicate(format!("{at}[{i}].ports[{j}].hostPort"), socket);
            }
        }
    }
}

/// Validates container images of a pod. Does not apply to pod templates.
pub(super) fn validate_images(spec: &Value, errors: &mut ErrorList) {
    for name in ["containers", "initContainers"] {
        for (i, container) in list(&spec[name]).iter().enumerate() {
            let image = string(container, "image");
            if image.trim() != image {
                let field = format!("spec.{name}[{i}].image");
                errors.invalid(field, image, "must not have leading or trailing whitespace");
            }
        }
    }
}

fn validate_common_fields(
    container: &Value,
    at: &str,
    volumes: &MountableVolumes<'_>,
    errors: &mut ErrorList,
) {
    let name = string(container, "name");
    errors.require_valid(&format!("{at}.name"), name, names::dns_label);
    if string(container, "image").is_empty() {
        errors.required(format!("{at}.image"), "");
    }
    let policy = string(container, "terminationMessagePolicy");
    let field = format!("{at}.terminationMessagePolicy");
    errors.one_of(&field, policy, &["File", "FallbackToLogsOnError"]);
    ports(container, at, errors);
    mounts(container, at, volumes, errors);
    devices(container, at, volumes, errors);
    let policy = string(container, "imagePullPolicy");
    let field = format!("{at}.imagePullPolicy");
    errors.one_of(&field, policy, &["Always", "IfNotPresent", "Never"]);
    resources::of_container(container, &format!("{at}.resources"), errors);
}

fn ports(container: &Value, at: &str, errors: &mut ErrorList) {
    let ports = list(&container["ports"]);
    let mut seen = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let at = format!("{at}.ports[{i}]");
        let (name, protocol) = (string(port, "name"), string(port, "protocol"));
        let complaints = names::port_name(name);
        if !name.is_empty() && !complaints.is_empty() {
            errors.invalid_all(&format!("{at}.name"), name, complaints);
        } else if !name.is_empty() && !seen.insert(name) {
            errors.duplicate(format!("{at}.name"), name);
        }
        for field in ["containerPort", "hostPort"] {
            match port[field].as_i64().unwrap_or_default() {
                0 if field == "containerPort" => errors.required(format!("{at}.{field}"), ""),
                0 => {}
                number => errors.validate_port(&format!("{at}.{field}"), number),
            }
        }
        errors.one_of(&format!("{at}.protocol"), protocol, &names::PROTOCOLS);
    }
}

fn mounts(container: &Value, at: &str, volumes: &MountableVolumes<'_>, errors: &mut ErrorList) {
    let at = format!("{at}.volumeMounts");
    let mounts = list(&container["volumeMounts"]);
    let devices = list(&container["volumeDevices"]);
    let (device_names, device_paths) = names_and_paths(devices, "devicePath");
    let mut seen = HashSet::new();
    for (i, mount) in mounts.iter().enumerate() {
        let (name, path) = (string(mount, "name"), string(mount, "mountPath"));
        let here = format!("{at}[{i}]");
        if name.is_empty() {
            errors.required(format!("{here}.name"), "");
        }
        if !volumes.contains_key(name) {
            errors.not_found(format!("{here}.name"), name);
        }
        if path.is_empty() {
            errors.required(format!("{here}.mountPath"), "");
        }
        if !seen.insert(path) {
            errors.invalid(format!("{here}.mountPath"), path, "must be unique");
        }
        if device_names.contains(name) {
            errors.invalid(
                format!("{here}.name"),
                name,
                "must not already exist in volumeDevices",
            );
        }
        if device_paths.contains(path) {
            let text = "must not already exist as a path in volumeDevices";
            errors.invalid(format!("{here}.mountPath"), path, text);
        }
        let (sub, expression) = (string(mount, "subPath"), string(mount, "subPathExpr"));
        descending_path(sub, &format!("{at}.subPath"), errors);
        if !sub.is_empty() && !expression.is_empty() {
            let text = "subPathExpr and subPath are mutually exclusive";
            errors.invalid(format!("{here}.subPathExpr"), expression, text);
        }
        descending_path(expression, &format!("{at}.subPathExpr"), errors);
        propagation(mount, container, &format!("{at}.mountPropagation"), errors);
    }
}

fn propagation(mount: &Value, container: &Value, field: &str, errors: &mut ErrorList) {
    let Some(propagation) = mount["mountPropagation"].as_str() else {
        return;
    };
    errors.one_of(field, propagation, &["Bidirectional", "HostToContainer", "None"]);
    if propagation == "Bidirectional" && container["securityContext"]["privileged"] != true {
        let text = "Bidirectional mount propagation is available only to privileged containers";
        errors.forbidden(field, text);
    }
}

fn devices(container: &Value, at: &str, volumes: &MountableVolumes<'_>, errors: &mut ErrorList) {
    let devices = list(&container["volumeDevices"]);
    let mounts = list(&container["volumeMounts"]);
    let (mount_names, mount_paths) = names_and_paths(mounts, "mountPath");
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for (i, device) in devices.iter().enumerate() {
        let (name, path) = (string(device, "name"), string(device, "devicePath"));
        let at = format!("{at}.volumeDevices[{i}]");
        if name.is_empty() {
            errors.required(format!("{at}.name"), "");
        } else if !names.insert(name) {
            errors.invalid(format!("{at}.name"), name, "must be unique");
        }
        match volumes.get(name) {
            None => errors.not_found(format!("{at}.name"), name),
            Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
                let text =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.invalid(format!("{at}.name"), name, text);
            }
            Some(_) => {}
        }
        let field = format!("{at}.devicePath");
        if path.is_empty() {
            errors.required(field.as_str(), "");
        }
        if !paths.insert(path) {
            errors.invalid(field.as_str(), path, "must be unique");
        }
        if path.split('/').any(|part| part == "..") {
            errors.invalid(field.as_str(), path, "can not contain backsteps ('..')");
        }
        if mount_names.contains(name) {
            errors.invalid(
                format!("{at}.name"),
                name,
                "must not already exist in volumeMounts",
            );
        }
        if mount_paths.contains(path) {
            errors.invalid(field, path, "must not already exist as a path in volumeMounts");
        }
    }
}

/// The names and paths in a list of mounts or devices. If several entries have the same name, only the path of the last one is returned.
fn names_and_paths<'a>(list: &'a [Value], path: &str) -> (HashSet<&'a str>, HashSet<&'a str>) {
    let by_name = list.iter().map(|one| (string(one, "name"), string(one, path)));
    let by_name: HashMap<&str, &str> = by_name.collect();
    by_name.into_iter().unzip()
}
