//! The servers that are measured: ours in a process of its own, and any other that a kubeconfig names.

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

use super::connection::{Ask, Connection, Target};
use super::folder::Folder;
use super::load::Meter;
use suites::harness::system::BoxError;

/// Our server in a process of its own, so that what is measured is not what measures. It ends with this value.
pub(super) struct Ours {
    pub(super) target: Arc<Target>,
    /// From the start of the process to its first answer.
    pub(super) ready: Duration,
    process: Child,
}

impl Ours {
    /// Starts `xtask up` and waits for the first answer of `/readyz`.
    pub(super) async fn start() -> Result<Self, BoxError> {
        let folder = Folder::new()?;
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
            .ok_or("the server ended before it was ready")?
            != "ready"
        {}
        let target = target(&kubeconfig).await?;
        Connection::open(&target)
            .await?
            .call(&Ask::bare("GET", "/readyz"), |_| {})
            .await?;
        let ready = began.elapsed();
        Ok(Self {
            target,
            ready,
            process,
        })
    }

    /// Resident memory of the process, in bytes; only Linux reports it.
    pub(super) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    }
}

impl Meter for Ours {
    /// The time of all threads; only Linux reports it.
    fn processor(&self) -> Option<Duration> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()?)).ok()?;
        let mut nanoseconds = 0;
        for task in tasks {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            nanoseconds += text.split(' ').next()?.parse::<u64>().ok()?;
        }
        Some(Duration::from_nanos(nanoseconds))
    }

    fn goes_on(&self) -> bool {
        false
    }
}

/// The server of the current context of a kubeconfig.
pub(super) async fn target(kubeconfig: &Path) -> Result<Arc<Target>, BoxError> {
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
