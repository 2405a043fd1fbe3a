//! What the watches told so far, and what changed with each piece of news.
//!
//! Knows which pods await this scheduler. Knows no queue: who cares about a change is told in [`super::hints`].

use std::collections::BTreeSet;
use std::sync::Arc;

use super::news::{News, Update};
use crate::objects::{Capacity, Claim, Class, CsiNode, Driver, Node, Object, ObjectKey, Pod, Volume};
use crate::snapshot::{Snapshot, Unreadable};
use crate::store::{Collection, Store};
use crate::usage::Usage;

/// The cluster as told, with its pods, of which some await a node from this scheduler.
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

    /// Takes in news and tells what changed.
    pub(super) fn learn(&mut self, update: Update) -> Vec<Change> {
        let Self {
            snapshot,
            scheduler_name,
            pods,
            csi_nodes,
            lists,
        } = self;
        match update {
            Update::Pod(news) => {
                let deltas = lists.pods.apply(pods, news);
                let usage = &mut snapshot.usage;
                deltas
                    .into_iter()
                    .flat_map(|delta| pod_changes(usage, scheduler_name, delta))
                    .collect()
            }
            Update::CsiNode(news) => changes(lists.csi_nodes.apply(csi_nodes, news), Change::CsiNode),
            Update::Node(news) => changes(lists.nodes.apply(&mut snapshot.nodes, news), Change::Node),
            Update::Claim(news) => changes(lists.claims.apply(&mut snapshot.claims, news), Change::Claim),
            Update::Volume(news) => changes(lists.volumes.apply(&mut snapshot.volumes, news), Change::Volume),
            Update::Class(news) => changes(lists.classes.apply(&mut snapshot.classes, news), Change::Class),
            Update::Driver(news) => {
                note_unreadable(&mut snapshot.unreadable_drivers, &news);
                changes(lists.drivers.apply(&mut snapshot.drivers, news), Change::Driver)
            }
            Update::Capacity(news) => {
                note_unreadable(&mut snapshot.unreadable_capacities, &news);
                let deltas = lists.capacities.apply(&mut snapshot.capacities, news);
                changes(deltas, Change::Capacity)
            }
        }
    }
}

fn changes<T>(deltas: Vec<Delta<T>>, wrap: fn(Delta<T>) -> Change) -> Vec<Change> {
    deltas.into_iter().map(wrap).collect()
}

/// Counts what a pod takes, and tells what its change means to pods that await a node.
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

/// Keeps apart what does not exist and what cannot be read.
fn note_unreadable<T: Object>(unreadable: &mut Unreadable, news: &News<T>) {
    match news {
        // The list names those again that are still there.
        News::ListBegins => unreadable.clear(),
        News::Listed(object) | News::Changed(object) => drop(unreadable.remove(object.key())),
        News::Gone(key) => drop(unreadable.remove(key)),
        News::Unreadable(key, problem) => drop(unreadable.insert(key.clone(), problem.clone())),
        News::ListEnds => {}
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
    /// The keys named so far by a list under way.
    named: Option<BTreeSet<ObjectKey>>,
    was_complete: bool,
}

impl List {
    fn apply<T: Object>(&mut self, objects: &mut impl Collection<T>, news: News<T>) -> Vec<Delta<T>> {
        match news {
            News::ListBegins => {
                self.named = Some(BTreeSet::new());
                Vec::new()
            }
            News::Listed(object) => {
                if let Some(named) = &mut self.named {
                    named.insert(object.key().clone());
                }
                vec![put(objects, object)]
            }
            News::Changed(object) => vec![put(objects, object)],
            News::Gone(key) | News::Unreadable(key, _) => take(objects, &key).into_iter().collect(),
            News::ListEnds => {
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
        let mut tell = |news| cache.learn(Update::Pod(news));
        tell(News::ListBegins);
        tell(News::Listed(pod("a", "ours", None)));
        tell(News::Listed(pod("b", "ours", None)));
        assert!(tell(News::ListEnds).is_empty());
        tell(News::ListBegins);
        tell(News::Listed(pod("b", "ours", None)));
        assert_eq!(names(&tell(News::ListEnds)), ["a>"]);
    }

    #[test]
    fn only_pods_that_await_this_scheduler_count() {
        let mut cache = Cache::new("ours");
        let mut tell = |pod| cache.learn(Update::Pod(News::Changed(pod)));
        assert!(tell(pod("a", "another", None)).is_empty());
        assert!(tell(pod("a", "ours", Some("n1"))).is_empty());
        assert_eq!(names(&tell(pod("a", "ours", None))), [">a"]);
        assert_eq!(names(&tell(pod("a", "ours", Some("n1")))), ["a>"]);
    }
}
