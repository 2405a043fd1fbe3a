//! What the harness does in a step, with every name resolved.

use std::collections::BTreeMap;

use capacity_types::capacity_api::RESOURCE;
use capacity_types::{Labels, Segment};
use fake_apiserver::{Release, ResourceRef};
use fake_csi::{Method, Reservation, Storage};
use serde_json::Value;

use super::group_resource::GroupResource;
use crate::scenario::{AnswerSpec, ApplySpec, Expression, PublisherSpec, ReplaceSpec, Role, SchedulerSpec};

/// One thing the harness does. Objects are complete; only what names an object by its content is resolved when it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Change or remove a pool.
    Pool(Segment, Option<Storage>),
    /// Create an object.
    Create(Value),
    /// Apply a JSON merge patch.
    Merge(Target, Value),
    /// Replace an object.
    Replace(ReplaceSpec),
    /// Server-side apply.
    Apply(ApplySpec),
    /// Delete an object.
    Delete(Target),
    /// The driver starts on a node: a new endpoint, and with it a publisher in distributed mode.
    DriverUp(String, Segment),
    /// The driver ends on a node.
    DriverDown(String),
    /// Add to (or take from) the drivers of a CSINode.
    Registration(String, Option<Vec<String>>),
    /// The driver fails by a rule, perhaps under the case's name for it.
    Script {
        /// The case's name for it.
        id: Option<String>,
        /// What fails.
        rule: fake_csi::Rule,
    },
    /// The script of that name is over.
    Unscript(String),
    /// Call the driver.
    CsiCall(CsiCall),
    /// Ask the API server in which versions it serves a resource.
    Discover(GroupResource),
    /// Publish the volumes of a pod, by its name, as the kubelet of its node does.
    Mount(String),
    /// Hold devices as an extender does.
    Reserve(Reservation),
    /// Release them.
    Unreserve(String),
    /// Stop a role.
    Stop(Role),
    /// Start a role again.
    Start(Role),
    /// Start the publisher anew with these settings.
    Republish(PublisherSpec),
    /// Start the scheduler anew with these settings.
    Reschedule(SchedulerSpec),
    /// The API server fails by a rule, under the case's name for it; perhaps the client that meets it is killed.
    Fault {
        /// The case's name for it.
        id: String,
        /// What fails.
        rule: fake_apiserver::Rule,
        /// Whether the client that meets it is killed.
        kills: bool,
    },
    /// The fault of that name is over.
    Unfault(String),
    /// The API server becomes a release with these gates.
    Release(Release, BTreeMap<String, bool>),
    /// Do it; a refusal is an answer like another.
    Attempt(Box<Action>),
}

impl Action {
    /// The resource that it writes to; none: it is no write to the API.
    pub fn resource(&self) -> Option<String> {
        match self {
            Action::Create(object) => Some(ResourceRef::plural_of(object)?.to_owned()),
            Action::Replace(ReplaceSpec { object, .. }) | Action::Apply(ApplySpec { object, .. }) => {
                Some(ResourceRef::plural_of(object)?.to_owned())
            }
            Action::Merge(target, _) | Action::Delete(target) => Some(target.resource().to_owned()),
            Action::Registration(..) => Some("csinodes".to_owned()),
            Action::Attempt(action) => action.resource(),
            _ => None,
        }
    }
}

/// An existing object.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// By resource, namespace and name.
    Named {
        /// Plural resource name.
        resource: String,
        /// Namespace, where there is one.
        namespace: Option<String>,
        /// Name.
        name: String,
    },
    /// All that have certain labels, which may be none.
    Labelled(Labelled),
    /// The CSIStorageCapacity objects of that class and segment.
    Capacity {
        /// storageClassName.
        class: String,
        /// The segment, as cases write it.
        segment: String,
    },
}

/// Objects by their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// Plural resource name.
    pub resource: String,
    /// Only in that namespace.
    pub namespace: Option<String>,
    /// The labels.
    pub labels: Labels,
}

impl Labelled {
    /// Whether an object of the resource is one of them. `namespace`: where it is; empty: in none.
    pub fn means(&self, namespace: &str, object: &Value) -> bool {
        let own = &object["metadata"]["labels"];
        let mut labels = self.labels.iter();
        let is_there = self.namespace.as_ref().is_none_or(|wanted| wanted == namespace);
        is_there && labels.all(|(label, value)| own[label] == value.as_str())
    }
}

impl Target {
    /// Plural resource name.
    pub fn resource(&self) -> &str {
        match self {
            Target::Named { resource, .. } | Target::Labelled(Labelled { resource, .. }) => resource,
            Target::Capacity { .. } => RESOURCE,
        }
    }
}

/// A call under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct CsiCall {
    /// The case's name for its answer.
    pub name: String,
    /// The class that it is about.
    pub class: Option<String>,
    /// The segment that it is about.
    pub segment: Option<Segment>,
    /// The call.
    pub kind: CsiCallKind,
    /// What its figures have to become, if anything.
    pub until: AnswerSpec,
}

/// The call. Figures of earlier answers are filled in when it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum CsiCallKind {
    /// A call without arguments, by its method.
    Plain(Method),
    /// GetCapacity with these parameters.
    Capacity(BTreeMap<String, String>),
    /// CreateVolume.
    Create {
        /// Its name.
        volume: String,
        /// required_bytes.
        size: Expression,
        /// Parameters of the class, and more.
        parameters: BTreeMap<String, String>,
    },
    /// DeleteVolume of what CreateVolume answered under that name.
    Delete(String),
}

impl CsiCallKind {
    /// The CSI method.
    pub fn method(&self) -> Method {
        match self {
            CsiCallKind::Plain(method) => *method,
            CsiCallKind::Capacity(_) => Method::GetCapacity,
            CsiCallKind::Create { .. } => Method::CreateVolume,
            CsiCallKind::Delete(_) => Method::DeleteVolume,
        }
    }
}
