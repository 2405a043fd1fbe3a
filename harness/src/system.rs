//! Programs under test, each with a role. A program gets the URL of an API server, a bearer token and the path of a CSI socket.
//!
//! Starts and stops programs. Does not know what they do.

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
use crate::driver_state::ProgramObjects;
use crate::journal::{Exit, Journal, LastOutput, Observation, ProcessEvent, ProcessFact};
use crate::killer::Killer;
use crate::log_lines::LogLines;
use crate::network::Network;
use crate::scenario::Role;
use crate::settings::Settings;

/// Any error, boxed so that it can be sent to another thread.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The inputs of a program under test.
#[derive(Debug, Clone)]
pub struct ProgramInputs {
    /// Network through which the program reaches the API server and the driver.
    pub network: Network,
    /// Base URL of the API server.
    pub api_url: String,
    /// Bearer token of the program.
    pub token: String,
    /// Path of the driver's socket; `None` for all programs except publishers.
    pub csi_socket: Option<PathBuf>,
    /// Node of the program in distributed mode.
    pub node: Option<String>,
    /// Namespace of the program.
    pub namespace: String,
    /// Name of the program's pod, if the case sets `ownerLevel`.
    pub pod: Option<String>,
    /// Address on which the program must serve its metrics; `None` if the case does not read the program's metrics.
    pub metrics_address: Option<String>,
    /// Settings of the case.
    pub settings: Settings,
    /// Returns the time of day, real or simulated.
    pub clock: fn() -> Timestamp,
    /// Seed of the program's random choices; `None`: real randomness.
    pub seed: Option<u64>,
    /// Receives the log lines of the program, if the case searches for log lines.
    pub log: Option<LogLines>,
    /// Additional inputs of a child process; `None` for a program that runs as a task of this process.
    pub child: Option<ChildAccess>,
}

/// Additional inputs of a child process.
#[derive(Debug, Clone)]
pub struct ChildAccess {
    /// Path of a kubeconfig with the program's token.
    pub kubeconfig: PathBuf,
    /// URL of the API server with TLS: client-go sends tokens only over TLS.
    pub api_url: String,
    /// Certificate of the CA that signed the server's certificate, in PEM.
    pub authority_pem: String,
    /// Path of the program's log file.
    pub log: PathBuf,
    /// A private folder that remains when the program is restarted.
    pub state: PathBuf,
}

/// Placeholder for the listen address in the metrics URL of a program.
pub const METRICS_ADDRESS: &str = "{metrics_address}";

/// A function that runs one program instance until it is cancelled. An earlier return, even a successful one, is reported as an exit.
pub type Run =
    dyn Fn(ProgramInputs, CancellationToken) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;

/// A program under test and how to run it.
#[derive(Clone)]
pub struct System {
    /// Name of the program in reports.
    pub name: String,
    /// Runs one instance of the program.
    pub run: Arc<Run>,
    /// URL of the program's metrics, with the placeholder [`METRICS_ADDRESS`]; `None` if the program serves no metrics.
    pub metrics_url: Option<String>,
    /// Whether the program runs as a child process. It then gets a kubeconfig, and a case waits for its first request.
    pub is_child: bool,
}

/// The programs under test of a run, by role.
#[derive(Clone, Default)]
pub struct Systems {
    /// The program of each role.
    pub by_role: BTreeMap<Role, System>,
    /// Socket of a driver that is already running.
    pub driver_socket: Option<DriverSocket>,
    /// API objects that the programs of a role need at their start. A driver may read its storage from these objects.
    pub objects: BTreeMap<Role, Arc<dyn ProgramObjects>>,
    /// The real API server that replaces the in-memory one.
    pub api_server: Option<Arc<dyn RealApiServer>>,
}

/// Socket of a driver that is already running.
#[derive(Debug, Clone)]
pub struct DriverSocket {
    /// Path of the socket.
    pub path: PathBuf,
    /// A semaphore with one permit. A case holds the permit while it uses the driver, because other cases would change the driver's
    /// responses.
    pub(crate) permits: Arc<tokio::sync::Semaphore>,
}

impl DriverSocket {
    /// Creates the value for a driver that listens on the socket at this path.
    pub fn new(path: PathBuf) -> Self {
        DriverSocket {
            path,
            permits: Arc::new(tokio::sync::Semaphore::new(1)),
        }
    }
}

/// The running instances of all programs.
pub(crate) struct Fleet {
    systems: Systems,
    journal: Journal,
    pub(crate) killer: Killer,
    running: BTreeMap<Arc<str>, Instance>,
    /// Number of program instances started so far.
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

    pub(crate) fn has_children(&self) -> bool {
        self.systems.by_role.values().any(|system| system.is_child)
    }

    /// Client name and role of the running child processes.
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

    /// Metrics URL of the role's program at a listen address; `None` if the program serves no metrics.
    pub(crate) fn metrics_url(&self, role: Role, address: &str) -> Option<String> {
        let url = self.systems.by_role.get(&role)?.metrics_url.as_ref()?;
        Some(url.replace(METRICS_ADDRESS, address))
    }

    /// Client names of the running instances of a role.
    pub(crate) fn running(&self, role: Role) -> impl Iterator<Item = &Arc<str>> {
        let of_role = self.running.iter().filter(move |(_, it)| it.role == role);
        of_role.map(|(client, _)| client)
    }

    /// Starts an instance of the role's program. The journal records the instance's requests under this client name.
    pub(crate) fn start(&mut self, role: Role, client: &str, access: ProgramInputs) -> Result<(), String> {
        let Some(system) = self.systems.by_role.get(&role) else {
            return Err(format!(
                "no system under test has the role `{}`; add one",
                role.as_str()
            ));
        };
        self.starts += 1;
        let client: Arc<str> = client.into();
        let stop = CancellationToken::new();
        let run = system.run.clone();
        let journal = self.journal.clone();
        let (name, token) = (client.clone(), stop.clone());
        let killed = self.killer.register(&client, &stop).cancelled_owned();
        let is_child = system.is_child;
        // The subscriber receives `tracing` events of this task only. A program must pass the subscriber to tasks that it spawns.
        let log = access.log.as_ref().filter(|_| !is_child);
        let subscriber = log.map(LogLines::dispatch);
        journal.append(process(&client, role, ProcessEvent::Started));
        let task = tokio::spawn(async move {
            let running = run(access, token.clone());
            let running = async {
                tokio::select! {
                    biased;
                    ended = running => ended,
                    // A program that runs as a task is cancelled instead of aborted, because the tasks that it has spawned would continue
                    // without it.
                    () = killed, if is_child => Ok(()),
                }
            };
            let running = std::panic::AssertUnwindSafe(running).catch_unwind();
            let ended = match subscriber {
                Some(subscriber) => running.with_subscriber(subscriber).await,
                None => running.await,
            };
            if !token.is_cancelled() {
                journal.append(process(&name, role, ProcessEvent::Exited(exit_of(ended))));
            }
        });
        self.running.insert(client, Instance { role, stop, task });
        Ok(())
    }

    /// Stops all instances of a role and waits until they have ended.
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

    /// Stops the instance with this client name and waits until it has ended. Does nothing if the instance does not exist.
    pub(crate) async fn stop_client(&mut self, client: &str) {
        let Some(instance) = self.running.remove(client) else {
            return;
        };
        instance.stop.cancel();
        // The task has already recorded a panic of the program, so the result contains nothing new.
        let _ = instance.task.await;
        self.journal
            .append(process(&client.into(), instance.role, ProcessEvent::Stopped));
    }

    pub(crate) async fn stop_all(&mut self) {
        let names: Vec<_> = self.running.keys().cloned().collect();
        for name in names {
            self.stop_client(&name).await;
        }
    }
}

fn process(client: &Arc<str>, role: Role, event: ProcessEvent) -> Observation {
    Observation::Process(ProcessFact {
        client: client.clone(),
        role,
        event,
    })
}

/// Error of a child process that exited without being stopped, as returned by [`Run`].
#[derive(Debug, thiserror::Error)]
#[error("{status}")]
pub(crate) struct ProgramEnded {
    pub(crate) status: ExitStatus,
    pub(crate) last_output: LastOutput,
}

fn exit_of(ended: Result<Result<(), BoxError>, Box<dyn std::any::Any + Send>>) -> Exit {
    let without_output = |how: String| Exit {
        how,
        last_output: None,
    };
    match ended {
        Ok(Ok(())) => without_output("returned without an error, although not stopped".to_owned()),
        Ok(Err(error)) => match error.downcast::<ProgramEnded>() {
            Ok(program) => Exit {
                how: program.to_string(),
                last_output: Some(program.last_output),
            },
            Err(error) => without_output(format!("error: {error}")),
        },
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            without_output(format!("panic: {}", text.unwrap_or("without a text")))
        }
    }
}
