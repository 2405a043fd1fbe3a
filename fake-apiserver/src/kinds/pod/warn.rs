//! What a pod is warned about: legal, and hardly what was meant (`warningsForPodSpecAndMeta` of pkg/api/pod).
//!
//! Owns these warnings, for pods and for templates of pods. Does not know what is illegal.

use super::super::outdated;
use super::super::volume::claim_warn;
use super::annotations::{self, SECCOMP, SECCOMP_POD};
use super::containers::all;
use super::overlaps;
use crate::machinery::ip;
use crate::machinery::json::{self, list, string};
use crate::machinery::{metadata, names};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Containers that one with the same port is held against.
const SAME_PORTS_MAX: usize = 16;

/// Annotations that became fields long ago.
const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NOTHING: &str = "a null labelSelector results in matching no pod";
const SECCOMP_WARNING: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";

/// Plugins that only pods had.
const PLUGINS: [(&str, &str); 3] = [
    (
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
];

/// The warnings for a new pod, which has a name that becomes the name of a host.
pub(super) fn pod(new: &Value) -> Vec<String> {
    let mut warnings = Vec::from_iter(name(new, &Value::Null, "the Pod's hostname"));
    warnings.extend(template(new, ""));
    warnings
}

/// The warning about the name of a new object that is no DNS label, although it becomes part of `what`.
pub(in crate::kinds) fn name(new: &Value, old: &Value, what: &str) -> Option<String> {
    let complaints = match old.is_null() {
        true => names::label(metadata::text(new, "name")),
        false => Vec::new(),
    };
    (!complaints.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {what}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            complaints.join(" ")
        )
    })
}

/// The warnings for a pod or a template, whose members are below a place: `template.`, for example.
pub(in crate::kinds) fn template(object: &Value, at: &str) -> Vec<String> {
    let spec = &object["spec"];
    let here = format!("{at}spec");
    let mut warnings = placement(spec, &here);
    let annotations = &object["metadata"]["annotations"];
    let told = ANNOTATIONS
        .iter()
        .filter(|(name, _)| !annotations[*name].is_null());
    warnings.extend(told.map(|(name, text)| format!("{at}metadata.annotations[{name}]: {text}")));
    for (i, volume) in list(&spec["volumes"]).iter().enumerate() {
        warnings.extend(plugins(volume, &format!("{here}.volumes[{i}]")));
    }
    let volumes = list(&spec["volumes"]).iter();
    warnings.extend(volumes.flat_map(overlaps::warn).take(overlaps::WARNINGS_MAX));
    for (member, key) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        warnings.extend(repeated(&spec[member], key, &format!("{here}.{member}")));
    }
    for (i, secret) in list(&spec["imagePullSecrets"]).iter().enumerate() {
        if string(secret, "name").is_empty() {
            warnings.push(format!(
                "{here}.imagePullSecrets[{i}].name: invalid empty name \"\""
            ));
        }
    }
    warnings.extend(fractional(&spec["overhead"], &format!("{here}.overhead")));
    let (at_template, in_annotations) = (at, format!("{at}metadata.annotations"));
    let seccomp = |key: &str, context: &Value| {
        let is_alone = context["seccompProfile"].is_null() && !annotations[key].is_null();
        is_alone.then(|| format!("{in_annotations}[{key}]: {SECCOMP_WARNING}"))
    };
    warnings.extend(seccomp(SECCOMP_POD, &spec["securityContext"]));
    for (container, at) in all(spec, &here) {
        let key = format!("{SECCOMP}{}", string(container, "name"));
        warnings.extend(seccomp(&key, &container["securityContext"]));
        // That of a pod has a field by now.
        if !at_template.is_empty() {
            warnings.extend(annotations::warn_of_profile(object, container, at_template));
        }
        for side in ["limits", "requests"] {
            warnings.extend(fractional(
                &container["resources"][side],
                &format!("{at}.resources.{side}"),
            ));
        }
        warnings.extend(hidden(container, &at));
    }
    warnings.extend(ports(spec, &here));
    if spec["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0)
    {
        warnings.push(format!(
            "{here}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    warnings.extend(unselecting(spec, &here));
    warnings
}

/// Labels of nodes that have successors, and selectors that select nothing.
fn placement(spec: &Value, at: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (key, _) in json::pairs(&spec["nodeSelector"]) {
        warnings.extend(outdated::node_label(key).map(|text| format!("{at}.nodeSelector[{key}]: {text}")));
    }
    let (affinity, here) = (&spec["affinity"], format!("{at}.affinity"));
    let nodes = &affinity["nodeAffinity"];
    let terms = format!("{here}.nodeAffinity.{REQUIRED}.nodeSelectorTerms");
    warnings.extend(outdated::node_selector(
        &nodes[REQUIRED]["nodeSelectorTerms"],
        &terms,
    ));
    for (i, term) in list(&nodes[PREFERRED]).iter().enumerate() {
        let at = format!("{here}.nodeAffinity.{PREFERRED}[{i}].preference");
        for (i, requirement) in list(&term["preference"]["matchExpressions"]).iter().enumerate() {
            let at = format!("{at}.matchExpressions[{i}]");
            warnings.extend(outdated::expression(requirement, &at));
            warnings.extend(unlike_labels(requirement, &at));
        }
    }
    for (i, spread) in list(&spec["topologySpreadConstraints"]).iter().enumerate() {
        let at = format!("{at}.topologySpreadConstraints[{i}]");
        let key = string(spread, "topologyKey");
        warnings.extend(outdated::node_label(key).map(|text| format!("{at}.topologyKey: {key} is {text}")));
        if spread["labelSelector"].is_null() {
            warnings.push(format!("{at}.labelSelector: {NOTHING}"));
        }
    }
    warnings
}

/// Values that no label has, which a preference may name.
fn unlike_labels(requirement: &Value, at: &str) -> Vec<String> {
    let values = json::texts(&requirement["values"]).into_iter().enumerate();
    let told = values.flat_map(|(i, value)| {
        let complaints = names::label_value(value).into_iter();
        complaints.map(move |why| format!("{at}.values[{i}]: {value} is invalid, {why}"))
    });
    told.collect()
}

/// Selectors of other pods that select none, and addresses in forms that pass no more.
fn unselecting(spec: &Value, at: &str) -> Vec<String> {
    let (affinity, here) = (&spec["affinity"], format!("{at}.affinity"));
    let mut warnings = Vec::new();
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (i, term) in list(&affinity[kind][REQUIRED]).iter().enumerate() {
            if term["labelSelector"].is_null() {
                warnings.push(format!("{here}.{kind}.{REQUIRED}[{i}].labelSelector: {NOTHING}"));
            }
        }
        for (i, term) in list(&affinity[kind][PREFERRED]).iter().enumerate() {
            if term["podAffinityTerm"]["labelSelector"].is_null() {
                let field = "podAffinityTerm.labelSelector";
                warnings.push(format!("{here}.{kind}.{PREFERRED}[{i}].{field}: {NOTHING}"));
            }
        }
    }
    for (i, server) in json::texts(&spec["dnsConfig"]["nameservers"])
        .into_iter()
        .enumerate()
    {
        warnings.extend(ip::warning(server, &format!("{at}.dnsConfig.nameservers[{i}]")));
    }
    for (i, alias) in list(&spec["hostAliases"]).iter().enumerate() {
        warnings.extend(ip::warning(
            string(alias, "ip"),
            &format!("{at}.hostAliases[{i}].ip"),
        ));
    }
    warnings
}

fn plugins(volume: &Value, at: &str) -> Vec<String> {
    let old = outdated::VOLUME_PLUGINS
        .iter()
        .map(|(name, shown, text)| (name, shown, text));
    let own = PLUGINS.iter().map(|(name, text)| (name, name, text));
    let told = old.chain(own).filter(|(name, ..)| !volume[**name].is_null());
    let mut warnings: Vec<String> = told
        .map(|(_, shown, text)| format!("{at}.{shown}: {text}"))
        .collect();
    let claim = &volume["ephemeral"]["volumeClaimTemplate"];
    warnings.extend(claim_warn(
        &claim["spec"],
        &format!("{at}.ephemeral.volumeClaimTemplate.spec"),
    ));
    warnings
}

/// Entries with a key that an earlier one has.
fn repeated(entries: &Value, key: &str, at: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let entries = list(entries).iter().map(|entry| string(entry, key)).enumerate();
    entries
        .filter(|(_, name)| !seen.insert(*name))
        .map(|(i, name)| format!("{at}[{i}].{key}: duplicate {key} {name:?}"))
        .collect()
}

/// Parts of bytes are no use to anybody. In canonical form, only these suffixes make them.
fn fractional(amounts: &Value, at: &str) -> Vec<String> {
    let names = ["memory", "ephemeral-storage"].into_iter();
    let amounts = names.filter_map(|name| Some((name, amounts[name].as_str()?)));
    amounts
        .filter(|(_, text)| text.ends_with(['m', 'u', 'n']))
        .map(|(name, text)| {
            format!("{at}[{name}]: fractional byte value {text:?} is invalid, must be an integer")
        })
        .collect()
}

/// Variables that make an earlier one of the name vanish, rather than add to it.
fn hidden(container: &Value, at: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut warnings = Vec::new();
    for (i, variable) in list(&container["env"]).iter().enumerate() {
        let (name, value) = (string(variable, "name"), string(variable, "value"));
        let reference = format!("$({name})");
        let keeps = variable["valueFrom"].is_null() && value != reference && value.contains(&reference);
        if !seen.insert(name) && !keeps {
            warnings.push(format!(
                "{at}.env[{i}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
    warnings
}

/// Ports that are there twice, in all containers together.
fn ports(spec: &Value, at: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut seen: HashMap<(i64, &str), Vec<(&Value, String)>> = HashMap::new();
    let mut named: BTreeMap<&str, String> = BTreeMap::new();
    for (container, at) in all(spec, at) {
        for (i, port) in list(&container["ports"]).iter().enumerate() {
            let here = format!("{at}.ports[{i}]");
            let number = port["containerPort"].as_i64().unwrap_or_default();
            let same = seen.entry((number, string(port, "protocol"))).or_default();
            warnings.extend(
                same.iter()
                    .filter_map(|(other, there)| clash(port, other, &here, there)),
            );
            let host_port = port["hostPort"].as_i64().unwrap_or_default();
            if !string(port, "hostIP").is_empty() && host_port == 0 {
                // The port is shown as Go shows a struct.
                warnings.push(format!(
                    "{here}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{}}}",
                    string(port, "name"),
                    port["containerPort"],
                    string(port, "protocol"),
                    string(port, "hostIP")
                ));
            }
            let name = string(port, "name");
            match named.get(name) {
                _ if name.is_empty() => {}
                Some(there) => warnings.push(format!(
                    "{here}: duplicate port name {name:?} with {there}, services and probes that select ports by name \
                     will use {there}"
                )),
                None => drop(named.insert(name, here.clone())),
            }
            // A body can hold any number of them: a few warnings are enough.
            if same.len() < SAME_PORTS_MAX {
                same.push((port, here));
            }
        }
    }
    warnings
}

fn clash(port: &Value, other: &Value, here: &str, there: &str) -> Option<String> {
    let host = |port: &Value| port["hostPort"].as_i64().unwrap_or_default();
    let (mine, theirs) = (string(port, "hostIP"), string(other, "hostIP"));
    let how = if mine == theirs && host(port) == host(other) {
        "duplicate"
    } else if host(port) == 0 || host(other) == 0 {
        "overlapping"
    } else if host(port) == host(other) && mine.is_empty() != theirs.is_empty() {
        "dangerously ambiguous"
    } else {
        return None;
    };
    Some(format!("{here}: {how} port definition with {there}"))
}
