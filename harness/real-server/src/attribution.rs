//! Attributes changes of a case's objects to clients, in the order in which the server's own watches report them.
//!
//! A watch event does not name the client of a change. The proxy does: it announces each write before sending it, and reports the result. A
//! change is recorded once no open write can have caused it. In return, responses and watch events wait until the change that they report
//! is in the journal, so that the journal has the order of cause and effect.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use harness::fact_sink::FactSink;
use harness::journal::{Change, CommitFact, What};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::kinds::{CLAIM_PROTECTION, VOLUME_PROTECTION};

/// Client of a change that no write through the proxy explains: the server itself.
const SERVER: &str = "apiserver";

/// Timeout of a change that waits for its write, and of a response that waits for its change; afterwards they are recorded as they are.
const PATIENCE: Duration = Duration::from_secs(5);

/// Identity of an object: resource, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) resource: Arc<str>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Key {
    /// Identity of this object.
    pub(crate) fn of(resource: &Arc<str>, object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        Key {
            resource: resource.clone(),
            namespace: text("namespace").filter(|namespace| !namespace.is_empty()),
            name: text("name").unwrap_or_default(),
        }
    }
}

/// A change reported by the server's watch, with the names of the case.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) change: Change,
    pub(crate) resource: Arc<str>,
    pub(crate) object: Value,
}

/// Objects that a write may change; without a name, any object of that resource and namespace.
#[derive(Debug, Clone)]
pub(crate) struct Touch {
    pub(crate) resource: Arc<str>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

/// Result of a write.
#[derive(Debug)]
pub(crate) enum Made {
    /// The object has this revision now.
    Revision(u64),
    /// The object was deleted.
    Gone(Key),
    /// The object changed, with an unknown revision.
    Something(Key),
}

/// Records the changes of one case.
pub(crate) struct Attribution {
    sink: FactSink,
    state: Mutex<State>,
    /// Notifies waiting tasks of changes of the state.
    moved: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// Newest recorded revision, by resource.
    newest: BTreeMap<Arc<str>, u64>,
    objects: BTreeMap<Key, Arc<Value>>,
    open: BTreeMap<u64, Touch>,
    last: u64,
    /// Client of each revision.
    made: BTreeMap<(Arc<str>, u64), Arc<str>>,
    /// Writes without a known revision: the object, whether it was deleted, and the client.
    done: Vec<(Key, bool, Arc<str>)>,
}

/// A write that has been announced and not yet completed.
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
            moved: watch::Sender::new(0),
        }
    }

    /// Sink of the facts.
    pub(crate) fn sink(&self) -> &FactSink {
        &self.sink
    }

    /// Announces a write; it is open until the returned guard is dropped.
    pub(crate) fn announce(&self, client: &Arc<str>, touch: Touch) -> OpenWrite<'_> {
        let mut state = self.state.lock();
        state.last += 1;
        let (number, resource) = (state.last, touch.resource.clone());
        state.open.insert(number, touch);
        OpenWrite {
            attribution: self,
            number,
            client: client.clone(),
            resource,
        }
    }

    /// Records a change as soon as its client is known. Returns the previous state of the object.
    pub(crate) async fn see(&self, mut seen: Seen) -> Option<Arc<Value>> {
        let key = Key::of(&seen.resource, &seen.object);
        let revision = revision(&seen.object);
        let is_known = seen.change != Change::Deleted && self.has(&key, revision);
        if is_known {
            return None;
        }
        let client = self.author(&key, revision, &seen).await;
        if let Some(metadata) = seen.object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let told = Arc::new(without_protection(&seen.object));
        let object = Arc::new(seen.object);
        let before = {
            let mut state = self.state.lock();
            self.sink.put(What::Commit(CommitFact {
                client,
                change: seen.change,
                resource: seen.resource.clone(),
                namespace: key.namespace.clone(),
                name: key.name.clone(),
                revision,
                object: told,
            }));
            let newest = state.newest.entry(seen.resource.clone()).or_default();
            *newest = revision.max(*newest);
            match seen.change {
                Change::Deleted => state.objects.remove(&key),
                Change::Added | Change::Modified => state.objects.insert(key, object),
            }
        };
        self.move_on();
        before
    }

    fn has(&self, key: &Key, at: u64) -> bool {
        let state = self.state.lock();
        state
            .objects
            .get(key)
            .is_some_and(|object| revision(object) >= at)
    }

    /// The client of a change.
    async fn author(&self, key: &Key, revision: u64, seen: &Seen) -> Arc<str> {
        let is_gone = seen.change == Change::Deleted;
        // A deletion may set the deletionTimestamp first, and then remove the object: both changes have the same client.
        let is_marked = seen.object["metadata"]["deletionTimestamp"].is_string();
        let known = self.when(|state| {
            if let Some(client) = state.made.remove(&(key.resource.clone(), revision)) {
                return Some(Some(client));
            }
            // While a write that covers the object is open, the client is unknown.
            if state.open.values().any(|touch| touch.covers(key)) {
                return None;
            }
            let done = |(of, was_gone, _): &(Key, bool, Arc<str>)| of == key && *was_gone == is_gone;
            if let Some(at) = state.done.iter().position(done) {
                return Some(Some(state.done.remove(at).2));
            }
            let mut done = state
                .done
                .iter()
                .filter(|(of, was_gone, _)| of == key && *was_gone && is_marked);
            Some(done.next().map(|(.., client)| client.clone()))
        });
        known.await.flatten().unwrap_or_else(|| SERVER.into())
    }

    /// Waits until a revision of a resource is in the journal.
    pub(crate) async fn seen(&self, resource: &str, revision: u64) {
        let newest = |state: &mut State| {
            let newest = state.newest.get(resource).copied().unwrap_or_default();
            (newest >= revision).then_some(())
        };
        self.when(newest).await;
    }

    /// Waits until the recorded state of an object meets a condition.
    pub(crate) async fn seen_of(&self, key: &Key, is_it: impl Fn(Option<&Value>) -> bool) {
        self.when(|state| is_it(state.objects.get(key).map(|object| &**object)).then_some(()))
            .await;
    }

    /// The first result of `answer`; `None` after the timeout.
    async fn when<T>(&self, mut answer: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut moved = self.moved.subscribe();
        let waiting = async {
            loop {
                moved.mark_unchanged();
                let found = answer(&mut self.state.lock());
                if found.is_some() {
                    return found;
                }
                // `self` owns the sender, so the wait cannot fail.
                let _ = moved.changed().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.ok().flatten()
    }

    /// The recorded state of an object.
    pub(crate) fn object(&self, key: &Key) -> Option<Arc<Value>> {
        self.state.lock().objects.get(key).cloned()
    }

    /// The recorded state of all objects.
    pub(crate) fn objects(&self) -> Vec<(Key, Arc<Value>)> {
        let state = self.state.lock();
        state
            .objects
            .iter()
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()
    }

    /// Newest revision of a resource in the journal.
    pub(crate) fn newest(&self, resource: &str) -> u64 {
        self.state
            .lock()
            .newest
            .get(resource)
            .copied()
            .unwrap_or_default()
    }

    fn move_on(&self) {
        self.moved.send_modify(|count| *count += 1);
    }
}

impl Touch {
    fn covers(&self, key: &Key) -> bool {
        self.resource == key.resource
            && (self.namespace.is_none() || self.namespace == key.namespace)
            && self.name.as_ref().is_none_or(|name| *name == key.name)
    }
}

impl OpenWrite<'_> {
    /// Reports the result of the write.
    pub(crate) fn made(&self, made: Made) {
        let mut state = self.attribution.state.lock();
        match made {
            Made::Revision(revision) => {
                // A write that changed nothing causes no change that needs a client.
                let newest = state.newest.get(&self.resource).copied().unwrap_or_default();
                if revision > newest {
                    let key = (self.resource.clone(), revision);
                    state.made.insert(key, self.client.clone());
                }
            }
            Made::Gone(key) => state.done.push((key, true, self.client.clone())),
            Made::Something(key) => state.done.push((key, false, self.client.clone())),
        }
    }
}

impl Drop for OpenWrite<'_> {
    fn drop(&mut self) {
        self.attribution.state.lock().open.remove(&self.number);
        self.attribution.move_on();
    }
}

/// Removes the protection finalizers that the server adds to claims and volumes so that they are not deleted while in use. The in-memory
/// server adds none, cases do not expect them, and `controllers` removes them.
fn without_protection(object: &Value) -> Value {
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

    fn pod(change: Change, revision: u64) -> Seen {
        let metadata = json!({"name": "p", "namespace": "default", "resourceVersion": revision.to_string()});
        Seen {
            change,
            resource: "pods".into(),
            object: json!({"metadata": metadata}),
        }
    }

    fn touch() -> Touch {
        Touch {
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
            What::Commit(commit) => Some(commit.client.to_string()),
            _ => None,
        };
        journal.since(0).into_iter().filter_map(author).collect()
    }

    #[tokio::test]
    async fn change_waits_for_the_write_that_caused_it() {
        let journal = Journal::default();
        let attribution = Arc::new(attribution(&journal));
        let write = attribution.announce(&"publisher".into(), touch());
        let seeing = tokio::spawn({
            let attribution = attribution.clone();
            async move { attribution.see(pod(Change::Added, 5)).await }
        });
        tokio::task::yield_now().await;
        assert!(authors(&journal).is_empty());
        write.made(Made::Revision(5));
        drop(write);
        seeing.await.unwrap();
        attribution.seen("pods", 5).await;
        assert_eq!(authors(&journal), ["publisher"]);
    }

    #[tokio::test]
    async fn change_without_a_write_is_attributed_to_the_server() {
        let journal = Journal::default();
        let attribution = attribution(&journal);
        attribution.see(pod(Change::Added, 5)).await;
        // A repeated object, as after a relist, is not a change.
        attribution.see(pod(Change::Added, 5)).await;
        let write = attribution.announce(&"harness".into(), touch());
        write.made(Made::Gone(Key::of(
            &"pods".into(),
            &pod(Change::Deleted, 6).object,
        )));
        drop(write);
        attribution.see(pod(Change::Deleted, 6)).await;
        assert_eq!(authors(&journal), ["apiserver", "harness"]);
    }
}
