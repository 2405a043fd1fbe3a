//! Systems under test: programs that play a role, given an API server address, a token and a CSI socket, and nothing else.
//!
//! Knows how to start and stop them; never what they do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber;

use crate::api_server::RealApiServer;
use crate::driver_state::DriverState;
use crate::journal::{Exit, Journal, LastWords, ProcessEvent, ProcessFact, What};
use crate::killer::Killer;
use crate::log_lines::LogLines;
use crate::network::Network;
use crate::scenario::Role;
use crate::settings::Settings;

/// An error of any kind, as binaries use it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// All that a system gets to know.
#[derive(Debug, Clone)]
pub struct Access {
    /// The way to the addresses below.
    pub network: Network,
    /// Base URL of the API server.
    pub api_url: String,
    /// Its own bearer token.
    pub token: String,
    /// The driver's socket; only publishers have one.
    pub csi_socket: Option<PathBuf>,
    /// The node it runs on, in distributed mode.
    pub node: Option<String>,
    /// Its namespace.
    pub namespace: String,
    /// Its pod, where the case wants an owner.
    pub pod: Option<String>,
    /// Where it has to serve its metrics, where the case reads them.
    pub metrics_address: Option<String>,
    /// The logical settings of the case.
    pub settings: Settings,
    /// The time of day.
    pub clock: fn() -> Timestamp,
    /// What its random choices follow from; none: chance.
    pub seed: Option<u64>,
    /// What listens to its log, where the case asks for lines of it.
    pub log: Option<LogLines>,
    /// What a process of its own needs besides; none for systems in this process.
    pub child: Option<ChildAccess>,
}

/// What a child process gets to know.
#[derive(Debug, Clone)]
pub struct ChildAccess {
    /// A kubeconfig with its token.
    pub kubeconfig: PathBuf,
    /// Base URL of the API server, over TLS: client-go sends no token over anything else.
    pub api_url: String,
    /// The authority that signed the server's certificate.
    pub authority_pem: String,
    /// Where what it says is kept.
    pub log: PathBuf,
    /// A folder of its own, which is there again when it is started again.
    pub state: PathBuf,
}

/// What stands for the address in the URL of a system's metrics.
pub const METRICS_ADDRESS: &str = "{metrics_address}";

/// Runs one instance until it is cancelled. An early end, even a good one, is reported as such.
pub type Run = dyn Fn(Access, CancellationToken) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;

/// A program that can play a role.
#[derive(Clone)]
pub struct System {
    /// What reports call it.
    pub name: String,
    /// Runs an instance.
    pub run: Arc<Run>,
    /// The URL of its metrics, with [`METRICS_ADDRESS`] in the place of the address that it is given; none: it serves none.
    pub metrics_url: Option<String>,
    /// Whether that is a process of its own: it gets a kubeconfig, and is waited for until it asks for something.
    pub is_child: bool,
}

/// The systems of a run, by role.
#[derive(Clone, Default)]
pub struct Systems {
    /// One per role.
    pub by_role: BTreeMap<Role, System>,
    /// A driver that runs already.
    pub driver_socket: Option<DriverSocket>,
    /// The objects that programs under test find when they start. A driver may keep its state in them.
    pub objects: BTreeMap<Role, Arc<dyn DriverState>>,
    /// The real API server that stands in for the one in memory.
    pub api_server: Option<Arc<dyn RealApiServer>>,
}

/// The socket of a driver that runs already.
#[derive(Debug, Clone)]
pub struct DriverSocket {
    /// Its path.
    pub path: PathBuf,
    /// Held by the case that uses it: its answers must not change by what other cases do.
    pub(crate) turn: Arc<tokio::sync::Semaphore>,
}

impl DriverSocket {
    /// The one at a path.
    pub fn new(path: PathBuf) -> Self {
        DriverSocket {
            path,
            turn: Arc::new(tokio::sync::Semaphore::new(1)),
        }
    }
}

/// The instances that are running.
pub(crate) struct Fleet {
    systems: Systems,
    journal: Journal,
    pub(crate) killer: Killer,
    running: BTreeMap<Arc<str>, Instance>,
    /// Instances that were ever started.
    pub(crate) starts: u64,
}

struct Instance {
    role: Role,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Fleet {
    pub(crate) fn new(systems: Systems, journal: Journal, killer: Killer) -> Self {
        Fleet {
            systems,
            journal,
            killer,
            running: BTreeMap::new(),
            starts: 0,
        }
    }

    /// Whether any of its systems is a process of its own.
    pub(crate) fn has_children(&self) -> bool {
        self.systems.by_role.values().any(|system| system.is_child)
    }

    /// The child processes that are running, by client name.
    pub(crate) fn children(&self) -> impl Iterator<Item = (&Arc<str>, Role)> {
        let is_child = |role| {
            self.systems
                .by_role
                .get(&role)
                .is_some_and(|system| system.is_child)
        };
        self.running
            .iter()
            .map(|(client, instance)| (client, instance.role))
            .filter(move |(_, role)| is_child(*role))
    }

    /// Where the metrics of a role are read, given the address; none: it serves none.
    pub(crate) fn metrics_url(&self, role: Role, address: &str) -> Option<String> {
        let url = self.systems.by_role.get(&role)?.metrics_url.as_ref()?;
        Some(url.replace(METRICS_ADDRESS, address))
    }

    /// The instances of a role that are running, by client name.
    pub(crate) fn running(&self, role: Role) -> impl Iterator<Item = &Arc<str>> {
        let of_role = self.running.iter().filter(move |(_, it)| it.role == role);
        of_role.map(|(client, _)| client)
    }

    /// Starts an instance under its client name.
    pub(crate) fn start(&mut self, role: Role, client: &str, access: Access) -> Result<(), String> {
        let Some(system) = self.systems.by_role.get(&role) else {
            return Err(format!("no system plays the {}; name one", role.as_str()));
        };
        self.starts += 1;
        let client: Arc<str> = client.into();
        let stop = CancellationToken::new();
        let run = system.run.clone();
        let journal = self.journal.clone();
        let (name, token) = (client.clone(), stop.clone());
        let killed = self.killer.watch(&client, &stop).cancelled_owned();
        // Whatever it spawns must take this along, which is its own business.
        let is_child = system.is_child;
        let heard = access.log.as_ref().filter(|_| !is_child);
        let listener = heard.map(LogLines::dispatch);
        journal.append(process(&client, role, ProcessEvent::Started));
        let task = tokio::spawn(async move {
            let running = run(access, token.clone());
            let running = async {
                tokio::select! {
                    biased;
                    ended = running => ended,
                    // Tasks of a system in this process would go on without their owner, and it ends when it is stopped.
                    () = killed, if is_child => Ok(()),
                }
            };
            let running = std::panic::AssertUnwindSafe(running).catch_unwind();
            let ended = match listener {
                Some(listener) => running.with_subscriber(listener).await,
                None => running.await,
            };
            if !token.is_cancelled() {
                journal.append(process(&name, role, ProcessEvent::Exited(exit_of(ended))));
            }
        });
        self.running.insert(client, Instance { role, stop, task });
        Ok(())
    }

    /// Stops all instances of a role and waits for their end.
    pub(crate) async fn stop(&mut self, role: Role) {
        let names: Vec<_> = self
            .running
            .iter()
            .filter(|(_, it)| it.role == role)
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            self.stop_client(&name).await;
        }
    }

    /// Stops one instance and waits for its end; nothing happens if there is none.
    pub(crate) async fn stop_client(&mut self, client: &str) {
        let Some(instance) = self.running.remove(client) else {
            return;
        };
        instance.stop.cancel();
        // A panic was reported by the task itself.
        let _ = instance.task.await;
        self.journal
            .append(process(&client.into(), instance.role, ProcessEvent::Stopped));
    }

    /// Stops everything.
    pub(crate) async fn stop_all(&mut self) {
        let names: Vec<_> = self.running.keys().cloned().collect();
        for name in names {
            self.stop_client(&name).await;
        }
    }
}

fn process(client: &Arc<str>, role: Role, event: ProcessEvent) -> What {
    What::Process(ProcessFact {
        client: client.clone(),
        role,
        event,
    })
}

/// A program ended by itself; what a [`Run`] returns of a process of its own.
#[derive(Debug, thiserror::Error)]
#[error("{status}")]
pub(crate) struct ProgramEnded {
    /// Its exit status.
    pub(crate) status: ExitStatus,
    pub(crate) last_words: LastWords,
}

fn exit_of(ended: Result<Result<(), BoxError>, Box<dyn std::any::Any + Send>>) -> Exit {
    let silent = |how: String| Exit {
        how,
        last_words: None,
    };
    match ended {
        Ok(Ok(())) => silent("without an error, although it was not stopped".to_owned()),
        Ok(Err(error)) => match error.downcast::<ProgramEnded>() {
            Ok(program) => Exit {
                how: program.to_string(),
                last_words: Some(program.last_words),
            },
            Err(error) => silent(format!("error: {error}")),
        },
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            silent(format!("panic: {}", text.unwrap_or("without a text")))
        }
    }
}
