//! The watches of a run, one per resource, and the distribution of their events to the cases.
//!
//! Finds the case of an object by its case label, and knows nothing else about the object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use harness::body_lines::lines;
use harness::journal::Change;
use hyper::{Method, Request};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::attribution::revision;
use crate::kinds::{KINDS, Kind};
use crate::names::{CASE_LABEL, RUN_LABEL};
use crate::upstream::{Upstream, UpstreamError};

/// Number of events that are buffered for a case. While the buffer of one case is full, the distribution to all cases waits.
const BUFFERED_EVENTS: usize = 4096;

const RETRY_DELAY: Duration = Duration::from_millis(100);

/// An event that the hub sends to a case. Its objects have the server's names.
#[derive(Debug)]
pub(crate) enum HubEvent {
    /// A change of an object: kind of change, resource name, object.
    Change(Change, Arc<str>, Value),
    /// All objects of one resource in the case. Sent after watch events were lost.
    All(Arc<str>, Vec<Value>),
}

/// The watches of a run, and the cases that receive their events.
pub(crate) struct WatchHub {
    upstream: Upstream,
    run: String,
    cases: Mutex<BTreeMap<String, mpsc::Sender<HubEvent>>>,
    /// Plural names of the watched resources that the server serves.
    served: Mutex<BTreeSet<&'static str>>,
}

impl WatchHub {
    /// Starts a watch of every watched resource that the server serves. Returns the tasks that run the watches.
    pub(crate) async fn start(
        upstream: Upstream,
        run: &str,
    ) -> Result<(Arc<Self>, Vec<tokio::task::AbortHandle>), UpstreamError> {
        let hub = Arc::new(WatchHub {
            upstream,
            run: run.to_owned(),
            cases: Mutex::default(),
            served: Mutex::default(),
        });
        let mut tasks = Vec::new();
        for kind in KINDS {
            // Older API servers do not serve all resources.
            let Some((_, from)) = hub.list(kind).await? else {
                continue;
            };
            hub.served.lock().insert(kind.resource);
            let follow = hub.clone().follow(kind, from);
            tasks.push(tokio::spawn(follow).abort_handle());
        }
        Ok((hub, tasks))
    }

    /// The watched resources that the server serves; an older server does not serve all of [`KINDS`].
    pub(crate) fn served(&self) -> Vec<Kind> {
        let served = self.served.lock();
        KINDS
            .into_iter()
            .filter(|kind| served.contains(kind.resource))
            .collect()
    }

    pub(crate) fn subscribe(&self, case: &str) -> mpsc::Receiver<HubEvent> {
        let (sender, receiver) = mpsc::channel(BUFFERED_EVENTS);
        self.cases.lock().insert(case.to_owned(), sender);
        receiver
    }

    pub(crate) fn unsubscribe(&self, case: &str) {
        self.cases.lock().remove(case);
    }

    /// The run's objects of one resource, and the resourceVersion of the list; `None` if the server does not serve the resource.
    pub(crate) async fn list(&self, kind: Kind) -> Result<Option<(Vec<Value>, u64)>, UpstreamError> {
        let path = format!("{}?labelSelector={RUN_LABEL}%3D{}", kind.path(), self.run);
        let answer = self.upstream.send(Method::GET, &path, None).await?;
        if answer.code == 404 {
            return Ok(None);
        }
        if !answer.is_success() {
            return Err(UpstreamError(format!(
                "list {}: {}",
                kind.resource,
                answer.message()
            )));
        }
        let mut list = answer.json();
        let from = revision(&list);
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Ok(Some((items, from)))
    }

    async fn follow(self: Arc<Self>, kind: Kind, mut from: u64) {
        let resource: Arc<str> = kind.resource.into();
        loop {
            let has_failed = self.watch(kind, &resource, &mut from).await.is_err();
            if !has_failed {
                continue;
            }
            tokio::time::sleep(RETRY_DELAY).await;
            if let Ok(Some((items, at))) = self.list(kind).await {
                from = at;
                self.send_list(&resource, items).await;
            }
        }
    }

    /// Runs one watch on the server until it ends. An error means that events may have been lost.
    async fn watch(&self, kind: Kind, resource: &Arc<str>, from: &mut u64) -> Result<(), UpstreamError> {
        let query = format!(
            "watch=true&allowWatchBookmarks=true&resourceVersion={from}&labelSelector={RUN_LABEL}%3D{}",
            self.run
        );
        let request = Request::get(format!("{}?{query}", kind.path())).body(Body::empty());
        let response = self
            .upstream
            .start_request(request.map_err(|error| UpstreamError(error.to_string()))?)
            .await?;
        if !response.status().is_success() {
            return Err(UpstreamError(response.status().to_string()));
        }
        let mut lines = std::pin::pin!(lines(response.into_body()));
        while let Some(Ok(line)) = lines.next().await {
            let mut event: Value =
                serde_json::from_slice(&line).map_err(|error| UpstreamError(error.to_string()))?;
            let object = event["object"].take();
            let change = match event["type"].as_str() {
                Some("ADDED") => Some(Change::Added),
                Some("MODIFIED") => Some(Change::Modified),
                Some("DELETED") => Some(Change::Deleted),
                Some("BOOKMARK") => None,
                _ => return Err(UpstreamError(object.to_string())),
            };
            *from = revision(&object).max(*from);
            if let Some(change) = change {
                self.send_change(change, resource, object).await;
            }
        }
        Ok(())
    }

    async fn send_change(&self, change: Change, resource: &Arc<str>, object: Value) {
        let case = object["metadata"]["labels"][CASE_LABEL]
            .as_str()
            .unwrap_or_default();
        let sender = self.cases.lock().get(case).cloned();
        if let Some(sender) = sender {
            // Fails only if the case has ended, so errors are ignored.
            let _ = sender
                .send(HubEvent::Change(change, resource.clone(), object))
                .await;
        }
    }

    async fn send_list(&self, resource: &Arc<str>, items: Vec<Value>) {
        let mut by_case: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for item in items {
            let case = item["metadata"]["labels"][CASE_LABEL]
                .as_str()
                .unwrap_or_default();
            by_case.entry(case.to_owned()).or_default().push(item);
        }
        let senders: Vec<_> = self.cases.lock().clone().into_iter().collect();
        for (case, sender) in senders {
            let own = by_case.remove(&case).unwrap_or_default();
            let _ = sender.send(HubEvent::All(resource.clone(), own)).await;
        }
    }
}
