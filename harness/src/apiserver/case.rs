//! What a case before the real server has: its names, its clients, its facts and its faults. Answers nothing by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fake_apiserver::{Rule, RuleError, RuleId};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::attribution::Attribution;
use super::faults::Faults;
use super::kinds::KINDS;
use super::names::Names;
use super::random::random;
use super::upstream::Upstream;
use super::watch_hub::{News, WatchHub};
use crate::fact_sink::FactSink;

/// What a case has of the server.
pub(crate) struct Case {
    pub(super) upstream: Upstream,
    pub(super) names: Names,
    pub(super) attribution: Attribution,
    pub(super) faults: Arc<Faults>,
    hub: Arc<WatchHub>,
    /// By token.
    clients: Mutex<BTreeMap<String, Arc<str>>>,
    /// Requests that are not answered yet, watches excepted.
    busy: watch::Sender<usize>,
    is_over: AtomicBool,
    following: Mutex<Option<JoinHandle<()>>>,
}

impl Case {
    /// A case that has not begun to follow its objects.
    pub(super) fn new(upstream: Upstream, hub: Arc<WatchHub>, names: Names, sink: &FactSink) -> Arc<Self> {
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
    pub(super) fn join(&self) -> mpsc::Receiver<News> {
        self.hub.join(self.names.case())
    }

    /// Keeps the task that follows the objects; it ends with the case.
    pub(super) fn keep_following(&self, task: JoinHandle<()>) {
        *self.following.lock() = Some(task);
    }

    /// Makes a token for a client of that name.
    pub(crate) fn add_client(&self, name: &str) -> String {
        let token = random(32);
        self.clients.lock().insert(token.clone(), name.into());
        token
    }

    /// Whose token it is.
    pub(super) fn client(&self, token: &str) -> Option<Arc<str>> {
        self.clients.lock().get(token).cloned()
    }

    /// The kinds that the server has and that are followed.
    pub(super) fn kinds(&self) -> Vec<super::kinds::Kind> {
        self.hub.served()
    }

    /// Installs a failure.
    pub(crate) fn perturb(&self, rule: Rule) -> Result<RuleId, RuleError> {
        let newest = |resource: &str| (resource.to_owned(), self.attribution.newest(resource));
        let newest = KINDS.iter().map(|kind| newest(kind.resource)).collect();
        self.faults.install(rule, newest)
    }

    /// Removes a failure.
    pub(crate) fn unperturb(&self, id: RuleId) {
        self.faults.remove(id);
    }

    /// Resolves when no request is in flight.
    pub(crate) async fn quiet(&self) {
        let mut busy = self.busy.subscribe();
        // The sender lives in self, so the wait can't fail.
        let _ = busy.wait_for(|count| *count == 0).await;
    }

    /// Counts a request until what it returns is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.busy.send_modify(|count| *count += 1);
        Busy(self.clone())
    }

    /// Whether nothing may be created any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// From now on, nothing is created any more; resolves when the last request has been answered.
    pub(super) async fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.quiet().await;
        self.hub.leave(self.names.case());
        let following = self.following.lock().take();
        if let Some(following) = following {
            following.abort();
        }
    }
}

/// A request in flight.
pub(super) struct Busy(Arc<Case>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.send_modify(|count| *count = count.saturating_sub(1));
    }
}
