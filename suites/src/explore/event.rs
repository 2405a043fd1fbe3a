//! Events in a generated cluster: the generated subset of the case format's actions.

use std::collections::BTreeMap;

use harness::plan::FaultSpec;
use harness::scenario::Role;
use harness::standalone::CsiRuleText;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cluster::{Capacity, Class, Labels, Node, Pool, Scheduler, Size};

pub(super) const CAPACITY_KIND: &str = "CSIStorageCapacity";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Event {
    /// Changes storage pools by topology segment; `None` removes the pool.
    Backend(BTreeMap<String, Option<Pool>>),
    Node(NodeEvent),
    Class(ClassEvent),
    CsiDriver(CsiDriverEvent),
    Pod(Pod),
    Claim(Claim),
    Capacity(CapacityEvent),
    /// Another client creates this object, valid or invalid.
    Object(Value),
    Merge(CapacityPatch),
    Replace(CapacityReplacement),
    Delete(DeleteEvent),
    DriverFault(Box<CsiRuleText<String>>),
    RemoveDriverFault(String),
    Stop(Role),
    Start(Role),
    Scheduler(Scheduler),
    Fault(Box<FaultSpec>),
    RemoveFault(String),
    Release(Release),
}

/// A node is added, removed or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NodeEvent {
    Join(Node),
    Leave(String),
    Relabel { name: String, labels: Labels },
    Register(String),
    Unregister(String),
}

/// A class is created or deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ClassEvent {
    Create(Class),
    Delete(String),
}

/// The CSIDriver object is created, deleted or changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CsiDriverEvent {
    StorageCapacity(bool),
    Delete,
    Create(Option<bool>),
}

/// Another client writes a capacity object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CapacityEvent {
    Create(Capacity),
    Edit {
        class: String,
        segment: String,
        merge: Value,
    },
    Delete {
        class: String,
        segment: String,
    },
}

/// Another client patches a capacity object by name, validly or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CapacityPatch {
    pub(super) resource: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) merge: Value,
}

/// Another client replaces a capacity object, which may not exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CapacityReplacement {
    pub(super) object: Value,
    /// The resourceVersion to write; unset: the current resourceVersion of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource_version: Option<String>,
}

/// A pod, a claim, or another object is deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum DeleteEvent {
    Pod(String),
    Claim(String),
    Object(ObjectName),
}

/// An API object, identified by resource, namespace and name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectName {
    pub(super) resource: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl ObjectName {
    /// Whether the object is a Node or a CSINode.
    pub(super) fn is_of_node(&self) -> bool {
        matches!(self.resource.as_str(), "nodes" | "csinodes")
    }
}

/// A pod with its claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pod {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) claims: Vec<Claim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) ephemeral: Vec<Claim>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) node_selector: BTreeMap<String, String>,
    /// The driver of an inline volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inline: Option<String>,
}

/// A claim. In a pod, a claim with only a name refers to an existing claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<Size>,
    /// Volume mode, `Block`; unset: `Filesystem`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<String>,
    /// Name of the claim whose volume is cloned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) copy_of: Option<String>,
}

/// The API server changes its release or its feature gates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Release {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) gates: BTreeMap<String, bool>,
}

impl Event {
    /// The claims that the pod creates or mounts.
    pub(super) fn claims(&self) -> impl Iterator<Item = &Claim> {
        let (own, ephemeral) = match self {
            Event::Pod(pod) => (pod.claims.as_slice(), pod.ephemeral.as_slice()),
            Event::Claim(claim) => (std::slice::from_ref(claim), &[][..]),
            _ => (&[][..], &[][..]),
        };
        own.iter().chain(ephemeral)
    }

    /// The event as an action of the case format. If the API server may reject the action, depending on release and state, as an `attempt`.
    pub(super) fn action(&self) -> Value {
        let action = json!(self);
        let may_be_refused = matches!(
            self,
            Event::CsiDriver(CsiDriverEvent::StorageCapacity(_))
                | Event::Capacity(CapacityEvent::Edit { .. } | CapacityEvent::Delete { .. })
                | Event::Object(_)
                | Event::Merge(_)
                | Event::Replace(_)
                | Event::Delete(DeleteEvent::Object(_))
        );
        match may_be_refused {
            true => json!({"attempt": action}),
            false => action,
        }
    }
}

impl NodeEvent {
    /// The name of the added, removed or changed node.
    pub(super) fn name(&self) -> &String {
        match self {
            NodeEvent::Join(node) => &node.name,
            NodeEvent::Leave(name) | NodeEvent::Register(name) | NodeEvent::Unregister(name) => name,
            NodeEvent::Relabel { name, .. } => name,
        }
    }
}

/// Whether a fault of the API server has no end or kills a program. Until the fault is removed or the program is restarted, the
/// specification demands nothing.
pub(super) fn is_lasting_fault(fault: &FaultSpec) -> bool {
    fault.kill || fault.times.is_none()
}

/// Whether calls to the driver are cut or hang until the rule is removed. False for a rule that lets only the calls for one segment hang,
/// because calls for other segments are served.
pub(super) fn blocks_driver_calls(rule: &CsiRuleText<String>) -> bool {
    let is_of_all = rule.cut.is_some() || rule.hang && rule.segment.is_none();
    rule.times.is_none() && is_of_all
}
