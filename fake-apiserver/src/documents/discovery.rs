//! Discovery documents: the served groups, versions and resources, in aggregated and unaggregated form.
//!
//! Does not know HTTP or content negotiation.

use super::served::{groups, kinds_of_version, subresources, verbs};
use crate::kinds::{Api, Kind};
use crate::machinery::versions::group_version;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryDocument {
    /// `/api`: the versions of the core group.
    Core,
    /// `/apis`: the list of API groups.
    Groups,
    /// `/apis/GROUP`: the versions of an API group.
    Group(&'static str),
    /// `/api/v1`, `/apis/GROUP/VERSION`: the resources of a group version.
    Resources(&'static str, &'static str),
}

pub(crate) struct DiscoveryResponse {
    pub(crate) media: &'static str,
    pub(crate) document: Value,
}

/// Builds a discovery document. `aggregated`: the version of aggregated discovery that the client accepts. `address`: the server's
/// address as the client sees it.
pub(crate) fn document(
    which: &DiscoveryDocument,
    aggregated: Option<&'static str>,
    address: &str,
    api: &Api,
) -> DiscoveryResponse {
    if let Some(version) = aggregated.and_then(|requested| aggregated_version(requested, api)) {
        let groups = match which {
            DiscoveryDocument::Core => Some(vec![("", vec!["v1"])]),
            DiscoveryDocument::Groups => Some(groups(api)),
            DiscoveryDocument::Group(_) | DiscoveryDocument::Resources(..) => None,
        };
        if let Some(groups) = groups {
            return DiscoveryResponse {
                media: match version {
                    "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                    _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
                },
                document: aggregated_document(version, groups, api),
            };
        }
    }
    let document = match which {
        DiscoveryDocument::Core => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }),
        DiscoveryDocument::Groups => json!({
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": groups(api).iter().map(|(group, versions)| group_entry(group, versions)).collect::<Value>(),
        }),
        DiscoveryDocument::Group(group) => {
            let groups = groups(api);
            let versions = groups.iter().find(|(name, _)| name == group);
            let mut document = group_entry(group, versions.map_or(&[], |(_, versions)| versions));
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            document
        }
        DiscoveryDocument::Resources(group, version) => resources(group, version, api),
    };
    DiscoveryResponse {
        media: "application/json",
        document,
    }
}

/// The version of aggregated discovery that the release serves to a client that accepts `requested`: none before 1.27, `v2` only
/// since 1.30.
fn aggregated_version(requested: &'static str, api: &Api) -> Option<&'static str> {
    match requested {
        _ if !api.profile.is_since(27) => None,
        "v2" if !api.profile.is_since(30) => Some("v2beta1"),
        requested => Some(requested),
    }
}

fn group_entry(group: &str, versions: &[&str]) -> Value {
    let entry = |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let versions: Vec<Value> = versions.iter().map(entry).collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

fn resources(group: &str, version: &str, api: &Api) -> Value {
    let mut entries = Vec::new();
    for kind in kinds_of_version(group, version, api) {
        let mut entry = json!({
            "name": kind.plural,
            "singularName": kind.singular(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": verbs(kind),
        });
        add_names(&mut entry, kind);
        if kind.unstored.is_none() {
            entry["storageVersionHash"] = storage_version_hash(&kind.in_storage_version()).into();
        }
        entries.push(entry);
        for part in subresources(kind) {
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
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": group_version(group, version),
        "resources": entries,
    });
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

/// `storageVersionHash`: a short hash that changes if the storage version changes.
fn storage_version_hash(stored: &Kind) -> String {
    let version = stored.storage_version.unwrap_or(stored.version);
    let text = format!("{}/{version}/{}", stored.group, stored.kind);
    let hash = digest(&SHA256, text.as_bytes());
    BASE64_STANDARD.encode(&hash.as_ref()[..8])
}

fn add_names(entry: &mut Value, kind: &Kind) {
    for (name, list) in [("shortNames", kind.short_names), ("categories", kind.categories)] {
        if !list.is_empty() {
            entry[name] = json!(list);
        }
    }
}

/// The aggregated discovery document (`APIGroupDiscoveryList`) of the given groups.
fn aggregated_document(
    document_version: &str,
    groups: Vec<(&'static str, Vec<&'static str>)>,
    api: &Api,
) -> Value {
    let items: Vec<Value> = groups
        .into_iter()
        .map(|(group, versions)| {
            let entry = |version: &&str| {
                let resources: Vec<Value> = kinds_of_version(group, version, api)
                    .map(aggregated_resource)
                    .collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            };
            let versions: Vec<Value> = versions.iter().map(entry).collect();
            let mut metadata = json!({});
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

fn aggregated_resource(kind: &Kind) -> Value {
    let response = |name: &str, home: Option<(&str, &str)>| {
        // kube-apiserver omits group and version of a resource if they equal those of the enclosing list, except for custom resources.
        let own = kind.defined().map(|_| (kind.group, kind.version));
        let (group, version) = home.or(own).unwrap_or_default();
        json!({"group": group, "version": version, "kind": name})
    };
    let mut entry = json!({
        "resource": kind.plural,
        "responseKind": response(kind.kind, None),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular(),
        "verbs": verbs(kind),
    });
    add_names(&mut entry, kind);
    let subresources: Vec<Value> = subresources(kind)
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
