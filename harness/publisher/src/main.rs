//! The program: flags and environment in, clients for the API server, and [`capacity_publisher::run_with`] until a signal.

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

/// Publishes CSIStorageCapacity objects and provisions volumes for one CSI driver.
#[derive(Parser)]
#[command(version, args_override_self = true)]
struct Arguments {
    /// How to reach the API server; not needed in a pod.
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// URL of the API server, instead of the one that was found.
    #[arg(long, value_name = "URL")]
    master: Option<Uri>,

    /// Requests per second, without watches and publishing; 0 is no limit.
    #[arg(long, value_name = "RATE", default_value_t = 5.0)]
    kube_api_qps: f64,

    /// Such requests that may come at once.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    kube_api_burst: u32,

    /// How much is logged: 4 and more also what is done, 6 and more also what is sent; RUST_LOG decides where it is set.
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0)]
    verbosity: u8,

    #[command(flatten)]
    options: capacity_publisher::Options,
}

// Almost all the time is spent waiting: a second thread would only cost wake-ups.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let (arguments, ignored) = without_ignored_flags(std::env::args_os());
    let arguments = Arguments::parse_from(arguments);
    let filter = EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(level(arguments.verbosity))))
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

/// What external-provisioner logs at a verbosity, as far as there is something like it here.
fn level(verbosity: u8) -> &'static str {
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
    // Publishing has a limit of its own, among the options.
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
    // Every key waits after a failure; a second wait in the client would only hide failures from the log.
    config.default_retry = false;
    Ok(config)
}
