//! Runs cases against a real API server instead of the in-memory one, and records the same facts.
//!
//! A proxy of the harness forwards all requests to the server. Programs under test connect to the proxy as to the in-memory server: on
//! loopback, each with its own token, which the proxy replaces with the user's credentials. The proxy records the requests and responses.
//! Modules:
//!
//! - `upstream`: connection to the server, and the check whether it can be used.
//! - `names`: the suffix that makes names of a case unique on the server, so that it cannot touch other objects.
//! - `watch_hub`, `attribution`: the run's own watches, and which client caused each change.
//! - `proxy`, `outcome`, `stream`, `listen`, `client`: requests and watches.
//! - `faults`: faults that the proxy injects.
//! - `controllers`: controllers that a bare API server lacks and cases need.
//! - `api_case`: the interface for the harness.
//! - `clean`: deletion of the objects of a run.
//! - `skips`: cases that cannot run behind a proxy.
//!
//! Does not know what a case tests. The proxy adds and removes the suffix of names, so plan, driver, programs, journal and judge do not
//! differ from a run against the in-memory server: a difference between two runs is then a difference between the servers.

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
mod outcome;
mod outgoing;
mod proxy;
mod random;
mod request_fact;
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

/// A real API server that the cases of a run share. Clones share one connection.
#[derive(Clone)]
pub struct RealServer(Arc<Shared>);

struct Shared {
    upstream: Upstream,
    hub: Arc<WatchHub>,
    tasks: Vec<AbortHandle>,
    /// Random id of the run, which is part of all object names on the server.
    run: String,
    cases: AtomicU64,
    running: Mutex<Vec<std::sync::Weak<Case>>>,
    has_ended: AtomicBool,
    version: String,
    minor: u8,
}

impl RealServer {
    /// Connects with the current context of a kubeconfig, checks permissions and that no controllers run, and starts to watch the objects
    /// of the run. Creates nothing.
    ///
    /// Returns an error if the file is invalid, if the server is unreachable or rejects the credentials, or if controllers are active in
    /// its cluster.
    pub async fn connect(kubeconfig: &Path) -> Result<Self, ConnectError> {
        let upstream = Upstream::open(kubeconfig).await?;
        let version = upstream.check_usable(kubeconfig).await?;
        let run = random(6);
        let (hub, tasks) =
            WatchHub::start(upstream.clone(), &run)
                .await
                .map_err(|error| ConnectError::Unreachable {
                    path: PathBuf::from(kubeconfig),
                    why: error.0,
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
            has_ended: AtomicBool::new(false),
            version: version["gitVersion"].as_str().unwrap_or_default().to_owned(),
            minor,
        })))
    }

    /// The release that the server reports, such as `v1.36.0 (1.36)`.
    pub fn version(&self) -> String {
        format!("{} (1.{})", self.0.version, self.0.minor)
    }

    /// Value of [`RUN_LABEL`] on all objects of this run.
    pub fn run_id(&self) -> &str {
        &self.0.run
    }

    /// Ends the run: its cases can create no more objects, and objects with the run's label are deleted. Returns objects that could not be
    /// deleted, each with the reason.
    pub async fn delete_created_objects(&self) -> Vec<String> {
        self.0.has_ended.store(true, Ordering::Release);
        let running: Vec<_> = self.0.running.lock().drain(..).collect();
        for case in running.iter().filter_map(std::sync::Weak::upgrade) {
            case.stop().await;
        }
        let mut remaining = Vec::new();
        for kind in self.0.hub.served() {
            match self.0.hub.list(kind).await {
                Ok(Some((objects, _))) => {
                    remaining.extend(clean::remove(&self.0.upstream, kind, objects).await);
                }
                Ok(None) => {}
                Err(error) => remaining.push(format!("{}: {}", kind.resource, error.0)),
            }
        }
        remaining
    }
}

impl RealApiServer for RealServer {
    /// Starts a case with its own names, facts and faults. Creates no objects on the server.
    fn start_case(&self, sink: &FactSink) -> Result<Arc<dyn RealApiCase>, String> {
        let number = self.0.cases.fetch_add(1, Ordering::Relaxed);
        let names = Names::new(&self.0.run, number);
        let case = Case::new(self.0.upstream.clone(), self.0.hub.clone(), names, sink);
        follow::spawn_follow_task(&case);
        {
            let mut running = self.0.running.lock();
            if self.0.has_ended.load(Ordering::Acquire) {
                return Err("the run has ended".to_owned());
            }
            running.retain(|case| case.strong_count() > 0);
            running.push(Arc::downgrade(&case));
        }
        Ok(case)
    }

    fn skip_reason(&self, plan: &Plan) -> Option<String> {
        skips::skip_reason(self.0.minor, plan)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}
