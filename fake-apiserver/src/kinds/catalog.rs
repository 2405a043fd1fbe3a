//! Which kinds there are.
//!
//! A new kind is one more line. Does not know what the rows say.

use super::row::Kind;
use super::{
    admission, batch, capacity, certificates, config, core, csi, event, extension, flow, network, pod, rbac,
    resource, review, scheduling, storage, volume, workload,
};
use crate::config::release::Profile;

/// All resources, in the order of discovery: that of the real server's groups, and of the names in them. Where a group
/// has several versions, the preferred one is first.
pub(crate) static KINDS: &[&Kind] = &[
    &config::CONFIG_MAP,
    &config::ENDPOINTS,
    &event::EVENT,
    &config::LIMIT_RANGE,
    &core::NAMESPACE,
    &core::NODE,
    &volume::PERSISTENT_VOLUME_CLAIM,
    &volume::PERSISTENT_VOLUME,
    &pod::POD,
    &config::POD_TEMPLATE,
    &workload::REPLICATION_CONTROLLER,
    &config::RESOURCE_QUOTA,
    &config::SECRET,
    &core::SERVICE_ACCOUNT,
    &workload::SERVICE,
    &extension::API_SERVICE,
    &workload::CONTROLLER_REVISION,
    &workload::DAEMON_SET,
    &workload::DEPLOYMENT,
    &workload::REPLICA_SET,
    &workload::STATEFUL_SET,
    &event::EVENT_VIEW,
    &review::SELF_SUBJECT_REVIEW,
    &review::TOKEN_REVIEW,
    &review::LOCAL_SUBJECT_ACCESS_REVIEW,
    &review::SELF_SUBJECT_ACCESS_REVIEW,
    &review::SELF_SUBJECT_RULES_REVIEW,
    &review::SUBJECT_ACCESS_REVIEW,
    &batch::HORIZONTAL_POD_AUTOSCALER,
    &batch::HORIZONTAL_POD_AUTOSCALER_V1,
    &batch::CRON_JOB,
    &batch::JOB,
    &certificates::CERTIFICATE_SIGNING_REQUEST,
    &network::INGRESS_CLASS,
    &network::INGRESS,
    &network::IP_ADDRESS,
    &network::NETWORK_POLICY,
    &network::SERVICE_CIDR,
    &scheduling::POD_DISRUPTION_BUDGET,
    &rbac::CLUSTER_ROLE_BINDING,
    &rbac::CLUSTER_ROLE,
    &rbac::ROLE_BINDING,
    &rbac::ROLE,
    &csi::CSI_DRIVER,
    &csi::CSI_DRIVER_1_18,
    &csi::CSI_NODE,
    &capacity::CSI_STORAGE_CAPACITY,
    &capacity::V1BETA1,
    &capacity::V1ALPHA1,
    &capacity::V1ALPHA1_FIRST,
    &storage::STORAGE_CLASS,
    &storage::VOLUME_ATTACHMENT,
    &storage::VOLUME_ATTRIBUTES_CLASS,
    &admission::MUTATING_ADMISSION_POLICY,
    &admission::MUTATING_ADMISSION_POLICY_BINDING,
    &admission::MUTATING_WEBHOOK_CONFIGURATION,
    &admission::VALIDATING_ADMISSION_POLICY,
    &admission::VALIDATING_ADMISSION_POLICY_BINDING,
    &admission::VALIDATING_WEBHOOK_CONFIGURATION,
    &extension::CUSTOM_RESOURCE_DEFINITION,
    &scheduling::PRIORITY_CLASS,
    &core::LEASE,
    &scheduling::RUNTIME_CLASS,
    &network::ENDPOINT_SLICE,
    &flow::FLOW_SCHEMA,
    &flow::PRIORITY_LEVEL_CONFIGURATION,
    &resource::DEVICE_CLASS,
    &resource::RESOURCE_CLAIM,
    &resource::RESOURCE_CLAIM_TEMPLATE,
    &resource::RESOURCE_SLICE,
];

/// The row of namespaces, which the server itself writes.
pub(crate) static NAMESPACE: &Kind = &core::NAMESPACE;
/// Rows that admission, eviction and the end of events are about.
pub(crate) static EVENT: &Kind = &event::EVENT;
pub(crate) static PERSISTENT_VOLUME_CLAIM: &Kind = &volume::PERSISTENT_VOLUME_CLAIM;
pub(crate) static POD: &Kind = &pod::POD;
pub(crate) static POD_DISRUPTION_BUDGET: &Kind = &scheduling::POD_DISRUPTION_BUDGET;
pub(crate) static PRIORITY_CLASS: &Kind = &scheduling::PRIORITY_CLASS;
pub(crate) static RUNTIME_CLASS: &Kind = &scheduling::RUNTIME_CLASS;
pub(crate) static STORAGE_CLASS: &Kind = &storage::STORAGE_CLASS;
/// The row of service accounts, which tokens are about.
pub(crate) static SERVICE_ACCOUNT: &Kind = &core::SERVICE_ACCOUNT;
/// The rows that decide who may do what.
pub(crate) static CLUSTER_ROLE: &Kind = &rbac::CLUSTER_ROLE;
pub(crate) static CLUSTER_ROLE_BINDING: &Kind = &rbac::CLUSTER_ROLE_BINDING;
pub(crate) static ROLE: &Kind = &rbac::ROLE;
pub(crate) static ROLE_BINDING: &Kind = &rbac::ROLE_BINDING;

impl Kind {
    /// The number of the stored resource.
    pub(crate) fn shelf(&'static self) -> usize {
        let stored = self.stored();
        KINDS
            .iter()
            .position(|k| std::ptr::eq(*k, stored))
            .expect("every stored kind is in the table")
    }

    /// The row of a resource by its place in the API.
    pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.group == group && k.version == version && k.plural == plural)
    }

    /// The row of a resource by group and plural name, in the preferred version that is served.
    pub(crate) fn find_served(group: &str, plural: &str, profile: Profile) -> Option<&'static Kind> {
        let mut served = KINDS.iter().copied().filter(|k| k.life.contains(profile));
        served.find(|k| k.group == group && k.plural == plural)
    }

    /// A row of a resource by group and plural name, served or not.
    pub(crate) fn find_resource(group: &str, plural: &str) -> Option<&'static Kind> {
        let mut rows = KINDS.iter().copied();
        rows.find(|k| k.group == group && k.plural == plural)
    }

    /// The first row of that plural name in any group, served or not.
    pub(crate) fn find_plural(plural: &str) -> Option<&'static Kind> {
        KINDS.iter().copied().find(|k| k.plural == plural)
    }

    /// Whether the resource can be reached in any version.
    pub(crate) fn is_reachable(&self, profile: Profile) -> bool {
        Kind::find_served(self.group, self.plural, profile).is_some()
    }

    /// The row that is served in the place of this one.
    pub(crate) fn served(&'static self, profile: Profile) -> Option<&'static Kind> {
        if self.life.contains(profile) {
            return Some(self);
        }
        let mut served = KINDS.iter().copied().filter(|k| k.life.contains(profile));
        served.find(|k| k.group == self.group && k.version == self.version && k.plural == self.plural)
    }

    /// The row of a kind by what objects say of themselves.
    pub(crate) fn find_kind(api_version: &str, kind: &str) -> Option<&'static Kind> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.kind == kind && k.has_version(api_version))
    }
}
