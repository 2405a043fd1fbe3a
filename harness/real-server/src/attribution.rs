//! Finds out which client caused an object change, and records changes in the order of the server's watches.
//!
//! A watch event does not contain the client that caused the change. The proxy knows the client: it announces each write before sending it,
//! and passes on the result. While a write that may have caused the change is open, the change is not recorded. A response or watch event
//! waits until the journal contains the change that the response or event reflects, so that facts are in causal order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use harness::fact_sink::FactSink;
use harness::journal::{Change, CommitFact, Observation};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::kinds::{CLAIM_PROTECTION, VOLUME_PROTECTION};

/// Client name for changes that no write through the proxy caused: the API server itself made the change.
const SERVER: &str = "apiserver";

/// Maximum wait for the client that caused a change, and for the recording of a change before the client gets its response. After the
/// timeout, the change is attributed to [`SERVER`], or the response is sent.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Resource, namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) resource: Arc<str>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Key {
    /// The key of an object. `resource`: the plural resource name.
    pub(crate) fn of(resource: &Arc<str>, object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        Key {
            resource: resource.clone(),
            namespace: text("namespace").filter(|namespace| !namespace.is_empty()),
            name: text("name").unwrap_or_default(),
        }
    }
}

/// An object change that a watch of the server reported, with the names of the case.
#[derive(Debug, Clone)]
pub(crate) struct ObservedChange {
    pub(crate) change: Change,
    pub(crate) resource: Arc<str>,
    pub(crate) object: Value,
}

/// The objects that a write may change. Without `name`: any object of the resource and namespace.
#[derive(Debug, Clone)]
pub(crate) struct WriteTarget {
    pub(crate) resource: Arc<str>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

#[derive(Debug)]
pub(crate) enum WriteResult {
    /// The write produced this revision (resourceVersion) of the object.
    Revision(u64),
    Deleted(Key),
    /// The write changed the object, but the revision is unknown.
    Changed(Key),
}

/// Records the object changes of one case, each with the client that caused the change.
pub(crate) struct Attribution {
    sink: FactSink,
    state: Mutex<State>,
    /// Wakes tasks that wait for a change of `state`.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// Newest recorded revision of each resource.
    newest: BTreeMap<Arc<str>, u64>,
    objects: BTreeMap<Key, Arc<Value>>,
    open_writes: BTreeMap<u64, WriteTarget>,
    last_number: u64,
    /// Client that caused each revision of a resource.
    clients: BTreeMap<(Arc<str>, u64), Arc<str>>,
    /// Completed writes whose revision is unknown: the object, whether it was deleted, and the client.
    without_revision: Vec<(Key, bool, Arc<str>)>,
}

/// A write request that was announced and has not completed.
pub(crate) struct OpenWrite<'w> {
    attribution: &'w Attribution,
    number: u64,
    client: Arc<str>,
    resource: Arc<str>,
}

impl Attribution {
    pub(crate) fn new(sink: FactSink) -> Self {
        Attribution {
            sink,
            state: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn sink(&self) -> &FactSink {
        &self.sink
    }

    /// Announces a write. The write is open until the returned guard is dropped.
    pub(crate) fn announce(&self, client: &Arc<str>, target: WriteTarget) -> OpenWrite<'_> {
        let mut state = self.state.lock();
        state.last_number += 1;
        let (number, resource) = (state.last_number, target.resource.clone());
        state.open_writes.insert(number, target);
        OpenWrite {
            attribution: self,
            number,
            client: client.clone(),
            resource,
        }
    }

    /// Records an object change once its client is known. Returns the previous state of the object.
    pub(crate) async fn record(&self, mut observed: ObservedChange) -> Option<Arc<Value>> {
        let key = Key::of(&observed.resource, &observed.object);
        let revision = revision(&observed.object);
        let is_known = observed.change != Change::Deleted && self.has_recorded(&key, revision);
        if is_known {
            return None;
        }
        let client = self.client_of(&key, revision, &observed).await;
        if let Some(metadata) = observed.object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let recorded = Arc::new(without_protection_finalizers(&observed.object));
        let object = Arc::new(observed.object);
        let before = {
            let mut state = self.state.lock();
            self.sink.record(Observation::Commit(CommitFact {
                client,
                change: observed.change,
                resource: observed.resource.clone(),
                namespace: key.namespace.clone(),
                name: key.name.clone(),
                revision,
                object: recorded,
            }));
            let newest = state.newest.entry(observed.resource.clone()).or_default();
            *newest = revision.max(*newest);
            match observed.change {
                Change::Deleted => state.objects.remove(&key),
                Change::Added | Change::Modified => state.objects.insert(key, object),
            }
        };
        self.notify();
        before
    }

    fn has_recorded(&self, key: &Key, at: u64) -> bool {
        let state = self.state.lock();
        state
            .objects
            .get(key)
            .is_some_and(|object| revision(object) >= at)
    }

    /// The client that caused an object change. Waits while a write that may have caused the change is open.
    async fn client_of(&self, key: &Key, revision: u64, observed: &ObservedChange) -> Arc<str> {
        let is_deleted = observed.change == Change::Deleted;
        // A deletion may first set the deletionTimestamp and later remove the object. Both changes are attributed to one client.
        let is_terminating = observed.object["metadata"]["deletionTimestamp"].is_string();
        let known = self.wait_until(|state| {
            if let Some(client) = state.clients.remove(&(key.resource.clone(), revision)) {
                return Some(Some(client));
            }
            // While a write that may change the object is open, the client is not known yet.
            if state.open_writes.values().any(|target| target.covers(key)) {
                return None;
            }
            let matches =
                |(of, was_deleted, _): &(Key, bool, Arc<str>)| of == key && *was_deleted == is_deleted;
            if let Some(at) = state.without_revision.iter().position(matches) {
                return Some(Some(state.without_revision.remove(at).2));
            }
            let mut deletions = state
                .without_revision
                .iter()
                .filter(|(of, was_deleted, _)| of == key && *was_deleted && is_terminating);
            Some(deletions.next().map(|(.., client)| client.clone()))
        });
        known.await.flatten().unwrap_or_else(|| SERVER.into())
    }

    /// Waits until the journal contains a revision of a resource, or until the timeout.
    pub(crate) async fn wait_for_revision(&self, resource: &str, revision: u64) {
        let newest = |state: &mut State| {
            let newest = state.newest.get(resource).copied().unwrap_or_default();
            (newest >= revision).then_some(())
        };
        self.wait_until(newest).await;
    }

    /// Waits until the last recorded state of an object satisfies a condition, or until the timeout.
    pub(crate) async fn wait_for_object(&self, key: &Key, condition: impl Fn(Option<&Value>) -> bool) {
        self.wait_until(|state| condition(state.objects.get(key).map(|object| &**object)).then_some(()))
            .await;
    }

    /// The first `Some` that `condition` returns; `None` after the timeout.
    async fn wait_until<T>(&self, mut condition: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut changed = self.changed.subscribe();
        let waiting = async {
            loop {
                changed.mark_unchanged();
                let found = condition(&mut self.state.lock());
                if found.is_some() {
                    return found;
                }
                // `self` owns the sender, so the wait cannot fail.
                let _ = changed.changed().await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.ok().flatten()
    }

    /// The last recorded state of an object.
    pub(crate) fn object(&self, key: &Key) -> Option<Arc<Value>> {
        self.state.lock().objects.get(key).cloned()
    }

    /// The last recorded state of all objects.
    pub(crate) fn objects(&self) -> Vec<(Key, Arc<Value>)> {
        let state = self.state.lock();
        state
            .objects
            .iter()
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()
    }

    pub(crate) fn newest_revision(&self, resource: &str) -> u64 {
        self.state
            .lock()
            .newest
            .get(resource)
            .copied()
            .unwrap_or_default()
    }

    fn notify(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl WriteTarget {
    fn covers(&self, key: &Key) -> bool {
        self.resource == key.resource
            && (self.namespace.is_none() || self.namespace == key.namespace)
            && self.name.as_ref().is_none_or(|name| *name == key.name)
    }
}

impl OpenWrite<'_> {
    /// Stores the result of the write, from which the change that the write caused is identified.
    pub(crate) fn complete(&self, result: WriteResult) {
        let mut state = self.attribution.state.lock();
        match result {
            WriteResult::Revision(revision) => {
                // A write that changed nothing returns an old revision and causes no watch event, so its client is not stored.
                let newest = state.newest.get(&self.resource).copied().unwrap_or_default();
                if revision > newest {
                    let key = (self.resource.clone(), revision);
                    state.clients.insert(key, self.client.clone());
                }
            }
            WriteResult::Deleted(key) => state.without_revision.push((key, true, self.client.clone())),
            WriteResult::Changed(key) => state.without_revision.push((key, false, self.client.clone())),
        }
    }
}

impl Drop for OpenWrite<'_> {
    fn drop(&mut self) {
        self.attribution.state.lock().open_writes.remove(&self.number);
        self.attribution.notify();
    }
}

/// Removes the protection finalizers that the server adds to PVCs and PVs. The journal omits these finalizers, because cases do not expect
/// them: the in-memory server adds none. `controllers` removes the finalizers from the objects on the server.
fn without_protection_finalizers(object: &Value) -> Value {
    let mut object = object.clone();
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return object;
    };
    if let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        list.retain(|each| *each != CLAIM_PROTECTION && *each != VOLUME_PROTECTION);
        if list.is_empty() {
            metadata.remove("finalizers");
        }
    }
    object
}

/// The resourceVersion of an object or list.
pub(crate) fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::journal::Journal;
    use serde_json::json;

    fn pod(change: Change, revision: u64) -> ObservedChange {
        let metadata = json!({"name": "p", "namespace": "default", "resourceVersion": revision.to_string()});
        ObservedChange {
            change,
            resource: "pods".into(),
            object: json!({"metadata": metadata}),
        }
    }

    fn target() -> WriteTarget {
        WriteTarget {
            resource: "pods".into(),
            namespace: Some("default".to_owned()),
            name: None,
        }
    }

    fn attribution(journal: &Journal) -> Attribution {
        Attribution::new(FactSink::into_journal(journal.clone()))
    }

    fn authors(journal: &Journal) -> Vec<String> {
        let author = |fact: harness::journal::Fact| match fact.what {
            Observation::Commit(commit) => Some(commit.client.to_string()),
            _ => None,
        };
        journal.since(0).into_iter().filter_map(author).collect()
    }

    #[tokio::test]
    async fn change_waits_for_the_write_that_caused_it() {
        let journal = Journal::default();
        let attribution = Arc::new(attribution(&journal));
        let write = attribution.announce(&"publisher".into(), target());
        let recording = tokio::spawn({
            let attribution = attribution.clone();
            async move { attribution.record(pod(Change::Added, 5)).await }
        });
        tokio::task::yield_now().await;
        assert!(authors(&journal).is_empty());
        write.complete(WriteResult::Revision(5));
        drop(write);
        recording.await.unwrap();
        attribution.wait_for_revision("pods", 5).await;
        assert_eq!(authors(&journal), ["publisher"]);
    }

    #[tokio::test]
    async fn change_without_a_write_is_attributed_to_the_server() {
        let journal = Journal::default();
        let attribution = attribution(&journal);
        attribution.record(pod(Change::Added, 5)).await;
        // An object that is received a second time, for example after a relist, is not a change.
        attribution.record(pod(Change::Added, 5)).await;
        let write = attribution.announce(&"harness".into(), target());
        write.complete(WriteResult::Deleted(Key::of(
            &"pods".into(),
            &pod(Change::Deleted, 6).object,
        )));
        drop(write);
        attribution.record(pod(Change::Deleted, 6)).await;
        assert_eq!(authors(&journal), ["apiserver", "harness"]);
    }
}
