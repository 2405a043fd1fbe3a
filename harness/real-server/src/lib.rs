//! A real API server in the place of the one in memory: the same cases, and the same facts about them.
//!
//! A proxy of the harness stands before the server. The systems of a case reach it as they would reach the server in memory: on
//! loopback, each with a token of its own, which the proxy replaces by the user's credentials. What it passes on, it writes down.
//! Other layers:
//!
//! - `upstream`: the server itself, and whether it can be used at all.
//! - `names`: how a case gets names of its own there, so that it collides with nothing and can touch nothing of others.
//! - `watch_hub`, `attribution`: what happened to the case's objects, from watches of the run's own, and who did it.
//! - `proxy`, `outcome`, `stream`, `listen`, `client`: requests and watches.
//! - `faults`: failures on demand, before the server.
//! - `controllers`: what no bare API server does and cases rely on.
//! - `api_case`: what the harness calls.
//! - `clean`: removing what a run created.
//! - `skips`: what cases want of a server that no proxy can give.
//!
//! Not here: what a case is about. Names are unique by a suffix that the proxy adds and takes away again, rather than in the plan,
//! so that plan, driver, systems, journal and judge are exactly those of a run against the server in memory: a difference between
//! two runs is then a difference between the servers.

mod api_case;
mod attribution;
mod case;
mod clean;
mod client;
mod controllers;
mod creation;
mod faults;
mod follow;
mod kinds;
mod listen;
mod message;
mod names;
mod note;
mod outcome;
mod outgoing;
mod proxy;
mod random;
mod skips;
mod stream;
mod upstream;
mod watch_hub;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use harness::api_server::{RealApiCase, RealApiServer};
use harness::fact_sink::FactSink;
use harness::plan::Plan;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

pub use names::RUN_LABEL;
pub use upstream::ConnectError;

use case::Case;
use names::Names;
use random::random;
use upstream::Upstream;
use watch_hub::WatchHub;

/// A real API server that the cases of a run share. Clones are handles of the same one.
#[derive(Clone)]
pub struct RealServer(Arc<Shared>);

struct Shared {
    upstream: Upstream,
    hub: Arc<WatchHub>,
    tasks: Vec<AbortHandle>,
    /// What makes the names of this run unlike all others'.
    run: String,
    cases: AtomicU64,
    running: Mutex<Vec<std::sync::Weak<Case>>>,
    is_over: AtomicBool,
    version: String,
    minor: u8,
}

impl RealServer {
    /// Connects with the user and the cluster of a kubeconfig's current context, checks rights and surroundings, and begins to follow
    /// what the run will create. Creates nothing.
    ///
    /// Fails when the file can't be used, when the server can't be reached or refuses, and when others are at work in its cluster.
    pub async fn connect(kubeconfig: &Path) -> Result<Self, ConnectError> {
        let upstream = Upstream::open(kubeconfig).await?;
        let version = upstream.check(kubeconfig).await?;
        let run = random(6);
        let (hub, tasks) =
            WatchHub::start(upstream.clone(), &run)
                .await
                .map_err(|lost| ConnectError::Unreachable {
                    path: PathBuf::from(kubeconfig),
                    why: lost.0,
                })?;
        let minor = version["minor"].as_str().unwrap_or_default();
        let minor = minor
            .trim_end_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .unwrap_or(0);
        Ok(RealServer(Arc::new(Shared {
            upstream,
            hub,
            tasks,
            run,
            cases: AtomicU64::new(0),
            running: Mutex::default(),
            is_over: AtomicBool::new(false),
            version: version["gitVersion"].as_str().unwrap_or_default().to_owned(),
            minor,
        })))
    }

    /// The release, as the server writes it.
    pub fn version(&self) -> String {
        format!("{} (1.{})", self.0.version, self.0.minor)
    }

    /// The value of [`RUN_LABEL`] on everything that this run creates.
    pub fn run(&self) -> &str {
        &self.0.run
    }

    /// Ends the run: cases that are not over can create nothing any more, and whatever carries the run's label is removed. Returns
    /// what is left, each with the reason.
    pub async fn finish(&self) -> Vec<String> {
        self.0.is_over.store(true, Ordering::Release);
        let running: Vec<_> = self.0.running.lock().drain(..).collect();
        for case in running.iter().filter_map(std::sync::Weak::upgrade) {
            case.stop().await;
        }
        let mut left = Vec::new();
        for kind in self.0.hub.served() {
            match self.0.hub.list(kind).await {
                Ok(Some((objects, _))) => {
                    left.extend(clean::remove(&self.0.upstream, kind, objects).await);
                }
                Ok(None) => {}
                Err(lost) => left.push(format!("{}: {}", kind.resource, lost.0)),
            }
        }
        left
    }
}

impl RealApiServer for RealServer {
    /// Begins a case: its names, its facts, its faults, and the namespaces that every cluster has.
    fn case(&self, sink: &FactSink) -> Result<Arc<dyn RealApiCase>, String> {
        let number = self.0.cases.fetch_add(1, Ordering::Relaxed);
        let names = Names::new(&self.0.run, number);
        let case = Case::new(self.0.upstream.clone(), self.0.hub.clone(), names, sink);
        follow::start(&case);
        {
            let mut running = self.0.running.lock();
            if self.0.is_over.load(Ordering::Acquire) {
                return Err("the run is over".to_owned());
            }
            running.retain(|case| case.strong_count() > 0);
            running.push(Arc::downgrade(&case));
        }
        Ok(case)
    }

    fn skips(&self, plan: &Plan) -> Option<String> {
        skips::skips(self.0.minor, plan)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}
