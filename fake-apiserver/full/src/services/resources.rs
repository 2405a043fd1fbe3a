//! IPAddress and ServiceCIDR: table columns only. Cluster IPs are allocated from the range in the server options, not from ServiceCIDRs.

use crate::kinds::NETWORKING;
use fake_apiserver::extension::ip;
use fake_apiserver::extension::json::string;
use fake_apiserver::extension::resource::Cell::{Join, Of};
use fake_apiserver::extension::resource::ServedReleases;
use fake_apiserver::extension::resource::{AGE, NAME, text, text_or_default};
use fake_apiserver::extension::resource::{MetadataChecks, ResourceDefinition, StatusMetadata};
use serde_json::Value;

pub(super) const GROUP: &str = NETWORKING.group;

pub(super) static IP_ADDRESS: ResourceDefinition = ResourceDefinition {
    kind: "IPAddress",
    plural: "ipaddresses",
    short_names: &["ip"],
    namespaced: false,
    name_rule: ip::validate_canonical,
    metadata_checks: MetadataChecks::core_v1_checks(2),
    columns: &[NAME, text("ParentRef", Of(address_parent))],
    life: ServedReleases::since(33),
    ..NETWORKING
};

pub(super) static SERVICE_CIDR: ResourceDefinition = ResourceDefinition {
    kind: "ServiceCIDR",
    metadata_checks: MetadataChecks::core_v1_checks(1),
    plural: "servicecidrs",
    namespaced: false,
    status: true,
    status_metadata: StatusMetadata::Described,
    status_resets: &[&["metadata"], &["spec"]],
    columns: &[NAME, text("CIDRs", Join("/spec/cidrs", "")), AGE],
    life: ServedReleases::since(33),
    ..NETWORKING
};

fn address_parent(address: &Value) -> Value {
    let parent = &address["spec"]["parentRef"];
    let resource = match (string(parent, "resource"), string(parent, "group")) {
        ("", _) | (_, "") => string(parent, "resource").to_owned(),
        (resource, group) => format!("{resource}.{group}"),
    };
    let words = [&resource, string(parent, "namespace"), string(parent, "name")];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    text_or_default(&words.join("/"), "<none>")
}
