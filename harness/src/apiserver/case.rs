//! One case before the real server: its names, its clients, its facts and its faults, and the task that follows what the server
//! tells of its objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fake_apiserver::{Rule, RuleError, RuleId};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::exchange::Asked;
use super::faults::Faults;
use super::hub::{Hub, News};
use super::kinds::KINDS;
use super::listen::Listening;
use super::names::Names;
use super::random;
use super::surroundings;
use super::upstream::Upstream;
use super::witness::{Key, Seen, Witness};
use crate::journal::{Change, Journal};
use crate::system::Killer;

/// What a case has of the server.
pub(crate) struct Case {
    pub(super) upstream: Upstream,
    pub(super) names: Names,
    pub(super) witness: Witness,
    pub(super) faults: Arc<Faults>,
    hub: Arc<Hub>,
    /// By token.
    clients: Mutex<BTreeMap<String, Arc<str>>>,
    /// Requests that are not answered yet, watches excepted.
    busy: watch::Sender<usize>,
    is_over: AtomicBool,
    following: Mutex<Option<JoinHandle<()>>>,
}

impl Case {
    /// Begins to follow its objects.
    pub(super) fn start(
        upstream: Upstream,
        hub: Arc<Hub>,
        names: Names,
        journal: &Journal,
        killer: Killer,
    ) -> Arc<Self> {
        let news = hub.join(names.case());
        let case = Arc::new(Case {
            upstream,
            names,
            witness: Witness::new(journal.clone()),
            faults: Arc::new(Faults::new(journal.clone(), killer)),
            hub,
            clients: Mutex::default(),
            busy: watch::Sender::new(0),
            is_over: AtomicBool::new(false),
            following: Mutex::default(),
        });
        let task = tokio::spawn(case.clone().follow(news));
        *case.following.lock() = Some(task);
        case
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

    /// Opens a listener before the server.
    pub(crate) async fn listen(self: &Arc<Self>, with_tls: bool) -> std::io::Result<Listening> {
        Listening::open(self, with_tls).await
    }

    /// Installs a failure.
    pub(crate) fn perturb(&self, rule: Rule) -> Result<RuleId, RuleError> {
        let newest = |resource: &str| (resource.to_owned(), self.witness.newest(resource));
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

    async fn follow(self: Arc<Self>, mut news: mpsc::Receiver<News>) {
        while let Some(news) = news.recv().await {
            match news {
                News::Change(change, resource, mut object) => {
                    self.names.receive(&mut object);
                    self.take(Seen {
                        change,
                        resource,
                        object,
                    })
                    .await;
                }
                News::All(resource, objects) => self.catch_up(&resource, objects).await,
            }
        }
    }

    async fn take(self: &Arc<Self>, seen: Seen) {
        let key = Key::of(&seen.resource, &seen.object);
        let (change, object) = (seen.change, seen.object.clone());
        self.witness.see(seen).await;
        if !self.is_over() {
            surroundings::react(self, key, change, object);
        }
    }

    /// Makes up for events that were lost.
    async fn catch_up(self: &Arc<Self>, resource: &Arc<str>, objects: Vec<serde_json::Value>) {
        let mut there = Vec::new();
        for mut object in objects {
            self.names.receive(&mut object);
            let key = Key::of(resource, &object);
            let change = match self.witness.object(&key) {
                Some(_) => Change::Modified,
                None => Change::Added,
            };
            there.push(key);
            let resource = resource.clone();
            self.take(Seen {
                change,
                resource,
                object,
            })
            .await;
        }
        for (key, object) in self.witness.objects() {
            if key.resource == *resource && !there.contains(&key) {
                self.take(Seen {
                    change: Change::Deleted,
                    resource: resource.clone(),
                    object: (*object).clone(),
                })
                .await;
            }
        }
    }

    /// A request of the harness's own, under a client's name; faults are not for it.
    pub(super) fn ours(client: &str) -> Asked {
        Asked {
            client: client.into(),
            is_ours: true,
            ..Asked::default()
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
