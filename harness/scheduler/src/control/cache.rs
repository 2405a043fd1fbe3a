//! The objects from the watches, and the changes that each watch event causes.
//!
//! Also knows which pods are pending for this scheduler. [`super::hints`] decides which pods a change may help.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::watch_event::{Update, WatchEvent};
use crate::node_pods::NodePods;
use crate::objects::{
    Capacity, Claim, Class, CsiNode, Driver, Node, Object, ObjectKey, Pod, Volume, VolumeAttachment,
};
use crate::snapshot::{Snapshot, Unreadable};
use crate::store::{Collection, Store};

/// The cluster as delivered by the watches, with the pods that are pending for this scheduler.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) snapshot: Snapshot,
    scheduler_name: String,
    pods: Store<Pod>,
    lists: ListProgress,
}

/// For each watch, whether its list is complete.
#[derive(Debug, Default)]
struct ListProgress {
    pods: ListInProgress,
    nodes: ListInProgress,
    claims: ListInProgress,
    volumes: ListInProgress,
    classes: ListInProgress,
    drivers: ListInProgress,
    capacities: ListInProgress,
    csi_nodes: ListInProgress,
    attachments: ListInProgress,
    namespaces: ListInProgress,
}

/// An object before and after a change.
#[derive(Debug)]
pub(super) struct Delta<T> {
    pub(super) old: Option<Arc<T>>,
    pub(super) new: Option<Arc<T>>,
}

/// A change of the cluster for which pods may be requeued.
#[derive(Debug)]
pub(super) enum Change {
    /// A pod that is, or was, pending for this scheduler.
    Pod(Delta<Pod>),
    /// A pod was assigned to a node, or an assigned pod changed its labels or began to terminate.
    AssignedPodAdded,
    /// A pod was removed from a node, or an assigned pod reduced its requests, changed its labels or began to terminate.
    AssignedPodRemoved,
    Attachment(Delta<VolumeAttachment>),
    Namespace,
    CsiNode(Delta<CsiNode>),
    Node(Delta<Node>),
    Claim(Delta<Claim>),
    Volume(Delta<Volume>),
    Class(Delta<Class>),
    Driver(Delta<Driver>),
    Capacity(Delta<Capacity>),
}

impl Cache {
    pub(super) fn new(scheduler_name: &str) -> Self {
        Self {
            snapshot: Snapshot::default(),
            scheduler_name: scheduler_name.to_owned(),
            pods: Store::default(),
            lists: ListProgress::default(),
        }
    }

    /// Whether every watch has delivered its first complete list. Until then, existing objects are missing from the cache.
    pub(super) fn is_complete(&self) -> bool {
        let ListProgress {
            pods,
            nodes,
            claims,
            volumes,
            classes,
            drivers,
            capacities,
            csi_nodes,
            attachments,
            namespaces,
        } = &self.lists;
        let all = [
            pods,
            nodes,
            claims,
            volumes,
            classes,
            drivers,
            capacities,
            csi_nodes,
            attachments,
            namespaces,
        ];
        all.iter().all(|list| list.was_complete)
    }

    /// Whether the pod with this UID is pending for this scheduler.
    pub(super) fn is_pending(&self, pod: &Pod) -> bool {
        self.pods
            .stored(&pod.key)
            .is_some_and(|found| found.uid == pod.uid && is_pending_for(&self.scheduler_name, found))
    }

    pub(super) fn apply(&mut self, update: Update) -> Vec<Change> {
        let Self {
            snapshot,
            scheduler_name,
            pods,
            lists,
        } = self;
        match update {
            Update::Pod(event) => {
                let deltas = lists.pods.apply(pods, event);
                let node_pods = &mut snapshot.pods;
                deltas
                    .into_iter()
                    .flat_map(|delta| pod_changes(node_pods, scheduler_name, delta))
                    .collect()
            }
            Update::CsiNode(event) => changes(
                lists.csi_nodes.apply(&mut snapshot.csi_nodes, event),
                Change::CsiNode,
            ),
            Update::Attachment(event) => changes(
                lists.attachments.apply(&mut snapshot.attachments, event),
                Change::Attachment,
            ),
            Update::Namespace(event) => {
                changes(lists.namespaces.apply(&mut snapshot.namespaces, event), |_| {
                    Change::Namespace
                })
            }
            Update::Node(event) => changes(lists.nodes.apply(&mut snapshot.nodes, event), Change::Node),
            Update::Claim(event) => changes(lists.claims.apply(&mut snapshot.claims, event), Change::Claim),
            Update::Volume(event) => {
                changes(lists.volumes.apply(&mut snapshot.volumes, event), Change::Volume)
            }
            Update::Class(event) => changes(lists.classes.apply(&mut snapshot.classes, event), Change::Class),
            Update::Driver(event) => {
                update_unreadable(&mut snapshot.unreadable_drivers, &event);
                changes(lists.drivers.apply(&mut snapshot.drivers, event), Change::Driver)
            }
            Update::Capacity(event) => {
                update_unreadable(&mut snapshot.unreadable_capacities, &event);
                let deltas = lists.capacities.apply(&mut snapshot.capacities, event);
                changes(deltas, Change::Capacity)
            }
        }
    }
}

fn changes<T>(deltas: Vec<Delta<T>>, wrap: fn(Delta<T>) -> Change) -> Vec<Change> {
    deltas.into_iter().map(wrap).collect()
}

/// Updates the assigned pods, and returns the changes of pending and assigned pods.
fn pod_changes(node_pods: &mut NodePods, scheduler_name: &str, delta: Delta<Pod>) -> Vec<Change> {
    let Delta { old, new } = delta;
    if let Some(replaced) = &old
        && new.as_ref().is_none_or(|new| new.uid != replaced.uid)
    {
        node_pods.remove(&replaced.uid);
    }
    if let Some(new) = &new {
        node_pods.observe(new);
    }
    let mut changes = Vec::new();
    let on_node = |pod: &Option<Arc<Pod>>| pod.clone().filter(|pod| pod.node.is_some());
    let (added, removed) = match (on_node(&old), on_node(&new)) {
        (None, None) => (false, false),
        (None, Some(_)) => (true, false),
        (Some(_), None) => (false, true),
        (Some(before), Some(after)) => {
            let differs = before.labels != after.labels || before.deleting != after.deleting;
            (differs, differs || before.requests.exceeds(&after.requests))
        }
    };
    if added {
        changes.push(Change::AssignedPodAdded);
    }
    if removed {
        changes.push(Change::AssignedPodRemoved);
    }
    let pending = |pod: Option<Arc<Pod>>| pod.filter(|pod| is_pending_for(scheduler_name, pod));
    let (old, new) = (pending(old), pending(new));
    if old.is_some() || new.is_some() {
        changes.push(Change::Pod(Delta { old, new }));
    }
    changes
}

/// Updates the set of objects that exist but cannot be parsed, from a watch event.
fn update_unreadable<T: Object>(unreadable: &mut Unreadable, event: &WatchEvent<T>) {
    match event {
        // A new list reports an unreadable object again if it still exists.
        WatchEvent::ListBegins => unreadable.clear(),
        WatchEvent::Listed(object) | WatchEvent::Changed(object) => drop(unreadable.remove(object.key())),
        WatchEvent::Deleted(key) => drop(unreadable.remove(key)),
        WatchEvent::Unreadable(key, problem) => drop(unreadable.insert(key.clone(), problem.clone())),
        WatchEvent::ListEnds => {}
    }
}

fn is_pending_for(scheduler_name: &str, pod: &Pod) -> bool {
    pod.scheduler_name == scheduler_name
        && pod.node.is_none()
        && !pod.deleting
        && !pod.terminated
        && !pod.gated
}

/// Records which objects a list of a watch contains: when the list is complete, every cached object missing from the list was deleted.
#[derive(Debug, Default)]
struct ListInProgress {
    /// Keys in the list in progress. `None` if no list is in progress.
    seen_keys: Option<BTreeSet<ObjectKey>>,
    was_complete: bool,
}

impl ListInProgress {
    fn apply<T: Object>(&mut self, objects: &mut impl Collection<T>, event: WatchEvent<T>) -> Vec<Delta<T>> {
        match event {
            WatchEvent::ListBegins => {
                self.seen_keys = Some(BTreeSet::new());
                Vec::new()
            }
            WatchEvent::Listed(object) => {
                if let Some(seen_keys) = &mut self.seen_keys {
                    seen_keys.insert(object.key().clone());
                }
                vec![put(objects, object)]
            }
            WatchEvent::Changed(object) => vec![put(objects, object)],
            WatchEvent::Deleted(key) | WatchEvent::Unreadable(key, _) => {
                take(objects, &key).into_iter().collect()
            }
            WatchEvent::ListEnds => {
                self.was_complete = true;
                let seen_keys = self.seen_keys.take().unwrap_or_default();
                let deleted = objects.keys().into_iter().filter(|key| !seen_keys.contains(key));
                deleted
                    .collect::<Vec<_>>()
                    .iter()
                    .filter_map(|key| take(objects, key))
                    .collect()
            }
        }
    }
}

fn put<T: Object>(objects: &mut impl Collection<T>, object: Arc<T>) -> Delta<T> {
    let old = objects.put(Arc::clone(&object));
    Delta {
        old,
        new: Some(object),
    }
}

fn take<T: Object>(objects: &mut impl Collection<T>, key: &ObjectKey) -> Option<Delta<T>> {
    let old = objects.take(key)?;
    Some(Delta {
        old: Some(old),
        new: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, scheduler: &str, node: Option<&str>) -> Arc<Pod> {
        let source = json!({
            "metadata": {"name": name, "namespace": "ns", "uid": name},
            "spec": {"schedulerName": scheduler, "nodeName": node, "containers": []},
        });
        Arc::new(Pod::read(&serde_json::from_value(source).unwrap()).unwrap())
    }

    /// Formats each change as `old>new`, by object name.
    fn format_changes(changes: &[Change]) -> Vec<String> {
        let name = |pod: &Option<Arc<Pod>>| pod.as_ref().map_or_else(String::new, |pod| pod.key.name.clone());
        let named = changes.iter().map(|change| match change {
            Change::Pod(delta) => format!("{}>{}", name(&delta.old), name(&delta.new)),
            Change::AssignedPodAdded => "added".to_owned(),
            Change::AssignedPodRemoved => "removed".to_owned(),
            other => panic!("unexpected {other:?}"),
        });
        named.collect()
    }

    #[test]
    fn a_second_list_removes_objects_that_it_does_not_contain() {
        let mut cache = Cache::new("ours");
        let mut deliver = |event| cache.apply(Update::Pod(event));
        deliver(WatchEvent::ListBegins);
        deliver(WatchEvent::Listed(pod("a", "ours", None)));
        deliver(WatchEvent::Listed(pod("b", "ours", None)));
        assert!(deliver(WatchEvent::ListEnds).is_empty());
        deliver(WatchEvent::ListBegins);
        deliver(WatchEvent::Listed(pod("b", "ours", None)));
        assert_eq!(format_changes(&deliver(WatchEvent::ListEnds)), ["a>"]);
    }

    #[test]
    fn only_pods_pending_for_this_scheduler_are_reported() {
        let mut cache = Cache::new("ours");
        let mut deliver = |pod| cache.apply(Update::Pod(WatchEvent::Changed(pod)));
        assert!(deliver(pod("a", "another", None)).is_empty());
        assert_eq!(format_changes(&deliver(pod("a", "ours", Some("n1")))), ["added"]);
        assert_eq!(
            format_changes(&deliver(pod("a", "ours", None))),
            ["removed", ">a"]
        );
        assert_eq!(
            format_changes(&deliver(pod("a", "ours", Some("n1")))),
            ["added", "a>"]
        );
    }
}
