//! The objects that the watches have delivered, and what each event changes.
//!
//! Knows which pods await this scheduler. Knows no queue: [`super::hints`] says which pods a change may help.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::watch_event::{Update, WatchEvent};
use crate::objects::{Capacity, Claim, Class, CsiNode, Driver, Node, Object, ObjectKey, Pod, Volume};
use crate::snapshot::{Snapshot, Unreadable};
use crate::store::{Collection, Store};
use crate::usage::Usage;

/// The cluster as the watches deliver it, with its pods, of which some await a node from this scheduler.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) snapshot: Snapshot,
    scheduler_name: String,
    pods: Store<Pod>,
    csi_nodes: Store<CsiNode>,
    lists: Lists,
}

/// The state of each watch's list.
#[derive(Debug, Default)]
struct Lists {
    pods: List,
    nodes: List,
    claims: List,
    volumes: List,
    classes: List,
    drivers: List,
    capacities: List,
    csi_nodes: List,
}

/// One object before and after.
#[derive(Debug)]
pub(super) struct Delta<T> {
    pub(super) old: Option<Arc<T>>,
    pub(super) new: Option<Arc<T>>,
}

/// One change of the cluster.
#[derive(Debug)]
pub(super) enum Change {
    /// A pod that awaits a node from this scheduler, before or after.
    Pod(Delta<Pod>),
    /// A pod no longer takes anything of its node.
    Freed,
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
            csi_nodes: Store::default(),
            lists: Lists::default(),
        }
    }

    /// Whether every watch has delivered its first complete list. Deciding earlier would take the unknown for absent.
    pub(super) fn is_complete(&self) -> bool {
        let Lists {
            pods,
            nodes,
            claims,
            volumes,
            classes,
            drivers,
            capacities,
            csi_nodes,
        } = &self.lists;
        let all = [
            pods, nodes, claims, volumes, classes, drivers, capacities, csi_nodes,
        ];
        all.iter().all(|list| list.was_complete)
    }

    /// Whether this very pod still awaits a node.
    pub(super) fn awaits(&self, pod: &Pod) -> bool {
        self.pods
            .stored(&pod.key)
            .is_some_and(|found| found.uid == pod.uid && awaits_node(&self.scheduler_name, found))
    }

    /// Applies an event and returns what changed.
    pub(super) fn learn(&mut self, update: Update) -> Vec<Change> {
        let Self {
            snapshot,
            scheduler_name,
            pods,
            csi_nodes,
            lists,
        } = self;
        match update {
            Update::Pod(event) => {
                let deltas = lists.pods.apply(pods, event);
                let usage = &mut snapshot.usage;
                deltas
                    .into_iter()
                    .flat_map(|delta| pod_changes(usage, scheduler_name, delta))
                    .collect()
            }
            Update::CsiNode(event) => changes(lists.csi_nodes.apply(csi_nodes, event), Change::CsiNode),
            Update::Node(event) => changes(lists.nodes.apply(&mut snapshot.nodes, event), Change::Node),
            Update::Claim(event) => changes(lists.claims.apply(&mut snapshot.claims, event), Change::Claim),
            Update::Volume(event) => {
                changes(lists.volumes.apply(&mut snapshot.volumes, event), Change::Volume)
            }
            Update::Class(event) => changes(lists.classes.apply(&mut snapshot.classes, event), Change::Class),
            Update::Driver(event) => {
                note_unreadable(&mut snapshot.unreadable_drivers, &event);
                changes(lists.drivers.apply(&mut snapshot.drivers, event), Change::Driver)
            }
            Update::Capacity(event) => {
                note_unreadable(&mut snapshot.unreadable_capacities, &event);
                let deltas = lists.capacities.apply(&mut snapshot.capacities, event);
                changes(deltas, Change::Capacity)
            }
        }
    }
}

fn changes<T>(deltas: Vec<Delta<T>>, wrap: fn(Delta<T>) -> Change) -> Vec<Change> {
    deltas.into_iter().map(wrap).collect()
}

/// Counts the resources of a pod, and returns what its change means to pods that await a node.
fn pod_changes(usage: &mut Usage, scheduler_name: &str, delta: Delta<Pod>) -> Vec<Change> {
    let Delta { old, new } = delta;
    if let Some(gone) = &old
        && new.as_ref().is_none_or(|new| new.uid != gone.uid)
    {
        usage.remove(&gone.uid);
    }
    if let Some(new) = &new {
        usage.see(new);
    }
    let mut changes = Vec::new();
    if old.as_ref().is_some_and(|old| old.node.is_some()) && new.is_none() {
        changes.push(Change::Freed);
    }
    let awaiting = |pod: Option<Arc<Pod>>| pod.filter(|pod| awaits_node(scheduler_name, pod));
    let (old, new) = (awaiting(old), awaiting(new));
    if old.is_some() || new.is_some() {
        changes.push(Change::Pod(Delta { old, new }));
    }
    changes
}

/// Keeps apart objects that do not exist and objects that cannot be read.
fn note_unreadable<T: Object>(unreadable: &mut Unreadable, event: &WatchEvent<T>) {
    match event {
        // The list has those again that still exist.
        WatchEvent::ListBegins => unreadable.clear(),
        WatchEvent::Listed(object) | WatchEvent::Changed(object) => drop(unreadable.remove(object.key())),
        WatchEvent::Gone(key) => drop(unreadable.remove(key)),
        WatchEvent::Unreadable(key, problem) => drop(unreadable.insert(key.clone(), problem.clone())),
        WatchEvent::ListEnds => {}
    }
}

fn awaits_node(scheduler_name: &str, pod: &Pod) -> bool {
    pod.scheduler_name == scheduler_name
        && pod.node.is_none()
        && !pod.deleting
        && !pod.terminated
        && !pod.gated
}

/// Follows one watch's lists. A list may come again at any time, when a watch had to start over.
#[derive(Debug, Default)]
struct List {
    /// The keys that a list under way has had so far.
    named: Option<BTreeSet<ObjectKey>>,
    was_complete: bool,
}

impl List {
    fn apply<T: Object>(&mut self, objects: &mut impl Collection<T>, event: WatchEvent<T>) -> Vec<Delta<T>> {
        match event {
            WatchEvent::ListBegins => {
                self.named = Some(BTreeSet::new());
                Vec::new()
            }
            WatchEvent::Listed(object) => {
                if let Some(named) = &mut self.named {
                    named.insert(object.key().clone());
                }
                vec![put(objects, object)]
            }
            WatchEvent::Changed(object) => vec![put(objects, object)],
            WatchEvent::Gone(key) | WatchEvent::Unreadable(key, _) => {
                take(objects, &key).into_iter().collect()
            }
            WatchEvent::ListEnds => {
                self.was_complete = true;
                let named = self.named.take().unwrap_or_default();
                let gone = objects.keys().into_iter().filter(|key| !named.contains(key));
                gone.collect::<Vec<_>>()
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

    /// Each change as `old>new`, by name.
    fn names(changes: &[Change]) -> Vec<String> {
        let name = |pod: &Option<Arc<Pod>>| pod.as_ref().map_or_else(String::new, |pod| pod.key.name.clone());
        let named = changes.iter().map(|change| match change {
            Change::Pod(delta) => format!("{}>{}", name(&delta.old), name(&delta.new)),
            other => panic!("unexpected {other:?}"),
        });
        named.collect()
    }

    #[test]
    fn a_second_list_removes_what_it_does_not_name() {
        let mut cache = Cache::new("ours");
        let mut deliver = |event| cache.learn(Update::Pod(event));
        deliver(WatchEvent::ListBegins);
        deliver(WatchEvent::Listed(pod("a", "ours", None)));
        deliver(WatchEvent::Listed(pod("b", "ours", None)));
        assert!(deliver(WatchEvent::ListEnds).is_empty());
        deliver(WatchEvent::ListBegins);
        deliver(WatchEvent::Listed(pod("b", "ours", None)));
        assert_eq!(names(&deliver(WatchEvent::ListEnds)), ["a>"]);
    }

    #[test]
    fn only_pods_that_await_this_scheduler_count() {
        let mut cache = Cache::new("ours");
        let mut deliver = |pod| cache.learn(Update::Pod(WatchEvent::Changed(pod)));
        assert!(deliver(pod("a", "another", None)).is_empty());
        assert!(deliver(pod("a", "ours", Some("n1"))).is_empty());
        assert_eq!(names(&deliver(pod("a", "ours", None))), [">a"]);
        assert_eq!(names(&deliver(pod("a", "ours", Some("n1")))), ["a>"]);
    }
}
