//! What a row of the table of kinds is.
//!
//! Owns the form of a row, and what follows from one row alone. Does not know which rows there are.

use super::columns::{Column, NAME_AND_AGE};
use super::hooks::{Hooks, NO_HOOKS, Paths};
use super::part::{Part, Subresource};
use crate::config::options::ServerOptions;
use crate::config::release::{Life, Profile};
use crate::machinery::json;
use crate::machinery::names::{self, Complaints};
use crate::machinery::selector::{Selectable, selectable};
use crate::machinery::status::GroupResource;
use serde_json::Value;

/// One resource.
pub struct Row {
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
    /// Pointers to what says what is wanted, so that its change makes a new generation.
    pub(crate) generation_of: &'static [&'static str],
    /// A new object may bring a status along: nodes, which kubelets register with theirs.
    pub(crate) keeps_status: bool,
    /// What a write to `/status` does to `metadata`.
    pub(crate) status_metadata: StatusMetadata,
    /// Objects make resources of their own.
    pub(crate) defines: bool,
    /// Paths of the fields that a write to `/status` leaves alone, as `GetResetFields` of the real strategy has them.
    pub(crate) status_resets: Paths,
    /// The same of the object itself.
    pub(crate) main_resets: Paths,
    /// PUT without a resourceVersion replaces whatever is there.
    pub(crate) unconditional_update: bool,
    /// PUT of an object that does not exist creates it.
    pub(crate) create_on_update: bool,
    /// DELETE of the collection is served.
    pub(crate) deletes_collection: bool,
    /// DELETE answers with the object instead of a Status.
    pub(crate) returns_deleted: bool,
    /// What the kind's own rules say about `metadata` that changes.
    pub(crate) metadata_checks: MetadataChecks,
    /// Dependents stay where a deletion does not say what becomes of them; a warning to those who do not say so where the
    /// real server has one.
    pub(crate) orphans: Option<Option<&'static str>>,
    /// The grace period of a deletion in seconds, by the object and `gracePeriodSeconds` of the request; none for kinds
    /// without one.
    pub(crate) grace: fn(&Value, &ServerOptions, Option<i64>) -> Option<i64>,
    /// What marks an object that is being deleted and stays until its content has gone: namespaces.
    pub(crate) end: Option<fn(&mut Value)>,
    /// Names of objects that every cluster needs and that cannot be deleted.
    pub(crate) undeletable: &'static [&'static str],
    /// Objects are kept for a while only (`ServerOptions::event_ttl`).
    pub(crate) expires: bool,
    /// Where an object tells of a pod: a pointer to what has its metadata and its spec, empty for pods themselves.
    pub(crate) template: Option<&'static str>,
    /// Objects say who is asked about requests: webhooks and policies. They themselves are never asked about.
    pub(crate) registers: bool,
    /// What objects grant to users: a user can grant only permissions that they have themselves.
    pub(crate) grants: Option<Grants>,
    /// The version in which the real server stores objects, where it is another one.
    pub(crate) storage_version: Option<&'static str>,
    /// Where the real server stores objects, below `/registry`, if it is not by their plural name: its errors say so.
    pub(crate) registry: Option<&'static str>,
    pub(crate) hooks: Hooks,
    pub(crate) selectable: &'static [Selectable],
    /// How an unknown field label of a selector is reported.
    pub(crate) unknown_label: fn(&str) -> String,
    /// What `kubectl get` shows.
    pub(crate) columns: &'static [Column],
    /// Objects are not stored: to create one is to have it answered.
    pub(crate) unstored: Option<Unstored>,
    /// This resource shows another one's objects in its own form.
    pub(crate) view: Option<View>,
    /// A warning to clients that create an object: that it does less here than in a cluster.
    pub(crate) caveat: Option<&'static str>,
    /// Since which minor release another kind should be used, and which, if there is one.
    pub(crate) deprecation: Option<(u8, &'static str)>,
    /// The releases in which the row is served. Several rows may have the same place in the API, in different ones.
    pub(crate) life: Life,
}

/// What is done with an object that is never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unstored {
    /// The pod that it names is bound.
    Binding,
    /// It is answered.
    Review(Review),
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

/// What an object of rbac.authorization.k8s.io gives to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grants {
    /// The rules of a role.
    Rules,
    /// A role, to its subjects.
    Role,
}

/// What the rules of a kind say about `metadata` that changes, after those of all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetadataChecks {
    /// They are those of core/v1, which know the names of finalizers, and not those of the API machinery.
    pub(crate) know_finalizers: bool,
    /// At the object itself.
    pub(crate) main: Looks,
    /// At its `/status`, and its other subresources.
    pub(crate) status: Looks,
}

/// How rules look at `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looks {
    /// How often.
    pub(crate) times: u8,
    /// Whether the last look compares it with that of the old object.
    pub(crate) compare: bool,
}

impl MetadataChecks {
    /// The rules of core/v1 look so often.
    pub(super) const fn core(times: u8) -> Self {
        Self {
            know_finalizers: true,
            main: Looks { times, compare: true },
            status: Looks {
                times: if times > 1 { 1 } else { times },
                compare: times == 1,
            },
        }
    }

    /// Those of the API machinery do.
    pub(super) const fn machinery(times: u8) -> Self {
        Self {
            know_finalizers: false,
            ..Self::core(times)
        }
    }

    /// The same, but the object itself is not compared with the old one.
    pub(super) const fn alone(self) -> Self {
        Self {
            main: Looks {
                compare: false,
                ..self.main
            },
            ..self
        }
    }

    /// The same, but with other looks at `/status`.
    pub(super) const fn status(self, times: u8, compare: bool) -> Self {
        Self {
            status: Looks { times, compare },
            ..self
        }
    }
}

/// What a write to `/status` does to `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusMetadata {
    /// It is written, too.
    Written,
    /// What describes the object stays (`ResetObjectMetaForStatus`).
    Described,
    /// It all stays.
    Kept,
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

/// Conversion between a resource and the one that stores its objects.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) stored: &'static Row,
    pub(crate) from_stored: fn(&Value) -> Value,
    pub(crate) to_stored: fn(&Value) -> Value,
    /// Fields of the first level that are called otherwise: as they are stored, and as they are shown.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
}

/// A row to start from: an object of any form in the core group.
pub(crate) const PLAIN: Row = Row {
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
    generation_of: &["/spec"],
    keeps_status: false,
    status_metadata: StatusMetadata::Written,
    defines: false,
    main_resets: &[&["status"]],
    status_resets: &[&["spec"]],
    unconditional_update: true,
    create_on_update: false,
    deletes_collection: true,
    returns_deleted: false,
    metadata_checks: MetadataChecks::core(1),
    orphans: None,
    grace: |_, _, _| None,
    end: None,
    undeletable: &[],
    expires: false,
    template: None,
    registers: false,
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
    life: Life::ALWAYS,
};

/// Labels that kinds with a selector table of their own refuse.
pub(super) fn not_supported(label: &str) -> String {
    format!("field label not supported: {label}")
}

/// Fields by which objects of all kinds can be selected.
pub(super) static NAME: Selectable = selectable("metadata.name", &["/metadata/name"]);
pub(super) static NAMESPACE: Selectable = selectable("metadata.namespace", &["/metadata/namespace"]);

impl Row {
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

    /// A document without type and version in the form in which objects are stored.
    pub(crate) fn to_stored(&self, document: Value) -> Value {
        let Some(view) = self.view else { return document };
        let mut stored = (view.to_stored)(&document);
        json::assign(&mut stored, "apiVersion", Value::Null);
        stored
    }

    /// The storage key of an object: namespace and name, as paths order them.
    pub(crate) fn key(&self, namespace: Option<&str>, name: &str) -> String {
        match namespace {
            Some(namespace) if self.namespaced => format!("{namespace}/{name}"),
            _ => name.to_owned(),
        }
    }
}

impl Row {
    /// The key under which the real server stores an object, as its errors show it: a dry run does not come to the store.
    pub(crate) fn registry_key(&self, key: &str, dry_run: bool) -> String {
        let root = if dry_run { "" } else { "/registry" };
        format!("{root}/{}/{key}", self.registry.unwrap_or(self.plural))
    }

    /// Whether this is the resource of that API group and plural name.
    pub fn is(&self, group: &str, plural: &str) -> bool {
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

    /// The JSON pointer to the metadata and spec of a pod, empty for pods themselves; None for other kinds.
    pub fn pod_template(&self) -> Option<&'static str> {
        self.template
    }

    /// Group and plural name, for statuses.
    pub fn resource(&self) -> GroupResource<'static> {
        GroupResource {
            group: self.group,
            kind: self.plural,
        }
    }

    /// The kind as subject: validation failures and delete preconditions name it instead of the resource.
    pub fn subject(&self) -> GroupResource<'static> {
        GroupResource {
            group: self.group,
            kind: self.kind,
        }
    }

    /// The deprecation warning of a resource, where there is a newer one.
    pub(super) fn advice(&self, profile: Profile) -> Option<String> {
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

    /// The field of a label by which objects can be selected, or the refusal to select by it.
    pub(super) fn select_by(&self, label: &str) -> Result<Selectable, String> {
        let found = match label {
            "metadata.name" => Some(NAME),
            // Of the kinds without namespaces, those with a list of their own do not take it.
            "metadata.namespace" if self.namespaced || self.selectable.is_empty() => Some(NAMESPACE),
            label => self.selectable.iter().find(|field| field.label == label).copied(),
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
