//! State of one case that runs against a real API server: names, clients, facts and faults. Handles no requests.

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
use crate::watch_hub::{News, WatchHub};

/// State of one case.
pub(crate) struct Case {
    pub(crate) upstream: Upstream,
    pub(crate) names: Names,
    pub(crate) attribution: Attribution,
    pub(crate) faults: Arc<Faults>,
    hub: Arc<WatchHub>,
    /// Client names by token.
    pub(crate) clients: Mutex<BTreeMap<String, Arc<str>>>,
    /// Number of requests in flight, excluding watches.
    busy: watch::Sender<usize>,
    is_over: AtomicBool,
    following: Mutex<Option<JoinHandle<()>>>,
}

impl Case {
    /// A case that does not watch its objects yet.
    pub(crate) fn new(upstream: Upstream, hub: Arc<WatchHub>, names: Names, sink: &FactSink) -> Arc<Self> {
        Arc::new(Case {
            upstream,
            names,
            attribution: Attribution::new(sink.clone()),
            faults: Arc::new(Faults::new(sink.clone())),
            hub,
            clients: Mutex::default(),
            busy: watch::Sender::new(0),
            is_over: AtomicBool::new(false),
            following: Mutex::default(),
        })
    }

    /// Starts to receive changes of its objects from the watch hub.
    pub(crate) fn join(&self) -> mpsc::Receiver<News> {
        self.hub.join(self.names.case())
    }

    /// Stores the task that follows the objects; it ends with the case.
    pub(crate) fn keep_following(&self, task: JoinHandle<()>) {
        *self.following.lock() = Some(task);
    }

    /// Client name of a token.
    pub(crate) fn client(&self, token: &str) -> Option<Arc<str>> {
        self.clients.lock().get(token).cloned()
    }

    /// The watched resources that the server serves.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.hub.served()
    }

    /// Resolves when no request is in flight.
    pub(crate) async fn answered(&self) {
        let mut busy = self.busy.subscribe();
        // `self` owns the sender, so the wait cannot fail.
        let _ = busy.wait_for(|count| *count == 0).await;
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.busy.send_modify(|count| *count += 1);
        Busy(self.clone())
    }

    /// Whether the case has ended, so that it may create nothing.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends the case, so that it creates nothing more; resolves when the last request has been answered.
    pub(crate) async fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        self.answered().await;
        self.hub.leave(self.names.case());
        let following = self.following.lock().take();
        if let Some(following) = following {
            following.abort();
        }
    }
}

/// A request in flight.
pub(crate) struct Busy(Arc<Case>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.send_modify(|count| *count = count.saturating_sub(1));
    }
}
