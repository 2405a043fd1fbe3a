//! The table of kinds: all that differs from one resource to the next.
//!
//! Routing, discovery, decoding, defaulting, validation, field selectors and printing read this table; a new kind
//! is a new row. Does not know requests or storage.

mod admission;
mod batch;
mod capacity;
mod certificates;
pub(crate) mod columns;
mod config;
mod core;
mod csi;
mod event;
mod extension;
mod flow;
mod network;
mod outdated;
mod pod;
mod rbac;
mod resource;
mod review;
mod scheduling;
mod selectors;
mod shown;
mod storage;
pub(crate) mod token_lifetime;
mod volume;
mod workload;

use crate::config::options::ServerOptions;
use crate::config::release::{Life, Profile};
use crate::kinds::columns::{NAME_AND_AGE, Printer};
use crate::machinery::faults::Faults;
use crate::machinery::names::{self, Complaints};
use crate::machinery::selector::Pointers;
use crate::machinery::status::Subject;
pub(crate) use config::CONFIG_MAP;
pub(crate) use rbac::GROUP as RBAC_GROUP;
pub(crate) use scheduling::system_classes;
use serde_json::Value;

/// One resource.
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) categories: &'static [&'static str],
    pub(crate) namespaced: bool,
    /// There is a `/status`, and the main path leaves the status alone.
    pub(crate) status: bool,
    /// Subresources other than `status`.
    pub(crate) subresources: &'static [Subresource],
    pub(crate) name_rule: fn(&str) -> Complaints,
    pub(crate) generation: Generation,
    /// PUT without a resourceVersion replaces whatever is there.
    pub(crate) unconditional_update: bool,
    /// PUT of an object that does not exist creates it.
    pub(crate) create_on_update: bool,
    /// DELETE of the collection is served.
    pub(crate) deletes_collection: bool,
    /// DELETE answers with the object instead of a Status.
    pub(crate) returns_deleted: bool,
    /// The kind's own validation checks the change of `metadata` once more, so its causes come twice.
    pub(crate) meta_checked_twice: bool,
    pub(crate) hooks: Hooks,
    pub(crate) selectable: &'static [Selectable],
    /// How an unknown field label of a selector is reported.
    pub(crate) unknown_label: fn(&str) -> String,
    pub(crate) printer: &'static Printer,
    /// Objects are not stored: to create one is to have it answered.
    pub(crate) review: Option<Review>,
    /// This resource shows another one's objects in its own form.
    pub(crate) view: Option<View>,
    /// What is told to whoever creates an object: that it does less here than in a cluster.
    pub(crate) caveat: Option<&'static str>,
    /// Since which minor release another kind should be used, and which.
    pub(crate) deprecation: Option<(u8, &'static str)>,
    /// The releases in which the row is served. Several rows may have the same place in the API, in different ones.
    pub(crate) life: Life,
}

/// Which part of an object is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The object itself.
    Main,
    /// Its `/status`.
    Status,
    /// A subresource of its own.
    Sub(Subresource),
}

/// A subresource with behaviour of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subresource {
    /// `certificatesigningrequests/approval`: the conditions that say whether a request is granted.
    Approval,
    /// `pods/binding`.
    Binding,
    /// `pods/eviction`.
    Eviction,
    /// `namespaces/finalize`.
    Finalize,
    /// `scale` of workloads, as a `Scale` of autoscaling/v1.
    Scale,
    /// `serviceaccounts/token`.
    Token,
}

/// A question that a kind's objects ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// Who am I?
    SelfSubject,
    /// Whose token is this?
    Token,
    /// May I?
    SelfSubjectAccess,
    /// May that user?
    SubjectAccess,
    /// May that user, in this namespace?
    LocalSubjectAccess,
    /// What may I do in that namespace?
    SelfSubjectRules,
}

/// When `metadata.generation` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Never.
    None,
    /// From 1 on, and bumped when the spec changes.
    FromCreation,
    /// Absent at first, bumped when the spec changes.
    FromFirstChange,
}

/// What a kind does to its objects. All run with the whole object.
pub(crate) struct Hooks {
    /// Fills in defaults of a decoded object.
    pub(crate) default: fn(&mut Value),
    /// What the real server's own type of the kind leaves in an object of which nothing was set.
    pub(crate) blank: fn(&mut Value),
    /// Prepares a new object: what the strategy and admission set.
    pub(crate) create: fn(&mut Value, &Setting<'_>),
    /// Prepares a changed object; the second is the old one.
    pub(crate) update: fn(&mut Value, &Value, &Setting<'_>),
    /// The rules for an object as such.
    pub(crate) validate: fn(&Value, &mut Faults),
    /// The rules for a new object only.
    pub(crate) validate_create: fn(&Value, &mut Faults),
    /// The rules for a change; the second is the old one.
    pub(crate) validate_update: fn(&Value, &Value, &mut Faults),
    /// The rules for a change of the status; the second is the old one.
    pub(crate) validate_status: fn(&Value, &Value, &mut Faults),
    /// What a writer is told beside the answer; the second is the old object, or null.
    pub(crate) warn: fn(&Value, &Value) -> Vec<String>,
    /// The rules for a change that not all releases have.
    pub(crate) validate_update_then: fn(&Value, &Value, Profile, &mut Faults),
}

/// What hooks may look at.
pub(crate) struct Setting<'a> {
    /// The time, as `metadata` writes it.
    pub(crate) now: &'a str,
    pub(crate) options: &'a ServerOptions,
    pub(crate) profile: Profile,
}

/// A field that field selectors accept.
pub(crate) struct Selectable {
    pub(crate) label: &'static str,
    pub(crate) pointers: Pointers,
}

/// Conversion between a resource and the one that stores its objects.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) stored: &'static Kind,
    pub(crate) from_stored: fn(&Value) -> Value,
    pub(crate) to_stored: fn(&Value) -> Value,
    /// Fields of the first level that are called otherwise: as they are stored, and as they are shown.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
}

/// Hooks that do nothing.
pub(crate) const NO_HOOKS: Hooks = Hooks {
    default: |_| {},
    blank: |_| {},
    create: |_, _| {},
    update: |_, _, _| {},
    validate: |_, _| {},
    validate_create: |_, _| {},
    validate_update: |_, _, _| {},
    validate_status: |_, _, _| {},
    warn: |_, _| Vec::new(),
    validate_update_then: |_, _, _, _| {},
};

/// A row to start from: an object of any form in the core group.
pub(crate) const PLAIN: Kind = Kind {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    singular: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    status: false,
    subresources: &[],
    name_rule: names::subdomain,
    generation: Generation::None,
    unconditional_update: true,
    create_on_update: false,
    deletes_collection: true,
    returns_deleted: false,
    meta_checked_twice: true,
    hooks: NO_HOOKS,
    selectable: &[],
    unknown_label: |label| {
        format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    },
    printer: &NAME_AND_AGE,
    review: None,
    view: None,
    caveat: None,
    deprecation: None,
    life: Life::ALWAYS,
};

/// All resources, in the order of discovery: that of the real server's groups, and of the names in them. Where a group
/// has several versions, the preferred one is first.
pub(crate) static KINDS: &[&Kind] = &[
    &CONFIG_MAP,
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
    /// `v1`, `storage.k8s.io/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether objects of that version are in this row's version.
    pub(crate) fn has_version(&self, api_version: &str) -> bool {
        match api_version.split_once('/') {
            Some((group, version)) => group == self.group && version == self.version,
            None => self.group.is_empty() && api_version == self.version,
        }
    }

    /// The row whose objects are stored: this one, or the one that it is a view of.
    pub(crate) fn stored(&'static self) -> &'static Kind {
        self.view.map_or(self, |view| view.stored)
    }

    /// The number of the stored resource.
    pub(crate) fn shelf(&'static self) -> usize {
        let stored = self.stored();
        KINDS
            .iter()
            .position(|k| std::ptr::eq(*k, stored))
            .expect("every stored kind is in the table")
    }

    /// The storage key of an object: namespace and name, as paths order them.
    pub(crate) fn key(&self, namespace: Option<&str>, name: &str) -> String {
        match namespace {
            Some(namespace) if self.namespaced => format!("{namespace}/{name}"),
            _ => name.to_owned(),
        }
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

impl Kind {
    /// The plural resource name as subject.
    pub(crate) fn resource(&self) -> Subject<'static> {
        Subject {
            group: self.group,
            kind: self.plural,
        }
    }

    /// The kind as subject: validation failures and delete preconditions name it instead of the resource.
    pub(crate) fn subject(&self) -> Subject<'static> {
        Subject {
            group: self.group,
            kind: self.kind,
        }
    }
}

impl Kind {
    /// What whoever uses the resource is told, where there is a better one.
    pub(crate) fn advice(&self, profile: Profile) -> Option<String> {
        let (since, instead) = self.deprecation.filter(|(since, _)| profile.is_since(*since))?;
        let version = self.api_version();
        Some(format!(
            "{version} {} is deprecated in v1.{since}+; use {instead}",
            self.kind
        ))
    }

    /// Where a field is by which objects can be selected, or the refusal to select by it.
    pub(crate) fn select_by(&self, label: &str) -> Result<Pointers, String> {
        let found = match label {
            "metadata.name" => Some(&["/metadata/name"] as Pointers),
            // Of the kinds without namespaces, those with a list of their own do not take it.
            "metadata.namespace" if self.namespaced || self.selectable.is_empty() => {
                Some(&["/metadata/namespace"] as Pointers)
            }
            label => {
                let mut fields = self.selectable.iter();
                fields
                    .find(|field| field.label == label)
                    .map(|field| field.pointers)
            }
        };
        found.ok_or_else(|| (self.unknown_label)(label))
    }

    /// Whether the resource has such a part.
    pub(crate) fn has(&self, part: Part) -> bool {
        match part {
            Part::Main => true,
            Part::Status => self.status,
            Part::Sub(sub) => self.subresources.contains(&sub),
        }
    }
}

impl Part {
    pub(crate) fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Main => None,
            Self::Status => Some("status"),
            Self::Sub(sub) => Some(sub.as_str()),
        }
    }
}

impl Subresource {
    const ALL: [Self; 6] = [
        Self::Approval,
        Self::Binding,
        Self::Eviction,
        Self::Finalize,
        Self::Scale,
        Self::Token,
    ];

    /// The subresource of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sub| sub.as_str() == name)
    }

    /// The last segment of its path.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Binding => "binding",
            Self::Finalize => "finalize",
            Self::Eviction => "eviction",
            Self::Scale => "scale",
            Self::Token => "token",
        }
    }
}
