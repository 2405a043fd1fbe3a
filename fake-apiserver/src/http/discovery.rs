//! Discovery: which groups, versions and resources there are, in all forms that clients ask for.
//!
//! Everything is read off the kind table.

use super::negotiate::Accept;
use super::openapi;
use super::respond::Cached;
use super::route::Document;
use crate::kinds::{KINDS, Kind};
use crate::release::Profile;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

/// What every resource can do; resources whose collection cannot be deleted lack that.
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
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// `/version`: what this server follows.
pub(super) fn version(profile: Profile) -> Value {
    let minor = profile.release.minor();
    json!({
        "major": "1",
        "minor": minor.to_string(),
        "gitVersion": format!("v1.{minor}.0"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// `/`: the paths that are served.
pub(super) fn paths(profile: Profile) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in groups(profile) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(["/healthz", "/livez", "/metrics"].map(str::to_owned));
    paths.extend(["/openapi/v2", "/openapi/v3"].map(str::to_owned));
    paths.extend(
        openapi::places(profile)
            .iter()
            .map(|place| format!("/openapi/v3/{place}")),
    );
    paths.extend(["/readyz", "/version"].map(str::to_owned));
    json!({ "paths": paths })
}

/// A discovery document in the form that the client takes.
pub(super) fn document(which: &Document, accept: Accept, address: &str, profile: Profile) -> Cached {
    if let Accept::Aggregated(version) = accept
        && let Some(version) = aggregated_version(version, profile)
    {
        let media = if version == "v2" {
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        } else {
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
        };
        match which {
            Document::Core => {
                return Cached {
                    media,
                    document: aggregated(version, vec![("", vec!["v1"])], profile),
                };
            }
            Document::Groups => {
                return Cached {
                    media,
                    document: aggregated(version, groups(profile), profile),
                };
            }
            Document::Group(_) | Document::Resources(..) => {}
        }
    }
    let document = match which {
        Document::Core => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }),
        Document::Groups => json!({
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": groups(profile).iter().map(|(group, versions)| group_entry(group, versions)).collect::<Value>(),
        }),
        Document::Group(group) => {
            let groups = groups(profile);
            let versions = groups.iter().find(|(name, _)| name == group);
            let mut document = group_entry(group, versions.map_or(&[], |(_, versions)| versions));
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            document
        }
        Document::Resources(group, version) => resources(group, version, profile),
    };
    Cached {
        media: "application/json",
        document,
    }
}

/// The version of aggregated discovery that a release gives to a client that takes `asked`: none before 1.27, and
/// `v2` from 1.30 on.
fn aggregated_version(asked: &'static str, profile: Profile) -> Option<&'static str> {
    match asked {
        _ if !profile.is_since(27) => None,
        "v2" if !profile.is_since(30) => Some("v2beta1"),
        asked => Some(asked),
    }
}

/// The groups beside the core group, each with its versions, the preferred one first.
fn groups(profile: Profile) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for kind in served(profile).filter(|kind| !kind.group.is_empty()) {
        match groups.iter_mut().find(|(group, _)| *group == kind.group) {
            None => groups.push((kind.group, vec![kind.version])),
            Some((_, versions)) if !versions.contains(&kind.version) => versions.push(kind.version),
            Some(_) => {}
        }
    }
    groups
}

fn group_entry(group: &str, versions: &[&str]) -> Value {
    let entry = |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let versions: Vec<Value> = versions.iter().map(entry).collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

fn served(profile: Profile) -> impl Iterator<Item = &'static Kind> {
    KINDS
        .iter()
        .copied()
        .filter(move |kind| kind.life.contains(profile))
}

/// All versions of all groups, in the order of discovery.
pub(super) fn versions(profile: Profile) -> Vec<(&'static str, &'static str)> {
    let core = [("", vec!["v1"])];
    let groups = core.into_iter().chain(groups(profile));
    groups
        .flat_map(|(group, versions)| versions.into_iter().map(move |version| (group, version)))
        .collect()
}

pub(super) fn of_group(group: &str, version: &str, profile: Profile) -> impl Iterator<Item = &'static Kind> {
    served(profile).filter(move |kind| kind.group == group && kind.version == version)
}

/// Whether there is anything to discover in a group, or in a version of it.
pub(super) fn has(group: &str, version: Option<&str>, profile: Profile) -> bool {
    served(profile).any(|kind| kind.group == group && version.is_none_or(|version| kind.version == version))
}

pub(super) fn verbs(kind: &Kind) -> Vec<&'static str> {
    if kind.review.is_some() {
        return vec!["create"];
    }
    VERBS
        .into_iter()
        .filter(|verb| kind.deletes_collection || *verb != "deletecollection")
        .collect()
}

/// A subresource.
pub(super) struct Subentry {
    pub(super) name: &'static str,
    /// The kind of what is sent to it and comes back.
    pub(super) body: &'static str,
    /// Group and version of that kind, where they are not those of the resource.
    pub(super) home: Option<(&'static str, &'static str)>,
    pub(super) verbs: Vec<&'static str>,
}

/// Subresources of a kind.
pub(super) fn parts(kind: &Kind) -> Vec<Subentry> {
    use crate::kinds::Subresource;
    let own = |name, body, verbs| Subentry {
        name,
        body,
        home: None,
        verbs,
    };
    let mut parts: Vec<Subentry> = kind
        .subresources
        .iter()
        .map(|sub| match sub {
            Subresource::Approval => own(sub.as_str(), kind.kind, STATUS_VERBS.to_vec()),
            Subresource::Binding => own(sub.as_str(), "Binding", vec!["create"]),
            Subresource::Eviction => Subentry {
                home: Some(("policy", "v1")),
                ..own(sub.as_str(), "Eviction", vec!["create"])
            },
            Subresource::Finalize => own(sub.as_str(), kind.kind, vec!["update"]),
            Subresource::Scale => Subentry {
                home: Some(("autoscaling", "v1")),
                ..own(sub.as_str(), "Scale", STATUS_VERBS.to_vec())
            },
            Subresource::Token => Subentry {
                home: Some(("authentication.k8s.io", "v1")),
                ..own(sub.as_str(), "TokenRequest", vec!["create"])
            },
        })
        .collect();
    if kind.status {
        parts.push(own("status", kind.kind, STATUS_VERBS.to_vec()));
    }
    parts
}

fn resources(group: &str, version: &str, profile: Profile) -> Value {
    let mut entries = Vec::new();
    for kind in of_group(group, version, profile) {
        let mut entry = json!({
            "name": kind.plural,
            "singularName": kind.singular,
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": verbs(kind),
        });
        entry
            .as_object_mut()
            .into_iter()
            .for_each(|entry| add_names(entry, kind));
        if kind.review.is_none() {
            entry["storageVersionHash"] = storage_version(kind.stored()).into();
        }
        entries.push(entry);
        for part in parts(kind) {
            let mut entry = json!({
                "name": format!("{}/{}", kind.plural, part.name),
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": part.body,
                "verbs": part.verbs,
            });
            if let Some((group, version)) = part.home {
                (entry["group"], entry["version"]) = (group.into(), version.into());
            }
            entries.push(entry);
        }
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    })
}

/// Tells whether objects are still stored in the same version: a short hash of it.
fn storage_version(stored: &Kind) -> String {
    // What is new in 1.36 is stored so that 1.35 can still read it.
    let version = match stored.kind {
        "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding" => "v1beta1",
        _ => stored.version,
    };
    let text = format!("{}/{version}/{}", stored.group, stored.kind);
    let hash = digest(&SHA256, text.as_bytes());
    BASE64_STANDARD.encode(&hash.as_ref()[..8])
}

fn add_names(entry: &mut Map<String, Value>, kind: &Kind) {
    for (name, list) in [("shortNames", kind.short_names), ("categories", kind.categories)] {
        if !list.is_empty() {
            entry.insert(name.to_owned(), json!(list));
        }
    }
}

/// All resources of some groups in one document.
fn aggregated(
    document_version: &str,
    groups: Vec<(&'static str, Vec<&'static str>)>,
    profile: Profile,
) -> Value {
    let items: Vec<Value> = groups
        .into_iter()
        .map(|(group, versions)| {
            let entry = |version: &&str| {
                let resources: Vec<Value> = of_group(group, version, profile)
                    .map(aggregated_resource)
                    .collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            };
            let versions: Vec<Value> = versions.iter().map(entry).collect();
            let mut metadata = json!({"creationTimestamp": null});
            if !group.is_empty() {
                metadata["name"] = group.into();
            }
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{document_version}"),
        "metadata": {},
        "items": items,
    })
}

fn aggregated_resource(kind: &'static Kind) -> Value {
    let response = |name: &str, home: Option<(&str, &str)>| {
        let (group, version) = home.unwrap_or((kind.group, kind.version));
        json!({"group": group, "version": version, "kind": name})
    };
    let mut entry = json!({
        "resource": kind.plural,
        "responseKind": response(kind.kind, None),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular,
        "verbs": verbs(kind),
    });
    entry
        .as_object_mut()
        .into_iter()
        .for_each(|entry| add_names(entry, kind));
    let subresources: Vec<Value> = parts(kind)
        .into_iter()
        .map(|part| {
            let body = response(part.body, part.home);
            json!({"subresource": part.name, "responseKind": body, "verbs": part.verbs})
        })
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}
