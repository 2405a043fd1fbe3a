//! Actions that the harness performs in a step, with all names resolved.

use std::collections::BTreeMap;

use capacity_types::capacity_api::RESOURCE;
use capacity_types::{Labels, Segment};
use fake_apiserver::{Release, ResourceRef};
use fake_csi::{Method, Reservation, Storage};
use serde_json::Value;

use super::group_resource::GroupResource;
use crate::scenario::{ApplySpec, Expression, PublisherSpec, ReplaceSpec, ResponseSpec, Role, SchedulerSpec};

/// One action of the harness, with complete objects. Only targets that are selected by labels, or by class and segment, are looked up at
/// run time.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Set the pool of a topology segment; None removes the pool.
    SetPool(Segment, Option<Storage>),
    /// Create an object.
    Create(Value),
    /// Apply a JSON merge patch.
    Merge(Target, Value),
    /// Replace an object (PUT).
    Replace(ReplaceSpec),
    /// Send a server-side apply request.
    Apply(ApplySpec),
    /// Delete an object.
    Delete(Target),
    /// Start the driver on a node: open its endpoint and, in distributed mode, start a publisher on the node.
    DriverUp(String, Segment),
    /// Stop the driver on a node.
    DriverDown(String),
    /// Add the driver with these topology keys to `spec.drivers` of a node's CSINode; None removes the driver.
    Registration(String, Option<Vec<String>>),
    /// Inject a fault rule into the driver.
    DriverFault {
        /// The `id` of the fault in the case.
        id: Option<String>,
        /// The fault rule.
        rule: fake_csi::Rule,
    },
    /// Remove the driver fault with this `id`.
    RemoveDriverFault(String),
    /// Call the driver.
    CsiCall(CsiCall),
    /// Read from API discovery in which versions the API server serves a resource.
    Discover(GroupResource),
    /// Publish the volumes of the pod with this name, as the kubelet on its node does.
    Mount(String),
    /// Reserve devices in the driver, as a scheduler extender does.
    Reserve(Reservation),
    /// End the reservation with this name.
    Unreserve(String),
    /// Stop all programs of a role.
    Stop(Role),
    /// Start the programs of a stopped role.
    Start(Role),
    /// Restart the publisher with these settings.
    RestartPublisher(PublisherSpec),
    /// Restart the scheduler with these settings.
    RestartScheduler(SchedulerSpec),
    /// Inject a fault rule into the API server, and optionally kill the client whose request matches the rule.
    Fault {
        /// The `id` of the fault in the case.
        id: String,
        /// The fault rule.
        rule: fake_apiserver::Rule,
        /// Whether to kill the client whose request matches.
        kills: bool,
    },
    /// Remove the API server fault with this `id`.
    RemoveFault(String),
    /// Make the API server emulate this release with these feature gates.
    Release(Release, BTreeMap<String, bool>),
    /// Perform the inner action. An error response of the API server does not fail the case.
    Attempt(Box<Action>),
}

impl Action {
    /// Whether earlier versions of the harness wrote this timeline text for the action. Journals with such texts are readable until 1.0.
    pub(crate) fn has_old_text(&self, text: &str) -> bool {
        match self {
            Action::DriverFault { .. } => text.starts_with("the driver is told: "),
            Action::RemoveDriverFault(_) => text.starts_with("the driver no longer does as "),
            _ => false,
        }
    }

    /// The resource that this action writes to the API server. None if the action writes no objects.
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

/// The existing objects that an action patches or deletes.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// The object with this resource, namespace and name.
    Named {
        /// Plural resource name.
        resource: String,
        /// Namespace, for namespaced resources.
        namespace: Option<String>,
        /// metadata.name.
        name: String,
    },
    /// All objects of a resource with these labels; an empty set of labels selects all objects.
    Labelled(Labelled),
    /// The CSIStorageCapacity objects of a class and segment.
    Capacity {
        /// storageClassName.
        class: String,
        /// The topology segment, spelled as in case files.
        segment: String,
    },
}

/// Selects API objects of one resource by their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// Plural resource name.
    pub resource: String,
    /// Selects only objects in this namespace; None: in all namespaces.
    pub namespace: Option<String>,
    /// Labels that a selected object must have.
    pub labels: Labels,
}

impl Labelled {
    /// Whether the label selection contains the object. `namespace`: the object's namespace; empty for a cluster-scoped object.
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

/// A CSI call that the harness makes, and the name under which the case refers to the response.
#[derive(Debug, Clone, PartialEq)]
pub struct CsiCall {
    /// Name of the response in the case.
    pub name: String,
    /// StorageClass of the requested capacity or volume.
    pub class: Option<String>,
    /// Topology segment of the requested capacity or volume.
    pub segment: Option<Segment>,
    /// The method and its arguments.
    pub kind: CsiCallKind,
    /// The call is repeated until its response satisfies this condition.
    pub until: ResponseSpec,
}

/// The method and arguments of a CSI call. Values of earlier responses are inserted at run time.
#[derive(Debug, Clone, PartialEq)]
pub enum CsiCallKind {
    /// A call of this CSI method without arguments.
    Plain(Method),
    /// GetCapacity with these parameters.
    Capacity(BTreeMap<String, String>),
    /// CreateVolume with this name, this size and these parameters.
    Create {
        /// Name of the volume.
        volume: String,
        /// Requested size (`required_bytes`).
        size: Expression,
        /// Parameters of the StorageClass, and additional parameters of the call.
        parameters: BTreeMap<String, String>,
    },
    /// Calls DeleteVolume for the volume that the CreateVolume call with this volume name returned.
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
