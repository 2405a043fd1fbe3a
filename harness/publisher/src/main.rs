//! The program: parses flags and environment variables, creates clients for the API server, and runs [`capacity_publisher::run_with`] until
//! a signal.

use std::{
    error::Error,
    io::{IsTerminal, stderr},
    path::PathBuf,
    process::ExitCode,
};

use capacity_publisher::{Clients, driver_channel, rate_limited_client, without_ignored_flags};
use clap::Parser;
use hyper::Uri;
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Publish CSIStorageCapacity objects and provision volumes for one CSI driver.
#[derive(Parser)]
#[command(version, args_override_self = true)]
struct Arguments {
    /// Path to the kubeconfig; not needed in a pod.
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// URL of the API server; overrides the kubeconfig.
    #[arg(long, value_name = "URL")]
    master: Option<Uri>,

    /// API requests per second, excluding watches and publishing; 0 disables the limit.
    #[arg(long, value_name = "RATE", default_value_t = 5.0)]
    kube_api_qps: f64,

    /// Burst of API requests, excluding watches and publishing.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    kube_api_burst: u32,

    /// Log verbosity: 4 adds actions, 6 adds requests; RUST_LOG overrides the verbosity.
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    verbosity: u8,

    #[command(flatten)]
    options: capacity_publisher::Options,
}

// One thread suffices, because nearly all time is spent waiting.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (arguments, ignored) = without_ignored_flags(std::env::args_os());
    let arguments = Arguments::parse_from(arguments);
    let filter = EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(log_level(arguments.verbosity))))
        .with_ansi(stderr().is_terminal())
        .with_writer(stderr)
        .init();
    ignored.iter().for_each(|sentence| tracing::warn!("{sentence}"));
    match start(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The log level that approximates external-provisioner's log at this verbosity.
fn log_level(verbosity: u8) -> &'static str {
    match verbosity {
        0..4 => "info",
        4..6 => "info,capacity_publisher=debug",
        6..9 => "debug",
        9.. => "trace",
    }
}

async fn start(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let config = config(arguments.kubeconfig, arguments.master).await?;
    let main = rate_limited_client(config.clone(), arguments.kube_api_qps, arguments.kube_api_burst)?;
    // The publisher limits requests for published objects itself (`--kube-api-capacity-qps`), so their client has no rate limit.
    let publishing = kube::Client::try_from(config)?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let shutdown = async {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    };
    let clients = Clients {
        main,
        publishing,
        driver: driver_channel(&arguments.options.csi_address)?,
        metrics: None,
    };
    Ok(capacity_publisher::run_with(arguments.options, clients, shutdown).await?)
}

async fn config(kubeconfig: Option<PathBuf>, master: Option<Uri>) -> Result<Config, Box<dyn Error>> {
    let mut config = match kubeconfig.filter(|path| !path.as_os_str().is_empty()) {
        Some(path) => {
            Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default())
                .await?
        }
        None => Config::infer().await?,
    };
    if let Some(url) = master {
        config.cluster_url = url;
    }
    // The workqueue backs off after failures; a retry in the client would hide failures from the log.
    config.default_retry = false;
    Ok(config)
}
