//! The rules for what pods and containers may do to their host: `securityContext` of both.
//!
//! Owns numbers of users and groups, profiles and system controls. What only Windows reads is in `windows`.

use super::files::descending_path;
use super::windows;
use crate::kinds::internal_form;
use crate::machinery::faults::Faults;
use crate::machinery::json::list;
use serde_json::Value;
use std::collections::HashSet;

/// Numbers that a user or a group may have.
const IDS: &str = "must be between 0 and 2147483647, inclusive";
const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
const SYSCTL_BYTES_MAX: usize = 253;
/// Sysctls of memory, semaphores and messages that processes share.
const IPC: [&str; 10] = [
    "kernel.sem",
    "kernel.shm",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.msg",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
];

/// The rules for the context of a whole pod, by its spec.
pub(super) fn pod(spec: &Value, at: &str, faults: &mut Faults) {
    let context = &spec["securityContext"];
    for who in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(&context[who], &format!("{at}.{who}"), faults);
    }
    for (i, group) in list(&context["supplementalGroups"]).iter().enumerate() {
        id(group, &format!("{at}.supplementalGroups[{i}]"), faults);
    }
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        faults.invalid(format!("{at}.shareProcessNamespace"), true, why);
    }
    sysctls(spec, &format!("{at}.sysctls"), faults);
    choice(
        context,
        "fsGroupChangePolicy",
        &["Always", "OnRootMismatch"],
        at,
        faults,
    );
    profile(&context["seccompProfile"], Profile::Seccomp, at, faults);
    windows::options(
        &context["windowsOptions"],
        &format!("{at}.windowsOptions"),
        faults,
    );
    profile(&context["appArmorProfile"], Profile::AppArmor, at, faults);
    choice(
        context,
        "supplementalGroupsPolicy",
        &["Merge", "Strict"],
        at,
        faults,
    );
    choice(context, "seLinuxChangePolicy", &["Recursive"], at, faults);
}

/// The rules for the context of one container; `own_users` where the pod does not share the users of its host.
pub(super) fn container(context: &Value, own_users: bool, at: &str, faults: &mut Faults) {
    for who in ["runAsUser", "runAsGroup"] {
        id(&context[who], &format!("{at}.{who}"), faults);
    }
    choice(context, "procMount", &["Default", "Unmasked"], at, faults);
    if context["procMount"] == "Unmasked" && !own_users {
        let text = "`hostUsers` must be false to use `Unmasked`";
        faults.invalid(format!("{at}.procMount"), "Unmasked", text);
    }
    profile(&context["seccompProfile"], Profile::Seccomp, at, faults);
    escalation(context, at, faults);
    windows::options(
        &context["windowsOptions"],
        &format!("{at}.windowsOptions"),
        faults,
    );
    profile(&context["appArmorProfile"], Profile::AppArmor, at, faults);
}

/// Who may do everything already can't be kept from getting there.
fn escalation(context: &Value, at: &str, faults: &mut Faults) {
    if context["allowPrivilegeEscalation"] != false {
        return;
    }
    let mut contradicts = |what: &str| {
        let shown = internal_form::shown("SecurityContext", context);
        let why = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
        faults.invalid_as(at, &shown, &why);
    };
    if context["privileged"] == true {
        contradicts("`privileged` to true");
    }
    for added in list(&context["capabilities"]["add"]) {
        if added == "CAP_SYS_ADMIN" {
            contradicts("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
}

/// A number of a user or a group.
pub(super) fn id(number: &Value, field: &str, faults: &mut Faults) {
    if let Some(number) = number
        .as_i64()
        .filter(|number| !(0..=i64::from(i32::MAX)).contains(number))
    {
        faults.invalid(field, number, IDS);
    }
}

/// A field that has one of a few values, where it is set.
fn choice(context: &Value, name: &str, known: &[&str], at: &str, faults: &mut Faults) {
    if let Some(word) = context[name].as_str() {
        faults.one_of(&format!("{at}.{name}"), word, known);
    }
}

/// What confines a container.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Profile {
    Seccomp,
    AppArmor,
}

impl Profile {
    /// The field, and the name in texts.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Seccomp => ("seccompProfile", "seccomp"),
            Self::AppArmor => ("appArmorProfile", "AppArmor"),
        }
    }
}

fn profile(profile: &Value, of: Profile, at: &str, faults: &mut Faults) {
    if profile.is_null() {
        return;
    }
    let (field, name) = of.names();
    let at = format!("{at}.{field}");
    let kind = profile["type"].as_str().unwrap_or_default();
    if kind.is_empty() {
        let text = format!("type is required when {field} is set");
        faults.required(format!("{at}.type"), &text);
    } else {
        faults.one_of(&format!("{at}.type"), kind, &PROFILES);
    }
    let local = format!("{at}.localhostProfile");
    let path = profile["localhostProfile"].as_str();
    match (kind == "Localhost", path) {
        (true, None) => faults.required(local, &format!("must be set when {name} type is Localhost")),
        (true, Some("")) if of == Profile::AppArmor => {
            faults.required(local, "must be set when AppArmor type is Localhost");
        }
        (true, Some(path)) if of == Profile::Seccomp => descending_path(path, &local, faults),
        // What is no profile at all is judged no further by the newer of the two.
        (false, Some(path)) if of == Profile::Seccomp || PROFILES.contains(&kind) => {
            // The value that is shown is of the server's own type, or the path alone.
            let text = format!("can only be set when {name} type is Localhost");
            match of {
                Profile::Seccomp => {
                    let shown = format!(
                        "{{\"Type\":{},\"LocalhostProfile\":{}}}",
                        Value::from(kind),
                        Value::from(path)
                    );
                    faults.invalid_as(local, &shown, &text);
                }
                Profile::AppArmor => faults.invalid(local, path, &text),
            }
        }
        _ => {}
    }
}

fn sysctls(spec: &Value, at: &str, faults: &mut Faults) {
    let mut seen = HashSet::new();
    for (i, sysctl) in list(&spec["securityContext"]["sysctls"]).iter().enumerate() {
        let (name, field) = (
            sysctl["name"].as_str().unwrap_or_default(),
            format!("{at}[{i}].name"),
        );
        if name.is_empty() {
            faults.required(&field, "");
        } else if !is_sysctl(name) {
            let text = "must have at most 253 characters and match regex \
                ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            faults.invalid(&field, name, text);
        } else if !seen.insert(name) {
            faults.duplicate(&field, name);
        }
        if let Some(shared) = namespace(name).filter(|namespace| spec[*namespace] == true) {
            let why = format!("may not be specified when '{shared}' is true");
            faults.invalid(field, name, &why);
        }
    }
}

/// The field of a pod by which it shares with its host what a sysctl is about.
fn namespace(sysctl: &str) -> Option<&'static str> {
    let name = match sysctl.find(['.', '/']) {
        // With slashes, dots are parts of names.
        Some(first) if sysctl[first..].starts_with('/') => sysctl.replace('.', ":").replace('/', "."),
        _ => sysctl.to_owned(),
    };
    if name.starts_with("net.") {
        return Some("hostNetwork");
    }
    (name.starts_with("fs.mqueue.") || IPC.contains(&name.as_str())).then_some("hostIPC")
}

/// Whether a name consists of segments of small letters, with dots or slashes between.
fn is_sysctl(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_segment = |segment: &str| {
        segment.starts_with(inner)
            && segment.ends_with(inner)
            && segment.chars().all(|c| inner(c) || ['-', '_'].contains(&c))
    };
    name.len() <= SYSCTL_BYTES_MAX && name.split(['.', '/']).all(is_segment)
}
