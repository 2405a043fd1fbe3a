//! The servers that `bench apiserver` measures: the API server of this project in a child process, and another server given by a
//! kubeconfig.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use secrecy::ExposeSecret;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::connection::{ApiRequest, Connection, Target};
use super::load::Meter;
use suites::harness::system::BoxError;
use suites::harness::temporary::{OF_CASE, Temporary};

/// The API server of this project in a child process, so that its memory and CPU time are measured separately; killed when dropped.
pub(super) struct OwnServer {
    pub(super) target: Arc<Target>,
    /// Time from process start to the first response.
    pub(super) ready: Duration,
    process: Child,
}

impl OwnServer {
    /// Starts `xtask up` and waits for the first response of `/readyz`.
    pub(super) async fn start() -> Result<Self, BoxError> {
        let folder = Temporary::new(OF_CASE)?;
        let kubeconfig = folder.path().join("kubeconfig");
        let began = Instant::now();
        let mut process = Command::new(std::env::current_exe()?)
            .arg("up")
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let out = process.stdout.take().ok_or("the server has no output")?;
        let mut lines = BufReader::new(out).lines();
        while lines
            .next_line()
            .await?
            .ok_or("the API server ended before it was ready")?
            != "ready"
        {}
        let target = target(&kubeconfig).await?;
        Connection::open(&target)
            .await?
            .call(&ApiRequest::without_body("GET", "/readyz"), |_| {})
            .await?;
        let ready = began.elapsed();
        Ok(Self {
            target,
            ready,
            process,
        })
    }

    /// Resident memory of the server process, in bytes.
    pub(super) fn memory(&self) -> Option<u64> {
        resident(self.process.id()?)
    }
}

impl Meter for OwnServer {
    fn cpu_time(&self) -> Option<Duration> {
        cpu_time(self.process.id()?)
    }

    fn keeps_running(&self) -> bool {
        false
    }
}

/// The API server given by `--against`, which is already running.
pub(super) struct OtherServer {
    pub(super) target: Arc<Target>,
    /// PID of the server, if known.
    pid: Option<u32>,
}

impl OtherServer {
    /// Connects to the server of a kubeconfig's current context. Without `pid`, finds the local process that listens on the server's port.
    pub(super) async fn of(kubeconfig: &Path, pid: Option<u32>) -> Result<Self, BoxError> {
        let target = target(kubeconfig).await?;
        let pid = pid.or_else(|| find_listener_pid(&target.address));
        Ok(OtherServer { target, pid })
    }

    /// Resident memory of the server process, in bytes.
    pub(super) fn memory(&self) -> Option<u64> {
        resident(self.pid?)
    }
}

impl Meter for OtherServer {
    fn cpu_time(&self) -> Option<Duration> {
        cpu_time(self.pid?)
    }

    fn keeps_running(&self) -> bool {
        true
    }
}

/// Resident memory of a process in bytes; available on Linux only.
pub(super) fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// CPU time of all threads of a process; available on Linux only.
fn cpu_time(pid: u32) -> Option<Duration> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut nanoseconds = 0;
    for task in tasks {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += text.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}

/// PID of the process that listens on a loopback address; `None` if the process is on another machine or belongs to another user.
fn find_listener_pid(address: &str) -> Option<u32> {
    let (host, port) = address.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    if !matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
        return None;
    }
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    // Columns of /proc/net/tcp: number, local address, remote address, state (0A is LISTEN); the tenth column is the inode.
    let of_port = |line: &&str| {
        let mut columns = line.split_whitespace().skip(1);
        let is_local = columns
            .next()
            .is_some_and(|local| local.ends_with(&format!(":{port:04X}")));
        is_local && columns.nth(1) == Some("0A")
    };
    let line = tables.iter().flat_map(|table| table.lines()).find(of_port)?;
    let socket = format!("socket:[{}]", line.split_whitespace().nth(9)?);
    let mut pids = std::fs::read_dir("/proc").ok()?.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    let has_it = |pid: &u32| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
        let mut links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        links.any(|link| link.as_os_str() == socket.as_str())
    };
    pids.find(has_it)
}

/// The server of a kubeconfig's current context.
async fn target(kubeconfig: &Path) -> Result<Arc<Target>, BoxError> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    let host = config.cluster_url.host().ok_or("the server has no host")?;
    let is_tls = config.cluster_url.scheme_str() == Some("https");
    let port = config
        .cluster_url
        .port_u16()
        .unwrap_or(if is_tls { 443 } else { 80 });
    let name = config.tls_server_name.as_deref().unwrap_or(host);
    let tls = if is_tls {
        let name = ServerName::try_from(name.trim_matches(['[', ']']))?.to_owned();
        Some((TlsConnector::from(Arc::new(config.rustls_client_config()?)), name))
    } else {
        None
    };
    let auth = &config.auth_info;
    let token = match (&auth.token, &auth.token_file) {
        (Some(token), _) => Some(token.expose_secret().to_owned()),
        (None, Some(file)) => Some(std::fs::read_to_string(file)?.trim().to_owned()),
        (None, None) => None,
    };
    Ok(Arc::new(Target {
        address: format!("{host}:{port}"),
        token,
        tls,
    }))
}
