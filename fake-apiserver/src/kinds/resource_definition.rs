//! The resource definition of one built-in resource.
//!
//! Owns the type of a resource definition, and properties derived from one definition. Does not know which definitions exist.

use super::columns::{Column, NAME_AND_AGE};
use super::hooks::{Hooks, NO_HOOKS, Paths};
use super::part::{Part, Subresource};
use crate::config::options::ServerOptions;
use crate::config::release::{Profile, ServedReleases};
use crate::machinery::names::{self, Messages};
use crate::machinery::selector::{Selectable, selectable};
use crate::machinery::status::GroupResource;
use crate::machinery::{json, versions};
use serde_json::Value;
use std::borrow::Cow;

/// One version of a built-in API resource: its names, verbs and strategy.
pub struct ResourceDefinition {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version, such as `v1`.
    pub version: &'static str,
    /// The kind in objects, such as `Pod`.
    pub kind: &'static str,
    /// The plural name, such as `pods`.
    pub plural: &'static str,
    /// The singular name, such as `pod`. `None`: the kind in lower case, as for all built-in resources.
    pub singular: Option<&'static str>,
    /// Short names that kubectl accepts, such as `po`.
    pub short_names: &'static [&'static str],
    /// Groups of resources that kubectl lists together, such as `all`.
    pub categories: &'static [&'static str],
    /// Whether the objects are namespaced; otherwise they are cluster-scoped.
    pub namespaced: bool,
    /// Whether the resource has a `/status` subresource. If so, writes to the main path do not change the status.
    pub status: bool,
    /// Subresources other than `status`.
    pub subresources: &'static [Subresource],
    /// Validates the names of objects; usually as DNS subdomain.
    pub name_rule: fn(&str) -> Messages,
    /// When `metadata.generation` is incremented.
    pub generation: Generation,
    /// JSON pointers to the fields whose change increments `metadata.generation`.
    pub generation_of: &'static [&'static str],
    /// Whether a create request may set the status: kubelets create nodes with their status.
    pub status_on_create: bool,
    /// How a write to `/status` treats `metadata`.
    pub status_metadata: StatusMetadata,
    /// Set for CRDs, whose objects define resources. The function marks a CRD as being deleted at the given time; a controller deletes the
    /// CRD after all objects of the defined resource.
    pub defines: Option<fn(&mut Value, &str)>,
    /// Paths of the fields that a write to `/status` does not change (`GetResetFields` of upstream's status strategy).
    pub status_resets: Paths,
    /// Paths of the fields that a write to the main path does not change (`GetResetFields`).
    pub main_resets: Paths,
    /// Whether PUT without a resourceVersion replaces the current object (`AllowUnconditionalUpdate`).
    pub unconditional_update: bool,
    /// Whether PUT of an object that does not exist creates it (`AllowCreateOnUpdate`).
    pub create_on_update: bool,
    /// Whether the resource supports `deletecollection`.
    pub deletes_collection: bool,
    /// Whether DELETE responds with the deleted object instead of a Status.
    pub returns_deleted: bool,
    /// Which checks the kind's own validation performs on an updated `metadata`.
    pub metadata_checks: MetadataChecks,
    /// Set if the default propagation policy is Orphan. The text is the warning that kube-apiserver sends if the delete request sets no
    /// policy; `None` if it sends no warning.
    pub orphans_by_default: Option<Option<&'static str>>,
    /// The grace period of a deletion in seconds, computed from the object, the options and `gracePeriodSeconds` of the request. Returns
    /// `None` for kinds without graceful deletion.
    pub grace: fn(&Value, &ServerOptions, Option<i64>) -> Option<i64>,
    /// Set for namespaces: marks an object as terminating while its content still exists.
    pub end: Option<fn(&mut Value)>,
    /// Names of objects that every cluster needs and that cannot be deleted.
    pub undeletable: &'static [&'static str],
    /// Whether objects expire after `ServerOptions::event_ttl`.
    pub expires: bool,
    /// JSON pointer to the object with the `metadata` and `spec` of a pod template; empty for pods. `None` for kinds without pod template.
    pub template: Option<&'static str>,
    /// Whether objects configure admission webhooks or policies. Requests for such objects are exempt from admission webhooks and policies.
    pub configures_admission: bool,
    /// The permissions that objects grant. RBAC's escalation check requires that the user who writes an object has these permissions.
    pub grants: Option<Grants>,
    /// The version in which kube-apiserver stores the objects, if it is not `version`.
    pub storage_version: Option<&'static str>,
    /// The path below `/registry` at which kube-apiserver stores the objects, if it is not the plural name. Error messages contain this
    /// path.
    pub registry: Option<&'static str>,
    /// Defaulting, preparation and validation.
    pub hooks: Hooks,
    /// The fields that field selectors support, in addition to name and namespace.
    pub selectable: &'static [Selectable],
    /// The error message for an unknown field label in a field selector.
    pub unknown_label: fn(&str) -> String,
    /// The columns of `kubectl get`.
    pub columns: &'static [Column],
    /// Set if objects are not stored: creating one performs an action or returns a response.
    pub unstored: Option<UnstoredAction>,
    /// Set if the objects are stored as objects of another resource: the conversion to and from that resource.
    pub view: Option<StorageConversion>,
    /// A warning to clients that create an object: in what respect this server does less than a cluster.
    pub caveat: Option<&'static str>,
    /// The minor release that deprecates the resource, and the resource that replaces it (empty if none).
    pub deprecation: Option<(u8, &'static str)>,
    /// The releases that serve the resource. For different releases, there may be several definitions with the same group, version and
    /// plural name.
    pub life: ServedReleases,
}

/// The effect of creating an object that is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnstoredAction {
    /// Binds the pod that the Binding names.
    Binding,
    /// Evaluates the review and responds with its status.
    Review(Review),
}

/// Which of the review kinds a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    /// SelfSubjectReview: returns the user of the request.
    SelfSubject,
    /// TokenReview: returns the user that a token authenticates.
    Token,
    /// SelfSubjectAccessReview: returns whether the user of the request may perform an action.
    SelfSubjectAccess,
    /// SubjectAccessReview: returns whether a given user may perform an action.
    SubjectAccess,
    /// LocalSubjectAccessReview: returns whether a given user may perform an action in one namespace.
    LocalSubjectAccess,
    /// SelfSubjectRulesReview: returns all permissions of the user of the request in a namespace.
    SelfSubjectRules,
}

/// How an RBAC object grants permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// A Role or ClusterRole: grants the permissions in its rules.
    Rules,
    /// A binding: grants the permissions of a role to its subjects.
    Role,
}

/// Which checks a kind's own validation performs on an updated `metadata`, in addition to the checks common to all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataChecks {
    /// Whether the checks are those of core/v1, which restrict finalizer names, instead of those of apimachinery.
    pub know_finalizers: bool,
    /// The `metadata` checks for writes to the object itself.
    pub main: MetadataPasses,
    /// The `metadata` checks for writes to `/status` and other subresources.
    pub status: MetadataPasses,
}

/// How often `metadata` is validated. Upstream repeats some checks and thereby also their errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataPasses {
    /// How often the checks of `metadata` run in one request.
    pub times: u8,
    /// Whether the last pass also compares `metadata` with the old object (`ValidateObjectMetaUpdate`).
    pub compare: bool,
}

impl MetadataChecks {
    /// The `metadata` checks of core/v1, which run `times` times for writes to the object itself.
    pub const fn core_v1_checks(times: u8) -> Self {
        Self {
            know_finalizers: true,
            main: MetadataPasses { times, compare: true },
            status: MetadataPasses {
                times: if times > 1 { 1 } else { times },
                compare: times == 1,
            },
        }
    }

    /// The `metadata` checks of apimachinery, which run `times` times for writes to the object itself.
    pub const fn apimachinery_checks(times: u8) -> Self {
        Self {
            know_finalizers: false,
            ..Self::core_v1_checks(times)
        }
    }

    /// A copy that does not compare `metadata` with the old object for writes to the object itself.
    pub const fn without_comparison(self) -> Self {
        Self {
            main: MetadataPasses {
                compare: false,
                ..self.main
            },
            ..self
        }
    }

    /// A copy with the given `times` and `compare` for writes to `/status` and other subresources.
    pub const fn with_status_passes(self, times: u8, compare: bool) -> Self {
        Self {
            status: MetadataPasses { times, compare },
            ..self
        }
    }
}

/// How a write to `/status` treats `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusMetadata {
    /// `metadata` is written together with the status.
    Written,
    /// Labels, annotations, finalizers and owner references retain their old values (`ResetObjectMetaForStatus`).
    Described,
    /// A write to `/status` does not change `metadata`.
    Unchanged,
}

/// When `metadata.generation` is incremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// `metadata.generation` is never set.
    None,
    /// The generation is 1 at creation and is incremented when the spec changes.
    FromCreation,
    /// The generation is unset at creation and is incremented when the spec changes.
    FromFirstChange,
}

/// Conversion between a resource and another resource that stores its objects.
#[derive(Clone, Copy)]
pub struct StorageConversion {
    /// The definition of the resource in whose table the objects are stored.
    pub stored: &'static ResourceDefinition,
    /// Converts a stored object to the version that clients read.
    pub from_stored: fn(&Value) -> Value,
    /// Converts an object that a client sends to the storage version.
    pub to_stored: fn(&Value) -> Value,
    /// Top-level fields with different names in the two versions: the name in the storage version, and the name in this version.
    pub renamed: &'static [(&'static str, &'static str)],
}

/// The base of all resource definitions: a namespaced resource of core/v1 without validation.
pub const PLAIN: ResourceDefinition = ResourceDefinition {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    singular: None,
    short_names: &[],
    categories: &[],
    namespaced: true,
    status: false,
    subresources: &[],
    name_rule: names::subdomain,
    generation: Generation::None,
    generation_of: &["/spec"],
    status_on_create: false,
    status_metadata: StatusMetadata::Written,
    defines: None,
    main_resets: &[&["status"]],
    status_resets: &[&["spec"]],
    unconditional_update: true,
    create_on_update: false,
    deletes_collection: true,
    returns_deleted: false,
    metadata_checks: MetadataChecks::core_v1_checks(1),
    orphans_by_default: None,
    grace: |_, _, _| None,
    end: None,
    undeletable: &[],
    expires: false,
    template: None,
    configures_admission: false,
    grants: None,
    storage_version: None,
    registry: None,
    hooks: NO_HOOKS,
    selectable: &[],
    unknown_label: |label| {
        format!("{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    },
    columns: NAME_AND_AGE,
    unstored: None,
    view: None,
    caveat: None,
    deprecation: None,
    life: ServedReleases::ALWAYS,
};

/// The error message for an unknown field label, for kinds that convert field labels by their own function.
pub fn not_supported(label: &str) -> String {
    format!("field label not supported: {label}")
}

/// The field label `metadata.name`, which field selectors support for all kinds.
pub(super) static NAME: Selectable = selectable("metadata.name", &["/metadata/name"]);
pub(super) static NAMESPACE: Selectable = selectable("metadata.namespace", &["/metadata/namespace"]);

impl ResourceDefinition {
    /// The apiVersion, such as `v1` or `storage.k8s.io/v1`.
    pub fn api_version(&self) -> String {
        versions::group_version(self.group, self.version)
    }

    pub(crate) fn has_version(&self, api_version: &str) -> bool {
        match api_version.split_once('/') {
            Some((group, version)) => group == self.group && version == self.version,
            None => self.group.is_empty() && api_version == self.version,
        }
    }

    /// Converts an object of this version to the storage version. The result has no `apiVersion`.
    pub(crate) fn to_stored(&self, document: Value) -> Value {
        let Some(view) = self.view else { return document };
        let mut stored = (view.to_stored)(&document);
        json::assign(&mut stored, "apiVersion", Value::Null);
        stored
    }

    /// The storage key of an object: `namespace/name`, or the name of cluster-scoped objects.
    pub fn key(&self, namespace: Option<&str>, name: &str) -> String {
        match namespace {
            Some(namespace) if self.namespaced => format!("{namespace}/{name}"),
            _ => name.to_owned(),
        }
    }
}

impl ResourceDefinition {
    /// The etcd key of the object in kube-apiserver, for error messages. In a dry run, the key has no `/registry` prefix, because the
    /// request does not reach etcd.
    pub(crate) fn registry_key(&self, key: &str, dry_run: bool) -> String {
        let root = if dry_run { "" } else { "/registry" };
        format!("{root}/{}/{key}", self.registry.unwrap_or(self.plural))
    }

    /// Whether the resource has the API group `group` and the plural name `plural`.
    pub fn is_resource(&self, group: &str, plural: &str) -> bool {
        self.plural == plural && self.group == group
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &'static str {
        self.group
    }

    /// The plural name, such as `pods`.
    pub fn plural(&self) -> &'static str {
        self.plural
    }

    /// The JSON pointer to the object with the metadata and spec of a pod template; empty for pods. `None` for other kinds.
    pub fn pod_template(&self) -> Option<&'static str> {
        self.template
    }

    /// The singular name, such as `pod`.
    pub(crate) fn singular(&self) -> Cow<'static, str> {
        match self.singular {
            Some(name) => name.into(),
            None => self.kind.to_lowercase().into(),
        }
    }

    /// Group and plural name, for the details of a Status.
    pub fn group_resource(&self) -> GroupResource<'static> {
        GroupResource {
            group: self.group,
            kind: self.plural,
        }
    }

    /// Group and kind, which validation errors and failed delete preconditions contain instead of the resource.
    pub fn group_kind(&self) -> GroupResource<'static> {
        GroupResource {
            group: self.group,
            kind: self.kind,
        }
    }

    pub(super) fn deprecation_warning(&self, profile: Profile) -> Option<String> {
        let (since, instead) = self.deprecation.filter(|(since, _)| profile.is_since(*since))?;
        let version = self.api_version();
        let advice = match instead {
            "" => String::new(),
            instead => format!("; use {instead}"),
        };
        Some(format!(
            "{version} {} is deprecated in v1.{since}+{advice}",
            self.kind
        ))
    }

    /// The field that field selectors call `label`, such as `metadata.name`. The error is the message for an unknown label.
    pub(super) fn select_by(&self, label: &str) -> Result<Selectable, String> {
        let found = match label {
            "metadata.name" => Some(NAME),
            // Cluster-scoped kinds with their own list of field labels reject `metadata.namespace`.
            "metadata.namespace" if self.namespaced || self.selectable.is_empty() => Some(NAMESPACE),
            label => self.selectable.iter().find(|field| field.label == label).copied(),
        };
        found.ok_or_else(|| (self.unknown_label)(label))
    }

    /// Whether the resource has the subresource `part`. True for `Part::Main`, the object itself.
    pub(crate) fn has_part(&self, part: Part) -> bool {
        match part {
            Part::Main => true,
            Part::Status => self.status,
            Part::Sub(sub) => self.subresources.contains(&sub),
        }
    }
}
