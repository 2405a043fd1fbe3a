//! The checks of the Pod Security Standards, with their messages.

use super::subject::{Subject, Texts, Violation, format_container_names, plural, quoted};
use fake_apiserver::extension::json::{self, string};
use serde_json::Value;

/// The annotations for the seccomp and AppArmor profiles of a pod and its containers, used before profile fields existed.
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
use std::collections::BTreeSet;

type CheckResult = Option<Violation>;

/// Returns a violation of a Pod Security check, unless `blamed` (containers or fields) is empty.
fn violation_unless_empty<T>(
    blamed: &[T],
    reason: &'static str,
    detail: impl FnOnce() -> String,
) -> CheckResult {
    (!blamed.is_empty()).then(|| Violation {
        reason,
        detail: detail(),
    })
}

/// `uses` or `use`, so that the verb agrees with the count of its subject.
fn use_or_uses(count: usize) -> &'static str {
    if count == 1 { "uses" } else { "use" }
}

/// Whether the seccomp or AppArmor profile type is `RuntimeDefault` or `Localhost`, which restrict the container.
fn confines(profile: &Value) -> bool {
    ["RuntimeDefault", "Localhost"].contains(&string(profile, "type"))
}

/// The pod or containers with an unconfined profile in the security context field `name`, and the types of these profiles.
fn unconfined<'a>(pod: &Subject<'a>, name: &str) -> (Vec<String>, Texts<'a>) {
    let mut types = Texts::new();
    let setters = pod.security_context_owners_that(|context| {
        let profile = &context[name];
        let is_bad = !profile.is_null() && !confines(profile);
        types.extend(is_bad.then(|| string(profile, "type")));
        is_bad
    });
    (setters, types)
}

pub(super) fn app_armor(pod: &Subject<'_>) -> CheckResult {
    let (mut setters, types) = unconfined(pod, "appArmorProfile");
    let mut annotations: Vec<String> = pod
        .annotations()
        .filter(|(key, _)| key.starts_with(APP_ARMOR))
        .filter(|(_, profile)| {
            !["", "runtime/default"].contains(profile) && !profile.starts_with("localhost/")
        })
        .map(|(key, profile)| format!("{key}={profile:?}"))
        .collect();
    annotations.sort();
    if !annotations.is_empty() {
        setters.push(plural(annotations.len(), "annotation"));
    }
    let mut profiles: Vec<String> = types.into_iter().map(str::to_owned).collect();
    profiles.extend(annotations);
    let reason = match profiles.len() {
        1 => "forbidden AppArmor profile",
        _ => "forbidden AppArmor profiles",
    };
    violation_unless_empty(&setters, reason, || {
        let setters = setters.join(" and ");
        format!(
            "{setters} must not set AppArmor profile type to {}",
            quoted(&profiles)
        )
    })
}

const ADDED: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The violation detail for containers that add capabilities other than `allowed`; `None` if no container does.
fn forbidden_capabilities_detail(pod: &Subject<'_>, allowed: &[&str]) -> Option<String> {
    let mut beyond = Texts::new();
    let containers = pod.containers_that(|container| {
        let added = json::texts(&container["securityContext"]["capabilities"]["add"]);
        let bad = added.into_iter().filter(|added| !allowed.contains(added));
        let bad: Vec<&str> = bad.collect();
        beyond.extend(&bad);
        !bad.is_empty()
    });
    (!containers.is_empty()).then(|| {
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            format_container_names(&containers),
            quoted(beyond)
        )
    })
}

pub(super) fn baseline_capabilities(pod: &Subject<'_>) -> CheckResult {
    let detail = forbidden_capabilities_detail(pod, ADDED)?;
    Some(Violation {
        reason: "non-default capabilities",
        detail,
    })
}

pub(super) fn restricted_capabilities(pod: &Subject<'_>) -> CheckResult {
    if pod.minor >= 25 && pod.is_for_windows() {
        return None;
    }
    let retaining = pod.containers_that(|container| {
        let dropped = &container["securityContext"]["capabilities"]["drop"];
        !json::texts(dropped).contains(&"ALL")
    });
    let retaining = (!retaining.is_empty()).then(|| {
        format!(
            "{} must set securityContext.capabilities.drop=[\"ALL\"]",
            format_container_names(&retaining)
        )
    });
    let details: Vec<String> = retaining
        .into_iter()
        .chain(forbidden_capabilities_detail(pod, &["NET_BIND_SERVICE"]))
        .collect();
    violation_unless_empty(&details, "unrestricted capabilities", || details.join("; "))
}

pub(super) fn host_namespaces(pod: &Subject<'_>) -> CheckResult {
    let names = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared: Vec<String> = names
        .filter(|name| pod.spec[name] == true)
        .map(|name| format!("{name}=true"))
        .collect();
    violation_unless_empty(&shared, "host namespaces", || shared.join(", "))
}

pub(super) fn host_paths(pod: &Subject<'_>) -> CheckResult {
    let volumes = pod.volumes().iter();
    let names: Vec<&str> = volumes
        .filter(|volume| !volume["hostPath"].is_null())
        .map(|volume| string(volume, "name"))
        .collect();
    violation_unless_empty(&names, "hostPath volumes", || {
        format!("{} {}", plural(names.len(), "volume"), quoted(&names))
    })
}

pub(super) fn host_ports(pod: &Subject<'_>) -> CheckResult {
    // As in kube-apiserver, host ports are sorted as strings.
    let mut ports = BTreeSet::new();
    let containers = pod.containers_that(|container| {
        let own = json::list(&container["ports"]).iter();
        let own: Vec<i64> = own
            .filter_map(|port| port["hostPort"].as_i64())
            .filter(|port| *port != 0)
            .collect();
        ports.extend(own.iter().map(i64::to_string));
        !own.is_empty()
    });
    violation_unless_empty(&containers, "hostPort", || {
        format!(
            "{} {} {} {}",
            format_container_names(&containers),
            use_or_uses(containers.len()),
            plural(ports.len(), "hostPort"),
            Vec::from_iter(ports).join(", ")
        )
    })
}

/// JSON pointers to the probe and lifecycle handlers of a container.
const HANDLERS: [&str; 5] = [
    "/livenessProbe",
    "/readinessProbe",
    "/startupProbe",
    "/lifecycle/postStart",
    "/lifecycle/preStop",
];

pub(super) fn probed_hosts(pod: &Subject<'_>) -> CheckResult {
    let mut hosts = Texts::new();
    let containers = pod.containers_that(|container| {
        let handlers = HANDLERS.iter().filter_map(|at| container.pointer(at));
        let own = handlers.flat_map(|handler| {
            let reached = ["httpGet", "tcpSocket"].map(|action| string(&handler[action], "host"));
            reached.into_iter().filter(|host| !host.is_empty())
        });
        let own: Vec<&str> = own.collect();
        hosts.extend(&own);
        !own.is_empty()
    });
    violation_unless_empty(&containers, "probe or lifecycle host", || {
        let containers: Vec<&str> = Texts::from_iter(containers.iter().copied()).into_iter().collect();
        format!(
            "{} {} {} {}",
            format_container_names(&containers),
            use_or_uses(containers.len()),
            plural(hosts.len(), "probe or lifecycle host"),
            quoted(hosts)
        )
    })
}

pub(super) fn privileged(pod: &Subject<'_>) -> CheckResult {
    let containers = pod.containers_that(|container| container["securityContext"]["privileged"] == true);
    violation_unless_empty(&containers, "privileged", || {
        format!(
            "{} must not set securityContext.privileged=true",
            format_container_names(&containers)
        )
    })
}

pub(super) fn proc_mount(pod: &Subject<'_>) -> CheckResult {
    match pod.minor >= 35 && pod.has_user_namespace() {
        true => None,
        false => any_proc_mount(pod),
    }
}

pub(super) fn any_proc_mount(pod: &Subject<'_>) -> CheckResult {
    let mut mounts = Texts::new();
    let containers = pod.containers_that(|container| {
        let mount = container["securityContext"]["procMount"].as_str();
        let mount = mount.filter(|mount| *mount != "Default");
        mounts.extend(mount);
        mount.is_some()
    });
    violation_unless_empty(&containers, "procMount", || {
        let containers = format_container_names(&containers);
        format!(
            "{containers} must not set securityContext.procMount to {}",
            quoted(mounts)
        )
    })
}

/// Allowed values of `seLinuxOptions.type`, each with the minor release that first allowed the value.
const LABELS: [(&str, u64); 5] = [
    ("", 0),
    ("container_t", 0),
    ("container_init_t", 0),
    ("container_kvm_t", 0),
    ("container_engine_t", 31),
];

pub(super) fn se_linux(pod: &Subject<'_>) -> CheckResult {
    let (mut types, mut is_set) = (Texts::new(), [("user", false), ("role", false)]);
    let setters = pod.security_context_owners_that(|context| {
        let options = &context["seLinuxOptions"];
        let label = string(options, "type");
        let mut is_bad = !is_listed(&LABELS, label, pod.minor);
        types.extend(is_bad.then_some(label));
        for (name, is_set) in &mut is_set {
            let sets = !string(options, name).is_empty();
            *is_set |= sets;
            is_bad |= sets;
        }
        is_bad
    });
    violation_unless_empty(&setters, "seLinuxOptions", || {
        let types = (!types.is_empty()).then(|| format!("{} {}", plural(types.len(), "type"), quoted(types)));
        let set = is_set.iter().filter(|(_, is_set)| *is_set);
        let set = set.map(|(name, _)| format!("{name} may not be set"));
        let what = types.into_iter().chain(set).collect::<Vec<_>>().join("; ");
        let setters = setters.join(" and ");
        format!("{setters} set forbidden securityContext.seLinuxOptions: {what}")
    })
}

/// Whether `list` contains `text`, and the given minor release already allows `text`.
fn is_listed(list: &[(&str, u64)], text: &str, minor: u64) -> bool {
    list.iter()
        .any(|(allowed, since)| *allowed == text && *since <= minor)
}

/// Checks the seccomp annotations, which were used before seccomp fields existed.
fn seccomp_annotations(pod: &Subject<'_>) -> CheckResult {
    let is_good = |profile: &str| {
        ["runtime/default", "docker/default"].contains(&profile) || profile.starts_with("localhost/")
    };
    let containers = pod.containers.iter().map(|container| string(container, "name"));
    let own = containers.map(|name| format!("{SECCOMP}{name}"));
    let keys: Vec<String> = own.chain([SECCOMP_POD.to_owned()]).collect();
    let annotations = pod.annotations();
    let bad = annotations.filter(|(key, profile)| keys.iter().any(|own| own == key) && !is_good(profile));
    let mut bad: Vec<String> = bad.map(|(key, profile)| format!("{key}={profile:?}")).collect();
    bad.sort();
    violation_unless_empty(&bad, "seccompProfile", || {
        format!("forbidden {} {}", plural(bad.len(), "annotation"), bad.join(", "))
    })
}

pub(super) fn baseline_seccomp(pod: &Subject<'_>) -> CheckResult {
    if pod.minor < 19 {
        return seccomp_annotations(pod);
    }
    let (setters, types) = unconfined(pod, "seccompProfile");
    violation_unless_empty(&setters, "seccompProfile", || {
        let setters = setters.join(" and ");
        format!(
            "{setters} must not set securityContext.seccompProfile.type to {}",
            quoted(types)
        )
    })
}

pub(super) fn seccomp(pod: &Subject<'_>) -> CheckResult {
    if pod.minor >= 25 && pod.is_for_windows() {
        return None;
    }
    let without = match confines(&pod.spec["securityContext"]["seccompProfile"]) {
        true => Vec::new(),
        false => pod.containers_that(|container| container["securityContext"]["seccompProfile"].is_null()),
    };
    baseline_seccomp(pod).or_else(|| {
        violation_unless_empty(&without, "seccompProfile", || {
            let without = format_container_names(&without);
            let types = "\"RuntimeDefault\" or \"Localhost\"";
            format!("pod or {without} must set securityContext.seccompProfile.type to {types}")
        })
    })
}

/// Safe sysctls, each with the minor release that first allowed the sysctl.
const SYSCTLS: [(&str, u64); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

pub(super) fn sysctls(pod: &Subject<'_>) -> CheckResult {
    let set = json::list(&pod.spec["securityContext"]["sysctls"]).iter();
    let names = set.map(|sysctl| string(sysctl, "name"));
    let bad: Vec<&str> = names
        .filter(|name| !is_listed(&SYSCTLS, name, pod.minor))
        .collect();
    violation_unless_empty(&bad, "forbidden sysctls", || bad.join(", "))
}

pub(super) fn host_process(pod: &Subject<'_>) -> CheckResult {
    let setters =
        pod.security_context_owners_that(|context| context["windowsOptions"]["hostProcess"] == true);
    violation_unless_empty(&setters, "hostProcess", || {
        let setters = setters.join(" and ");
        format!("{setters} must not set securityContext.windowsOptions.hostProcess=true")
    })
}

pub(super) fn privilege_escalation(pod: &Subject<'_>) -> CheckResult {
    if pod.minor >= 25 && pod.is_for_windows() {
        return None;
    }
    let containers =
        pod.containers_that(|container| container["securityContext"]["allowPrivilegeEscalation"] != false);
    violation_unless_empty(&containers, "allowPrivilegeEscalation != false", || {
        let containers = format_container_names(&containers);
        format!("{containers} must set securityContext.allowPrivilegeEscalation=false")
    })
}

/// Volume sources that the restricted level allows, because these sources do not expose the node.
const SOURCES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// Volume sources that the restricted level forbids.
const OTHER_SOURCES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn volumes(pod: &Subject<'_>) -> CheckResult {
    let (mut names, mut sources) = (Vec::new(), Texts::new());
    for volume in pod.volumes() {
        let has = |source: &&&str| !volume[**source].is_null();
        if SOURCES.iter().any(|source| has(&source)) {
            continue;
        }
        names.push(string(volume, "name"));
        sources.insert(OTHER_SOURCES.iter().find(has).copied().unwrap_or("unknown"));
    }
    violation_unless_empty(&names, "restricted volume types", || {
        format!(
            "{} {} {} {} {}",
            plural(names.len(), "volume"),
            quoted(&names),
            use_or_uses(names.len()),
            plural(sources.len(), "restricted volume type"),
            quoted(sources)
        )
    })
}

pub(super) fn non_root(pod: &Subject<'_>) -> CheckResult {
    if pod.minor >= 35 && pod.has_user_namespace() {
        return None;
    }
    let reason = "runAsNonRoot != true";
    let setters = pod.security_context_owners_that(|context| context["runAsNonRoot"] == false);
    let without = match pod.spec["securityContext"]["runAsNonRoot"] == true {
        true => Vec::new(),
        false => pod.containers_that(|container| container["securityContext"]["runAsNonRoot"].is_null()),
    };
    let set = violation_unless_empty(&setters, reason, || {
        format!(
            "{} must not set securityContext.runAsNonRoot=false",
            setters.join(" and ")
        )
    });
    set.or_else(|| {
        violation_unless_empty(&without, reason, || {
            format!(
                "pod or {} must set securityContext.runAsNonRoot=true",
                format_container_names(&without)
            )
        })
    })
}

pub(super) fn run_as_user(pod: &Subject<'_>) -> CheckResult {
    if pod.minor >= 35 && pod.has_user_namespace() {
        return None;
    }
    let setters = pod.security_context_owners_that(|context| context["runAsUser"] == 0);
    violation_unless_empty(&setters, "runAsUser=0", || {
        format!("{} must not set runAsUser=0", setters.join(" and "))
    })
}
