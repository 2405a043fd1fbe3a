//! What a case before the real server has: its names, its clients, its facts and its faults. Answers nothing by itself.

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

/// What a case has of the server.
pub(crate) struct Case {
    pub(crate) upstream: Upstream,
    pub(crate) names: Names,
    pub(crate) attribution: Attribution,
    pub(crate) faults: Arc<Faults>,
    hub: Arc<WatchHub>,
    /// By token.
    pub(crate) clients: Mutex<BTreeMap<String, Arc<str>>>,
    /// Requests that are not answered yet, watches excepted.
    busy: watch::Sender<usize>,
    is_over: AtomicBool,
    following: Mutex<Option<JoinHandle<()>>>,
}

impl Case {
    /// A case that has not begun to follow its objects.
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

    /// What the server reports of its objects from now on.
    pub(crate) fn join(&self) -> mpsc::Receiver<News> {
        self.hub.join(self.names.case())
    }

    /// Keeps the task that follows the objects; it ends with the case.
    pub(crate) fn keep_following(&self, task: JoinHandle<()>) {
        *self.following.lock() = Some(task);
    }

    /// Whose token it is.
    pub(crate) fn client(&self, token: &str) -> Option<Arc<str>> {
        self.clients.lock().get(token).cloned()
    }

    /// The kinds that the server has and that are followed.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.hub.served()
    }

    /// Resolves when no request is in flight.
    pub(crate) async fn answered(&self) {
        let mut busy = self.busy.subscribe();
        // The sender lives in self, so the wait can't fail.
        let _ = busy.wait_for(|count| *count == 0).await;
    }

    /// Counts a request until what it returns is dropped.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.busy.send_modify(|count| *count += 1);
        Busy(self.clone())
    }

    /// Whether nothing may be created any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// From now on, nothing is created any more; resolves when the last request has been answered.
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
