//! The Pod Security Standards: the checks of each level and release.

use super::checks;
use super::policy::{Level, Standard};
use super::subject::{Subject, Violation};
use serde_json::Value;

/// A Pod Security check that pods must pass at a level, since a minor release.
struct Check {
    name: &'static str,
    level: Level,
    /// The minor release of Kubernetes that introduced the check.
    since: u64,
    /// The name of the baseline check that this check replaces; empty if none.
    replaces: &'static str,
    of: fn(&Subject<'_>) -> Option<Violation>,
}

/// The last minor release that changed a Pod Security check; later releases have the same checks.
const NEWEST: u64 = 35;

const fn baseline(name: &'static str, since: u64, of: fn(&Subject<'_>) -> Option<Violation>) -> Check {
    Check {
        level: Level::Baseline,
        ..restricted(name, since, "", of)
    }
}

const fn restricted(
    name: &'static str,
    since: u64,
    replaces: &'static str,
    of: fn(&Subject<'_>) -> Option<Violation>,
) -> Check {
    Check {
        name,
        level: Level::Restricted,
        since,
        replaces,
        of,
    }
}

/// All Pod Security checks, in the order of their messages: by level, then by name.
const CHECKS: &[Check] = &[
    baseline("appArmorProfile", 0, checks::app_armor),
    baseline("capabilities_baseline", 0, checks::baseline_capabilities),
    baseline("hostNamespaces", 0, checks::host_namespaces),
    baseline("hostPathVolumes", 0, checks::host_paths),
    baseline("hostPorts", 0, checks::host_ports),
    baseline("hostProbesAndHostLifecycle", 34, checks::probed_hosts),
    baseline("privileged", 0, checks::privileged),
    baseline("procMount", 0, checks::proc_mount),
    baseline("seLinuxOptions", 0, checks::se_linux),
    baseline("seccompProfile_baseline", 0, checks::baseline_seccomp),
    baseline("sysctls", 0, checks::sysctls),
    baseline("windowsHostProcess", 0, checks::host_process),
    restricted("allowPrivilegeEscalation", 8, "", checks::privilege_escalation),
    restricted(
        "capabilities_restricted",
        22,
        "capabilities_baseline",
        checks::restricted_capabilities,
    ),
    restricted("procMount_restricted", 35, "procMount", checks::any_proc_mount),
    restricted("restrictedVolumes", 0, "hostPathVolumes", checks::volumes),
    restricted("runAsNonRoot", 0, "", checks::non_root),
    restricted("runAsUser", 23, "", checks::run_as_user),
    restricted(
        "seccompProfile_restricted",
        19,
        "seccompProfile_baseline",
        checks::seccomp,
    ),
];

pub(super) fn violations(standard: Standard, pod: &Value) -> Vec<Violation> {
    if standard.level == Level::Privileged {
        return Vec::new();
    }
    let minor = standard.version.map_or(NEWEST, |minor| minor.min(NEWEST));
    let subject = Subject::new(pod, minor);
    let holds = |check: &&Check| check.since <= minor && check.level <= standard.level;
    let is_replaced = |check: &Check| {
        CHECKS
            .iter()
            .filter(holds)
            .any(|other| other.replaces == check.name)
    };
    let checks = CHECKS.iter().filter(holds).filter(|check| !is_replaced(check));
    checks.filter_map(|check| (check.of)(&subject)).collect()
}
