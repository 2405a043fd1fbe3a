//! Which groups, versions, resources and subresources a release serves, and their verbs.
//!
//! Computed from the resource definitions. Does not know the formats of discovery documents.

use crate::kinds::{Api, Kind, Subresource, request_kind};
use crate::machinery::versions;

/// The verbs of built-in resources. Some resources have no `deletecollection`.
const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// The verbs of custom resources, in kube-apiserver's order.
const DEFINED_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
/// The verbs that a custom resource no longer has while its CustomResourceDefinition is being deleted.
const MAKING: [&str; 3] = ["create", "patch", "update"];
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// All groups except the core group, with their versions. The preferred version is first.
pub(super) fn groups(api: &Api) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for kind in api.served().filter(|kind| !kind.group.is_empty()) {
        // Usually the resource is in the group of the preceding resource; a custom resource may also be in an earlier group.
        let known = match groups.last() {
            Some((last, _)) if *last == kind.group => groups.last_mut(),
            _ => groups.iter_mut().find(|(group, _)| *group == kind.group),
        };
        match known {
            None => groups.push((kind.group, vec![kind.version])),
            Some((_, known)) if !known.contains(&kind.version) => {
                known.push(kind.version);
                if kind.defined().is_some() {
                    known.sort_by(|one, other| versions::compare(one, other));
                }
            }
            Some(_) => {}
        }
    }
    groups
}

/// All versions of all groups, in discovery order.
pub(super) fn versions(api: &Api) -> Vec<(&'static str, &'static str)> {
    let core = [("", vec!["v1"])];
    let groups = core.into_iter().chain(groups(api));
    groups
        .flat_map(|(group, versions)| versions.into_iter().map(move |version| (group, version)))
        .collect()
}

pub(super) fn kinds_of_version<'a>(
    group: &'a str,
    version: &'a str,
    api: &'a Api,
) -> impl Iterator<Item = &'a Kind> {
    let all = api.catalogue.of_group(group);
    all.filter(move |kind| kind.version == version && kind.life.contains(api.profile))
}

/// Whether the group, or the given version of the group, serves any resource.
pub(crate) fn has(group: &str, version: Option<&str>, api: &Api) -> bool {
    let mut all = api.catalogue.of_group(group);
    all.any(|kind| {
        let is_version = version.is_none_or(|version| kind.version == version);
        is_version && kind.life.contains(api.profile)
    })
}

pub(super) fn verbs(kind: &Kind) -> Vec<&'static str> {
    if kind.unstored.is_some() {
        return vec!["create"];
    }
    if let Some(defined) = kind.defined() {
        let is_ending = |verb: &&str| !defined.is_ending || !MAKING.contains(verb);
        return DEFINED_VERBS.into_iter().filter(is_ending).collect();
    }
    VERBS
        .into_iter()
        .filter(|verb| kind.deletes_collection || *verb != "deletecollection")
        .collect()
}

/// A subresource, as in discovery documents.
pub(super) struct Subentry {
    pub(super) name: &'static str,
    /// The kind of the request and response bodies.
    pub(super) body: &'static str,
    /// Group and version of the body's kind, if they differ from those of the resource.
    pub(super) home: Option<(&'static str, &'static str)>,
    pub(super) verbs: Vec<&'static str>,
    /// Whether the server connects requests to a node, pod or service (exec, attach, port-forward, proxy).
    pub(super) is_connection: bool,
}

pub(super) fn subresources(kind: &Kind) -> Vec<Subentry> {
    let part = |name, body: Option<&'static Kind>, verbs: &[&'static str]| Subentry {
        name,
        body: body.map_or(kind.kind, |body| body.kind),
        home: body
            .map(|body| (body.group, body.version))
            .filter(|(group, _)| *group != kind.group),
        verbs: verbs.to_vec(),
        is_connection: false,
    };
    let own = kind.subresources.iter().map(|sub| {
        let verbs: &[&str] = match sub {
            Subresource::Approval
            | Subresource::EphemeralContainers
            | Subresource::Resize
            | Subresource::Scale => &STATUS_VERBS,
            Subresource::Attach | Subresource::Exec | Subresource::PortForward => &["create", "get"],
            Subresource::Binding | Subresource::Eviction | Subresource::Token => &["create"],
            Subresource::Finalize => &["update"],
            Subresource::Log => &["get"],
            Subresource::Proxy => &["create", "delete", "get", "patch", "update"],
        };
        let entry = part(sub.as_str(), request_kind(*sub), verbs);
        Subentry {
            body: sub.connect_options_kind(kind.kind).unwrap_or(entry.body),
            is_connection: sub.is_forwarded(),
            ..entry
        }
    });
    let mut parts: Vec<Subentry> = own.collect();
    if kind.status {
        // kube-apiserver lists `status` first for custom resources.
        let at = if kind.defined().is_some() { 0 } else { parts.len() };
        parts.insert(at, part("status", None, &STATUS_VERBS));
    }
    parts
}
