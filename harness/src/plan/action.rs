//! Actions of the harness in a step, with every name resolved.

use std::collections::BTreeMap;

use capacity_types::capacity_api::RESOURCE;
use capacity_types::{Labels, Segment};
use fake_apiserver::{Release, ResourceRef};
use fake_csi::{Method, Reservation, Storage};
use serde_json::Value;

use super::group_resource::GroupResource;
use crate::scenario::{ApplySpec, Expression, PublisherSpec, ReplaceSpec, ResponseSpec, Role, SchedulerSpec};

/// One action of the harness. Objects are complete; only targets that are selected by content are resolved at run time.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Change the pool of a topology segment; None removes it.
    SetPool(Segment, Option<Storage>),
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
    /// Start the driver on a node: a new endpoint, and in distributed mode a publisher for it.
    DriverUp(String, Segment),
    /// Stop the driver on a node.
    DriverDown(String),
    /// Add the driver with these topology keys to `spec.drivers` of a CSINode; None removes it.
    Registration(String, Option<Vec<String>>),
    /// Inject a fault rule into the driver.
    DriverFault {
        /// The fault's name in the case.
        id: Option<String>,
        /// The fault rule.
        rule: fake_csi::Rule,
    },
    /// Remove the driver fault with this name.
    RemoveDriverFault(String),
    /// Call the driver.
    CsiCall(CsiCall),
    /// Discover the versions in which the API server serves a resource.
    Discover(GroupResource),
    /// Publish the volumes of the named pod, as the kubelet of its node does.
    Mount(String),
    /// Reserve devices in the driver, as a scheduler extender does.
    Reserve(Reservation),
    /// Release the reservation with this name.
    Unreserve(String),
    /// Stop a role.
    Stop(Role),
    /// Start a role again.
    Start(Role),
    /// Restart the publisher with these settings.
    RestartPublisher(PublisherSpec),
    /// Restart the scheduler with these settings.
    RestartScheduler(SchedulerSpec),
    /// Inject a fault rule into the API server, optionally killing the client whose request matches.
    Fault {
        /// The fault's name in the case.
        id: String,
        /// The fault rule.
        rule: fake_apiserver::Rule,
        /// Whether to kill the client whose request matches.
        kills: bool,
    },
    /// Remove the API server fault with this name.
    RemoveFault(String),
    /// Change the API server to this release and these feature gates.
    Release(Release, BTreeMap<String, bool>),
    /// Send the inner action's request; an error response from the API server is accepted.
    Attempt(Box<Action>),
}

impl Action {
    /// Whether the text is an old spelling of this action, read in stored journals until 1.0.
    pub(crate) fn has_old_text(&self, text: &str) -> bool {
        match self {
            Action::DriverFault { .. } => text.starts_with("the driver is told: "),
            Action::RemoveDriverFault(_) => text.starts_with("the driver no longer does as "),
            _ => false,
        }
    }

    /// The resource that this action writes to. None if it is no write to the API.
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
        /// Namespace, for namespaced resources.
        namespace: Option<String>,
        /// Name.
        name: String,
    },
    /// All objects with these labels; an empty set selects all.
    Labelled(Labelled),
    /// The CSIStorageCapacity objects of that class and segment.
    Capacity {
        /// storageClassName.
        class: String,
        /// The segment, as spelled in cases.
        segment: String,
    },
}

/// Objects selected by labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// Plural resource name.
    pub resource: String,
    /// Restricts the selection to this namespace.
    pub namespace: Option<String>,
    /// The labels.
    pub labels: Labels,
}

impl Labelled {
    /// Whether the selection contains the object. `namespace`: the object's namespace; empty if cluster-scoped.
    pub fn selects(&self, namespace: &str, object: &Value) -> bool {
        let own = &object["metadata"]["labels"];
        let mut labels = self.labels.iter();
        let is_in_namespace = self.namespace.as_ref().is_none_or(|wanted| wanted == namespace);
        is_in_namespace && labels.all(|(label, value)| own[label] == value.as_str())
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

/// A CSI call by the harness, with a name for its response.
#[derive(Debug, Clone, PartialEq)]
pub struct CsiCall {
    /// The name of the response in the case.
    pub name: String,
    /// The storage class that the call is about.
    pub class: Option<String>,
    /// The topology segment that the call is about.
    pub segment: Option<Segment>,
    /// The call.
    pub kind: CsiCallKind,
    /// Condition on the fields of the response until which the call is repeated.
    pub until: ResponseSpec,
}

/// A CSI call. Fields of earlier responses are filled in at run time.
#[derive(Debug, Clone, PartialEq)]
pub enum CsiCallKind {
    /// A call without arguments, by its method.
    Plain(Method),
    /// GetCapacity with these parameters.
    Capacity(BTreeMap<String, String>),
    /// CreateVolume.
    Create {
        /// Name of the volume.
        volume: String,
        /// required_bytes.
        size: Expression,
        /// Parameters of the class, and additional ones.
        parameters: BTreeMap<String, String>,
    },
    /// DeleteVolume for the volume of the CreateVolume response with this name.
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
