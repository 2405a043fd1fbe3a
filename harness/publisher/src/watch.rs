//! List and watch of one kind, with a new list after every failure. Converts the events of kube's watcher to three kinds of changes, and
//! detects objects that were deleted between two watches.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    fmt::Debug,
    sync::Arc,
    time::Duration,
};

use capacity_client::{ExponentialBackoff, WatchPauses};
use futures::{Stream, StreamExt};
use hyper::Request;
use kube::{
    Api, Client, Resource, ResourceExt,
    client::Body,
    runtime::{
        WatchStreamExt,
        utils::Backoff,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tower::service_fn;

#[derive(Debug)]
pub(crate) enum Change<K> {
    /// An object was added or modified.
    Applied(Arc<K>),
    /// An object was deleted. Contains its last known state.
    Deleted(Arc<K>),
    /// The list is complete: all existing objects were delivered.
    Listed,
}

/// Counts the watches whose first list is not complete yet.
pub(crate) struct InitialSync(watch::Sender<usize>);

impl InitialSync {
    pub(crate) fn new(watches: usize) -> InitialSync {
        InitialSync(watch::Sender::new(watches))
    }

    /// Resolves after the first complete list of every watch (client-go: `WaitForCacheSync`).
    pub(crate) async fn wait(&self) {
        // `self` holds the sender, so the channel cannot be closed.
        let _ = self.0.subscribe().wait_for(|missing| *missing == 0).await;
    }

    fn mark_one_complete(&self) {
        self.0.send_modify(|missing| *missing = missing.saturating_sub(1));
    }
}

/// Namespace and name of an object.
type Name = (Option<String>, String);

/// The objects delivered so far, stored to detect deletions between two watches.
struct Reflector<K, F> {
    known: BTreeMap<Name, Arc<K>>,
    /// Names of the objects in the list in progress.
    listing: BTreeSet<Name>,
    on_change: F,
}

/// A copy of the client with a backoff between watches that end immediately.
pub(crate) fn watching_client(client: &Client, backoff: ExponentialBackoff) -> Client {
    let namespace = client.default_namespace().to_owned();
    let (client, pauses) = (client.clone(), Arc::new(WatchPauses::new(backoff)));
    let service = service_fn(move |request: Request<Body>| {
        let (client, pauses) = (client.clone(), Arc::clone(&pauses));
        async move {
            pauses.wait_before_watch(request.uri()).await;
            client.send(request).await
        }
    });
    Client::new(service, namespace)
}

/// Watches the objects of a kind, and calls `on_change` for each change in order. Does not return.
pub(crate) async fn list_and_watch<K>(
    api: Api<K>,
    config: watcher::Config,
    backoff: ExponentialBackoff,
    initial_sync: &InitialSync,
    on_change: impl FnMut(Change<K>),
) -> Infallible
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let events = watcher(api, config).backoff(Retry::new(backoff));
    handle_events(K::kind(&()), events, initial_sync, on_change).await
}

/// Calls `on_change` for each change from watch events in order. The event source backs off after failures.
pub(crate) async fn handle_events<K>(
    kind: Cow<'static, str>,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    initial_sync: &InitialSync,
    on_change: impl FnMut(Change<K>),
) -> Infallible
where
    K: Resource<DynamicType = ()>,
{
    let mut reflector = Reflector {
        known: BTreeMap::new(),
        listing: BTreeSet::new(),
        on_change,
    };
    let mut first = true;
    let mut events = std::pin::pin!(events);
    loop {
        match events.next().await {
            Some(Ok(Event::InitDone)) => {
                reflector.list_completed();
                if std::mem::take(&mut first) {
                    initial_sync.mark_one_complete();
                }
            }
            Some(Ok(event)) => reflector.handle_event(event),
            Some(Err(error)) => tracing::warn!(%kind, %error, "watch failed; retrying with backoff"),
            None => std::future::pending().await,
        }
    }
}

impl<K: Resource<DynamicType = ()>, F: FnMut(Change<K>)> Reflector<K, F> {
    fn handle_event(&mut self, event: Event<K>) {
        match event {
            Event::Init => self.listing.clear(),
            Event::InitApply(object) => {
                self.listing.insert(name(&object));
                self.apply_object(object);
            }
            Event::Apply(object) => self.apply_object(object),
            Event::Delete(object) => {
                self.known.remove(&name(&object));
                (self.on_change)(Change::Deleted(Arc::new(object)));
            }
            Event::InitDone => self.list_completed(),
        }
    }

    fn apply_object(&mut self, mut object: K) {
        // managedFields are dropped: they are not used, and are most of the object's size.
        object.managed_fields_mut().clear();
        let object = Arc::new(object);
        let replaced = self.known.insert(name(&*object), Arc::clone(&object));
        if let Some(other) = replaced.filter(|replaced| replaced.meta().uid != object.meta().uid) {
            (self.on_change)(Change::Deleted(other));
        }
        (self.on_change)(Change::Applied(object));
    }

    /// Ends a list: stored objects that the list did not contain were deleted.
    fn list_completed(&mut self) {
        let listing = std::mem::take(&mut self.listing);
        let deleted: Vec<Arc<K>> = self
            .known
            .extract_if(.., |name, _| !listing.contains(name))
            .map(|(_, object)| object)
            .collect();
        deleted
            .into_iter()
            .for_each(|object| (self.on_change)(Change::Deleted(object)));
        (self.on_change)(Change::Listed);
    }
}

fn name<K: Resource>(object: &K) -> Name {
    (
        object.meta().namespace.clone(),
        object.meta().name.clone().unwrap_or_default(),
    )
}

/// Counts consecutive failures, and yields the delay before the next attempt (exponential backoff).
pub(crate) struct Retry {
    backoff: ExponentialBackoff,
    failures: u32,
}

impl Retry {
    pub(crate) fn new(backoff: ExponentialBackoff) -> Retry {
        Retry { backoff, failures: 0 }
    }

    /// A copy of the retry counter that starts again with the first delay.
    pub(crate) fn restarted(&self) -> Retry {
        Retry::new(self.backoff)
    }

    pub(crate) fn record_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    pub(crate) fn record_success(&mut self) {
        self.failures = 0;
    }

    /// The delay before the next attempt. `None` if the last attempt succeeded.
    pub(crate) fn wait_after_failure(&self) -> Option<Duration> {
        (self.failures > 0).then(|| self.backoff.delay(self.failures))
    }
}

impl Iterator for Retry {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.record_failure();
        Some(self.backoff.delay(self.failures))
    }
}

impl Backoff for Retry {
    fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;

    use super::*;

    fn node(name: &str, uid: &str) -> Node {
        let mut node = Node::default();
        node.metadata.name = Some(name.to_owned());
        node.metadata.uid = Some(uid.to_owned());
        node
    }

    fn changes(events: Vec<Event<Node>>) -> Vec<String> {
        let mut changes = Vec::new();
        let on_change = |change| {
            let id = |node: &Node| node.metadata.uid.clone().unwrap_or_default();
            changes.push(match change {
                Change::Applied(node) => format!("applied {}", id(&node)),
                Change::Deleted(node) => format!("deleted {}", id(&node)),
                Change::Listed => "listed".to_owned(),
            });
        };
        let mut reflector = Reflector {
            known: BTreeMap::new(),
            listing: BTreeSet::new(),
            on_change,
        };
        events.into_iter().for_each(|event| reflector.handle_event(event));
        changes
    }

    #[test]
    fn an_object_missing_from_a_list_was_deleted() {
        let first = [
            Event::Init,
            Event::InitApply(node("a", "1")),
            Event::InitApply(node("b", "2")),
            Event::InitDone,
        ];
        let later = [
            Event::Apply(node("c", "3")),
            Event::Init,
            Event::InitApply(node("b", "2")),
            Event::InitDone,
        ];
        let changes = changes(first.into_iter().chain(later).collect());
        assert_eq!(
            changes,
            [
                "applied 1",
                "applied 2",
                "listed",
                "applied 3",
                "applied 2",
                "deleted 1",
                "deleted 3",
                "listed"
            ]
            .map(str::to_owned)
        );
    }

    #[test]
    fn an_object_with_the_same_name_and_another_uid_is_a_new_object() {
        let events = vec![
            Event::Apply(node("a", "1")),
            Event::Apply(node("a", "2")),
            Event::Delete(node("a", "2")),
        ];
        assert_eq!(
            changes(events),
            ["applied 1", "deleted 1", "applied 2", "deleted 2"]
        );
    }
}
