//! What can happen in a drawn cluster: the actions of a case, as far as they are drawn, each in the words of the case format.

use std::collections::BTreeMap;

use harness::plan::FaultSpec;
use harness::scenario::Role;
use harness::standalone::CsiRuleText;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::world::{Capacity, Class, Labels, Node, Pool, Scheduler, Size};

/// The kind of capacity objects.
pub(super) const CAPACITY_KIND: &str = "CSIStorageCapacity";

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Event {
    /// Storage changes; none: the pool goes.
    Backend(BTreeMap<String, Option<Pool>>),
    Node(NodeEvent),
    Class(ClassEvent),
    CsiDriver(CsiDriverEvent),
    Pod(Pod),
    Claim(Claim),
    Capacity(CapacityEvent),
    /// Another client creates an object as it stands here, legal or not.
    Object(Value),
    Merge(Merge),
    Replace(Replace),
    Delete(DeleteEvent),
    Csi(Box<CsiRuleText<String>>),
    Uncsi(String),
    Stop(Role),
    Start(Role),
    Scheduler(Scheduler),
    Fault(Box<FaultSpec>),
    Unfault(String),
    Release(Release),
}

/// A node comes, goes or changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NodeEvent {
    Join(Node),
    Leave(String),
    Relabel { name: String, labels: Labels },
    Register(String),
    Unregister(String),
}

/// A class comes or goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ClassEvent {
    Create(Class),
    Delete(String),
}

/// The CSIDriver object comes, goes or changes.
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

/// Another client changes a capacity object by its name, as is legal or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Merge {
    pub(super) resource: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) merge: Value,
}

/// Another client replaces a capacity object, which need not be there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replace {
    pub(super) object: Value,
    /// Unset: the version that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource_version: Option<String>,
}

/// A pod, a claim, or an object of another kind is deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum DeleteEvent {
    Pod(String),
    Claim(String),
    Object(Named),
}

/// An object by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Named {
    pub(super) resource: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Named {
    /// Whether it is the Node or the CSINode of a node.
    pub(super) fn is_of_node(&self) -> bool {
        matches!(self.resource.as_str(), "nodes" | "csinodes")
    }
}

/// A pod, with its claims.
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
    /// The driver of a volume that needs no claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) inline: Option<String>,
}

/// A claim; in a pod, one with a name alone is one that exists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<Size>,
    /// `Block`; unset: a filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<String>,
    /// The claim of whose volume a copy is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) copy_of: Option<String>,
}

/// The API server becomes another release, or has other gates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Release {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) gates: BTreeMap<String, bool>,
}

impl Event {
    /// The claims that it creates, or mounts.
    pub(super) fn claims(&self) -> impl Iterator<Item = &Claim> {
        let (own, ephemeral) = match self {
            Event::Pod(pod) => (pod.claims.as_slice(), pod.ephemeral.as_slice()),
            Event::Claim(claim) => (std::slice::from_ref(claim), &[][..]),
            _ => (&[][..], &[][..]),
        };
        own.iter().chain(ephemeral)
    }

    /// The action of a case. What the API server may refuse, by its release or because there is no such object, is tried.
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
    /// The node.
    pub(super) fn name(&self) -> &String {
        match self {
            NodeEvent::Join(node) => &node.name,
            NodeEvent::Leave(name) | NodeEvent::Register(name) | NodeEvent::Unregister(name) => name,
            NodeEvent::Relabel { name, .. } => name,
        }
    }
}

/// Whether a fault of the API server lasts, or kills, so that nothing can be said of what follows before it is over.
pub(super) fn lasts(fault: &FaultSpec) -> bool {
    fault.kill || fault.times.is_none()
}

/// Whether a fault of the driver lasts, so that the programs wait for an answer that does not come. Where one segment alone has none,
/// they go on.
pub(super) fn hangs(rule: &CsiRuleText<String>) -> bool {
    let is_of_all = rule.cut.is_some() || rule.hang && rule.segment.is_none();
    rule.times.is_none() && is_of_all
}
