//! The rules for a pod that says which operating system it is for (`validateLinux` and `validateWindows` of core/v1).

use super::containers;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use serde_json::Value;

/// Settings of a pod that Windows lacks, in the order in which the real server looks for them. Those with a dot belong to the security
/// context.
const POD_NOT_ON_WINDOWS: [&str; 15] = [
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
];

/// Settings of a container's security context that Windows lacks.
const CONTAINER_NOT_ON_WINDOWS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// The rules for `os`, and for what a pod of such a system cannot have.
pub(super) fn validate(spec: &Value, at: &str, faults: &mut Faults) {
    let os = &spec["os"];
    match string(os, "name") {
        _ if os.is_null() => {}
        "" => faults.required(format!("{at}.os.name"), ""),
        name => faults.one_of(&format!("{at}.os"), name, &["linux", "windows"]),
    }
    let (pod, container, text): (&[&str], &[&str], _) = match string(os, "name") {
        "linux" => (
            &["securityContext.windowsOptions"],
            &["windowsOptions"],
            "windows options cannot be set for a linux pod",
        ),
        "windows" => (
            &POD_NOT_ON_WINDOWS,
            &CONTAINER_NOT_ON_WINDOWS,
            "cannot be set for a windows pod",
        ),
        _ => return,
    };
    for path in pod {
        if is_set(path, path.split('.').fold(spec, |value, name| &value[name])) {
            faults.forbidden(format!("{at}.{path}"), text);
        }
    }
    for (one, here) in containers::all(spec, at) {
        let context = &one["securityContext"];
        for name in container.iter().filter(|name| !context[**name].is_null()) {
            faults.forbidden(format!("{here}.securityContext.{name}"), text);
        }
    }
}

/// All containers by their places, and whether each is a process of its Windows host; the pod says so for those that don't.
pub(super) fn host_processes<'a>(spec: &'a Value, at: &str) -> impl Iterator<Item = (String, bool)> + 'a {
    let whole = &spec["securityContext"]["windowsOptions"]["hostProcess"];
    containers::all(spec, at)
        .into_iter()
        .map(move |(container, here)| {
            let own = &container["securityContext"]["windowsOptions"]["hostProcess"];
            (here, *if own.is_null() { whole } else { own } == true)
        })
}

/// The rules for containers that are processes of their Windows host (`validateWindowsHostProcessPod`).
pub(super) fn validate_host_processes(spec: &Value, at: &str, faults: &mut Faults) {
    if let Some(whole) = spec["securityContext"]["windowsOptions"]["hostProcess"].as_bool() {
        for (here, own) in host_processes(spec, at).filter(|(_, own)| *own != whole) {
            let field = format!("{here}.securityContext.windowsOptions.hostProcess");
            let text = format!("pod hostProcess value must be identical if both are specified, was {whole}");
            faults.invalid(field, own, &text);
        }
    }
    let all: Vec<bool> = host_processes(spec, at).map(|(_, is_one)| is_one).collect();
    if !all.contains(&true) {
        return;
    }
    if all.contains(&false) {
        let text =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        faults.invalid(at, "", text);
    }
    if spec["hostNetwork"] != true {
        let text = "hostNetwork must be true if pod contains any hostProcess containers";
        faults.invalid(format!("{at}.hostNetwork"), false, text);
    }
}

/// The rules for a pod that does not share the users of its host (`validateHostUsers`). The real server misspells two of the fields.
pub(super) fn validate_users(spec: &Value, at: &str, faults: &mut Faults) {
    if spec["hostUsers"] != false {
        return;
    }
    let text = "when `hostUsers` is false";
    let shared = [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ];
    for (_, told) in shared.into_iter().filter(|(field, _)| spec[*field] == true) {
        faults.forbidden(format!("{at}.{told}"), text);
    }
    for (container, here) in containers::all(spec, at) {
        if !list(&container["volumeDevices"]).is_empty() {
            faults.forbidden(format!("{here}.volumeDevices"), text);
        }
    }
}

/// Whether a setting of a pod says anything: some are always there for the real server, and are off or empty.
fn is_set(path: &str, value: &Value) -> bool {
    match path {
        "hostPID" | "hostIPC" => *value == true,
        "securityContext.sysctls" => !list(value).is_empty(),
        _ => !value.is_null(),
    }
}
