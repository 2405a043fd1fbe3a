//! The state of one case on a real API server: names, clients, facts and faults. Handles no requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::fact_sink::FactSink;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::attribution::Attribution;
use crate::faults::Faults;
use crate::kinds::Kind;
use crate::names::Names;
use crate::upstream::Upstream;
use crate::watch_hub::{HubEvent, WatchHub};

/// The state of one case on a real API server.
pub(crate) struct Case {
    pub(crate) upstream: Upstream,
    pub(crate) names: Names,
    pub(crate) attribution: Attribution,
    pub(crate) faults: Arc<Faults>,
    hub: Arc<WatchHub>,
    /// Client names by bearer token.
    pub(crate) clients: Mutex<BTreeMap<String, Arc<str>>>,
    /// Number of requests in flight, excluding watches.
    in_flight: watch::Sender<usize>,
    has_ended: AtomicBool,
    follow_task: Mutex<Option<JoinHandle<()>>>,
}

impl Case {
    /// Creates a case whose objects are not watched yet.
    pub(crate) fn new(upstream: Upstream, hub: Arc<WatchHub>, names: Names, sink: &FactSink) -> Arc<Self> {
        Arc::new(Case {
            upstream,
            names,
            attribution: Attribution::new(sink.clone()),
            faults: Arc::new(Faults::new(sink.clone())),
            hub,
            clients: Mutex::default(),
            in_flight: watch::Sender::new(0),
            has_ended: AtomicBool::new(false),
            follow_task: Mutex::default(),
        })
    }

    pub(crate) fn subscribe(&self) -> mpsc::Receiver<HubEvent> {
        self.hub.subscribe(self.names.case_id())
    }

    /// Stores the task that follows the objects of the case, so that the task ends together with the case.
    pub(crate) fn set_follow_task(&self, task: JoinHandle<()>) {
        *self.follow_task.lock() = Some(task);
    }

    pub(crate) fn client(&self, token: &str) -> Option<Arc<str>> {
        self.clients.lock().get(token).cloned()
    }

    /// The watched resources that the server serves; an older server does not serve all of [`KINDS`](crate::kinds::KINDS).
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.hub.served()
    }

    /// Resolves when no request is in flight.
    pub(crate) async fn wait_until_idle(&self) {
        let mut in_flight = self.in_flight.subscribe();
        // `self` owns the sender, so the wait cannot fail.
        let _ = in_flight.wait_for(|count| *count == 0).await;
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(crate) fn begin_request(self: &Arc<Self>) -> RequestGuard {
        self.in_flight.send_modify(|count| *count += 1);
        RequestGuard(self.clone())
    }

    /// Whether the case has ended; an ended case must not create objects.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Ends the case, so that it creates no more objects. Resolves when the last request has its response.
    pub(crate) async fn stop(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.wait_until_idle().await;
        self.hub.unsubscribe(self.names.case_id());
        let follow_task = self.follow_task.lock().take();
        if let Some(follow_task) = follow_task {
            follow_task.abort();
        }
    }
}

/// A request in flight. Dropping the guard ends the request.
pub(crate) struct RequestGuard(Arc<Case>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0
            .in_flight
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}
