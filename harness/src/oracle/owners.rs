//! The publisher's pod and its owners. The owner at a configured level owns the publisher's CSIStorageCapacity objects.

use std::collections::BTreeMap;

use capacity_spec::world::Owner;
use serde_json::Value;

use crate::journal::{Change, CommitFact};
use crate::plan::NAMESPACE;

/// Pods and their owners in the publisher's namespace.
#[derive(Default)]
pub(super) struct Owners {
    /// The existing pods and owners by UID.
    known: BTreeMap<String, PodOrOwner>,
}

/// A pod in the publisher's namespace, or an owner of such a pod.
struct PodOrOwner {
    owner: Owner,
    /// UID of the object's controller owner.
    owner_uid: Option<String>,
    /// `spec.nodeName` of a pod.
    node: Option<String>,
}

impl Owners {
    pub(super) fn commit(&mut self, commit: &CommitFact) {
        let is_relevant = matches!(
            &*commit.resource,
            "pods" | "replicasets" | "daemonsets" | "deployments"
        );
        if !is_relevant || commit.namespace.as_deref() != Some(NAMESPACE) || commit.change == Change::Modified
        {
            return;
        }
        let metadata = &commit.object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if commit.change == Change::Deleted {
            self.known.remove(&text(&metadata["uid"]));
            return;
        }
        let owner = Owner {
            kind: text(&commit.object["kind"]),
            name: commit.name.clone(),
            uid: text(&metadata["uid"]),
            controller: true,
        };
        let owner_uid = metadata["ownerReferences"][0]["uid"].as_str().map(str::to_owned);
        let node = commit.object["spec"]["nodeName"].as_str().map(str::to_owned);
        self.known.insert(
            owner.uid.clone(),
            PodOrOwner {
                owner,
                owner_uid,
                node,
            },
        );
    }

    /// The owner `hops` levels above the publisher's pod on the node, or above the central publisher's pod if `node` is None.
    pub(super) fn owner_above_pod(&self, node: Option<&str>, hops: u8) -> Option<Owner> {
        let is_on_node = |pod: &PodOrOwner| node.is_none() || pod.node.as_deref() == node;
        let mut all = self.known.values();
        let mut found = all.find(|it| it.owner.kind == "Pod" && is_on_node(it))?;
        for _ in 0..hops {
            found = self.known.get(found.owner_uid.as_ref()?)?;
        }
        Some(found.owner.clone())
    }
}
