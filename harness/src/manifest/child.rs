//! A program under test as a child process: started without a shell, supervised, and stopped by SIGTERM followed by SIGKILL.
//!
//! The program leads its own process group. All descendants of the program are killed with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::{join_all, select_all};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::objects::Objects;
use super::pod_folder;
use super::process_group::ProcessGroup;
use super::template::Template;
use super::{lifeline, mark};
use crate::journal::LastOutput;
use crate::process_log::{ProcessLog, copy_output};
use crate::scenario::Role;
use crate::settings::{Value, of_role};
use crate::system::{BoxError, ProgramEnded, ProgramInputs};
use crate::temporary::{OF_PROGRAM, Temporary};

/// How to start a program, and its inputs.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) role: Role,
    pub(super) start: CommandTemplate,
    pub(super) files: BTreeMap<String, Template>,
    /// Command-line arguments that the program gets for a setting of the case, by setting and value.
    pub(super) settings: BTreeMap<String, BTreeMap<String, Vec<Template>>>,
    pub(super) metrics: Option<Metrics>,
    pub(super) grace: Duration,
    /// Processes that run beside the program, as sidecar containers do in a pod.
    pub(super) sidecars: Vec<Process>,
    /// Names of ports that the harness chooses for the program.
    pub(super) ports: Vec<String>,
    /// Whether the program gets the in-cluster configuration of a pod in `/var/run/secrets/kubernetes.io/serviceaccount`.
    pub(super) in_cluster: bool,
    /// API objects that must exist when the program starts.
    pub(super) objects: Arc<Objects>,
}

/// Executable, arguments and environment of a program or sidecar.
#[derive(Debug)]
pub(super) struct CommandTemplate {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<Template>,
    pub(super) env: BTreeMap<String, Template>,
}

/// A process that runs beside a program, as a sidecar container does in a pod.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) start: CommandTemplate,
    /// Address or socket path on which the process listens once it is ready; `None`: the harness does not wait for the process.
    pub(super) listens: Option<Template>,
}

/// Metrics URL of a program, and the arguments that enable its metrics.
#[derive(Debug)]
pub(super) struct Metrics {
    /// URL of the metrics; contains a placeholder for the address.
    pub(super) url: String,
    /// Arguments that set the address.
    pub(super) arguments: Vec<Template>,
}

/// Environment variables that the program does not inherit, because they could connect the program to another cluster.
const REMOVED_ENV: [&str; 3] = ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];

/// Maximum wait until a sidecar listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Range of ports for `{ports.name}`, below the ephemeral ports of common operating systems.
const PORTS: Range<u32> = 20_000..30_000;

/// Interval between connection attempts to a process that does not listen yet.
const CONNECT_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum wait, after a program has exited on its own, for its sidecars to end and for its remaining output.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Number of output lines that are reported for a program that exits on its own.
const LAST_LINES: usize = 32;

/// Runs one instance of a program until the instance is cancelled or exits on its own, which is always an error.
pub(super) async fn run(
    program: Arc<Program>,
    access: ProgramInputs,
    stop: CancellationToken,
) -> Result<(), BoxError> {
    let scratch = Temporary::new(OF_PROGRAM)?;
    let values = program.prepare(&access, scratch.path())?;
    let path = access.child.as_ref().map(|child| child.log.as_path());
    let secrets = program.secrets(&access, &values);
    let log = Arc::new(ProcessLog::open(path, access.log.clone(), secrets)?);
    let mut children = Vec::new();
    for process in &program.sidecars {
        let start = &process.start;
        let command = program.command(start, start.fill_arguments(&values), &values);
        let mut running = Running::start(command, &start.path, &log)?;
        if let Some(address) = &process.listens {
            running.wait_until_listening(&address.fill(&values)).await;
        }
        children.push(running);
    }
    let arguments = program.arguments(&access, &values)?;
    let command = program.command(&program.start, arguments, &values);
    children.push(Running::start(command, &program.start.path, &log)?);
    let first = select_all(children.iter_mut().map(|running| Box::pin(running.child.wait())));
    let ended = tokio::select! {
        (ended, ..) = first => Some(ended?),
        () = stop.cancelled() => None,
    };
    let grace = match ended {
        None => program.grace,
        // A program exited on its own. A shorter grace period for its sidecars makes the harness report the exit soon.
        Some(_) => program.grace.min(EXIT_TIMEOUT),
    };
    // Ends the processes in reverse start order, because a process may need an earlier one until its own exit.
    for running in children.iter_mut().rev() {
        running.group.terminate(&mut running.child, grace).await?;
    }
    join_all(
        children
            .into_iter()
            .flat_map(|running| running.copies)
            .flatten()
            .map(wait_for_output),
    )
    .await;
    log.finish();
    match ended {
        None => Ok(()),
        Some(status) => Err(ProgramEnded {
            status,
            last_output: last_output(&log),
        }
        .into()),
    }
}

/// A running process, and the tasks that copy its output to the log.
struct Running {
    child: Child,
    group: ProcessGroup,
    copies: [Option<JoinHandle<()>>; 2],
}

impl Running {
    fn start(mut command: Command, path: &Path, log: &Arc<ProcessLog>) -> Result<Self, BoxError> {
        let mark = mark::new_mark();
        lifeline::start();
        let mut child = command
            .env(mark::NAME, &mark)
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", path.display()))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let copies = [
            out.map(|pipe| tokio::spawn(copy_output(pipe, log.clone()))),
            err.map(|pipe| tokio::spawn(copy_output(pipe, log.clone()))),
        ];
        Ok(Running {
            group: ProcessGroup::of(&child, mark),
            child,
            copies,
        })
    }

    /// Waits until the process accepts connections, has exited, or the timeout has expired. A timeout is ignored: the program that needs
    /// the process will report an error.
    async fn wait_until_listening(&mut self, address: &str) {
        let due = Instant::now() + LISTEN_TIMEOUT;
        while Instant::now() < due && matches!(self.child.try_wait(), Ok(None)) {
            let connected = match address.contains('/') {
                true => UnixStream::connect(address).await.is_ok(),
                false => TcpStream::connect(address).await.is_ok(),
            };
            if connected {
                return;
            }
            tokio::time::sleep(CONNECT_INTERVAL).await;
        }
    }
}

/// Waits until a task has copied all output of a process to the log.
async fn wait_for_output(copy: JoinHandle<()>) {
    // A process that inherited the pipe may keep it open forever.
    let _ = tokio::time::timeout(EXIT_TIMEOUT, copy).await;
}

/// A free port outside the ephemeral range. The program binds the port later, and until then another process could get it if it were
/// ephemeral.
fn free_port() -> std::io::Result<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (first, count) = (PORTS.start, PORTS.end - PORTS.start);
    for _ in 0..count {
        // The port is derived from the process id, so that concurrent runs on this host start at different ports of the range.
        let nth = NEXT
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(std::process::id().wrapping_mul(64));
        let port = first + nth % count;
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap_or(u16::MAX)));
        if std::net::TcpListener::bind(address).is_ok() {
            return Ok(port.to_string());
        }
    }
    Err(std::io::Error::other(
        "all ports for `{ports.name}` are in use (20000 to 29999)",
    ))
}

fn last_output(log: &ProcessLog) -> LastOutput {
    let reason = log.reason();
    LastOutput {
        is_reason: reason.is_some(),
        lines: reason.unwrap_or_else(|| log.last_lines(LAST_LINES)),
    }
}

/// Whether an environment variable contains a secret, according to the suffix of its name. Short values (such as `true`), numbers and file
/// paths do not count as secrets.
fn is_secret(name: &str, value: &str) -> bool {
    const SUFFIXES: [&str; 9] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "CREDENTIALS",
        "PRIVATE_KEY",
        "API_KEY",
        "ACCESS_KEY",
    ];
    const LENGTH_MIN: usize = 8;
    let name = name.to_ascii_uppercase();
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        && value.len() >= LENGTH_MIN
        && !is_number
        && !Path::new(value).exists()
}

impl CommandTemplate {
    fn fill_arguments(&self, values: &BTreeMap<String, String>) -> Vec<String> {
        self.arguments.iter().map(|text| text.fill(values)).collect()
    }
}

impl Program {
    /// The command for the program or a sidecar.
    fn command(
        &self,
        start: &CommandTemplate,
        arguments: Vec<String>,
        values: &BTreeMap<String, String>,
    ) -> Command {
        let text = |name: &str| values.get(name).map_or("", String::as_str);
        let mut command = match self.in_cluster {
            true => pod_folder::command(&start.path, text("service_account")),
            false => Command::new(&start.path),
        };
        command
            .args(arguments)
            .current_dir(text("scratch"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        for name in REMOVED_ENV {
            command.env_remove(name);
        }
        // The program's temporary files are created in its folder, and removed with it.
        command.env("TMPDIR", text("scratch"));
        if self.in_cluster {
            command
                .env("KUBERNETES_SERVICE_HOST", text("api_host"))
                .env("KUBERNETES_SERVICE_PORT", text("api_port"));
        }
        command.envs(start.env.iter().map(|(name, text)| (name, text.fill(values))));
        command
    }

    /// Texts that are masked in the program's log: its token, and the values of environment variables whose names indicate a secret.
    fn secrets(&self, access: &ProgramInputs, values: &BTreeMap<String, String>) -> Vec<String> {
        let processes = self.sidecars.iter().map(|process| &process.start);
        let env = processes.chain([&self.start]).flat_map(|start| &start.env);
        let filled = env.map(|(name, text)| (name.clone(), text.fill(values)));
        let text = |it: OsString| it.to_string_lossy().into_owned();
        let inherited = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        let named = filled
            .chain(inherited)
            .filter(|(name, value)| is_secret(name, value));
        std::iter::once(access.token.clone())
            .chain(named.map(|(_, value)| value))
            .collect()
    }

    /// Writes the program's files, and returns the values of all placeholders.
    fn prepare(&self, access: &ProgramInputs, scratch: &Path) -> Result<BTreeMap<String, String>, BoxError> {
        let cluster = access
            .child
            .as_ref()
            .ok_or("a child process needs a kubeconfig, which this run does not have")?;
        let path = |name: &str| scratch.join(name).display().to_string();
        std::fs::write(scratch.join("ca.pem"), &cluster.authority_pem)?;
        pod_folder::write_secret(&scratch.join("token"), &access.token)?;
        let account = scratch.join("service-account");
        pod_folder::write(&account, &access.token, &cluster.authority_pem, &access.namespace)?;
        let address = cluster
            .api_url
            .trim_start_matches("https://")
            .trim_end_matches('/');
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "443"));
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let socket = access.csi_socket.as_ref();
        let mut values: BTreeMap<String, String> = [
            ("kubeconfig", cluster.kubeconfig.display().to_string()),
            ("api_url", cluster.api_url.clone()),
            ("ca_file", path("ca.pem")),
            ("token_file", path("token")),
            ("api_host", host.to_owned()),
            ("api_port", port.to_owned()),
            ("service_account", account.display().to_string()),
            (
                "csi_socket",
                socket.map(|path| path.display().to_string()).unwrap_or_default(),
            ),
            ("node", text(&access.node)),
            ("namespace", access.namespace.clone()),
            ("pod", text(&access.pod)),
            ("refresh", format!("{}ms", access.settings.refresh.as_millis())),
            ("scratch", scratch.display().to_string()),
            ("state", cluster.state.display().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for name in &self.ports {
            values.insert(format!("ports.{name}"), free_port()?);
        }
        for name in self.files.keys() {
            values.insert(format!("files.{name}"), path(name));
        }
        for setting in of_role(self.role) {
            let value = setting.value(&access.settings).text;
            let value = if value == "none" { "null".to_owned() } else { value };
            values.insert(format!("settings.{}", setting.name), value);
        }
        for (name, text) in &self.files {
            std::fs::write(scratch.join(name), text.fill(&values))?;
        }
        Ok(values)
    }

    fn arguments(
        &self,
        access: &ProgramInputs,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, BoxError> {
        let mut arguments = self.start.fill_arguments(values);
        if let (Some(metrics), Some(address)) = (&self.metrics, &access.metrics_address) {
            let mut values = values.clone();
            let port = address.rsplit(':').next().unwrap_or_default();
            values.insert("metrics_address".to_owned(), address.clone());
            values.insert("metrics_port".to_owned(), port.to_owned());
            arguments.extend(metrics.arguments.iter().map(|text| text.fill(&values)));
        }
        for setting in of_role(self.role) {
            let Value {
                text: value,
                is_set,
                is_usual,
            } = setting.value(&access.settings);
            let of_setting = self.settings.get(setting.name);
            let found = of_setting
                .and_then(|known| known.get(&value).or_else(|| known.get("any").filter(|_| is_set)));
            match found {
                Some(templates) => {
                    let mut values = values.clone();
                    values.insert("value".to_owned(), value);
                    arguments.extend(templates.iter().map(|text| text.fill(&values)));
                }
                None if is_usual => {}
                None => {
                    return Err(format!(
                        "the manifest has no arguments for the value `{value}` of the setting {}",
                        setting.name
                    )
                    .into());
                }
            }
        }
        Ok(arguments)
    }
}
