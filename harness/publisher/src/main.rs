//! The program: flags and environment in, a client for the API server, and [`capacity_publisher::run`] until it is told to stop.

use std::{
    error::Error,
    io::{IsTerminal, stderr},
    path::PathBuf,
    process::ExitCode,
};

use clap::Parser;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Publishes CSIStorageCapacity objects and provisions volumes for one CSI driver.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// How to reach the API server; in a pod it is found without.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    options: capacity_publisher::Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(stderr().is_terminal())
        .with_writer(stderr)
        .init();
    match start(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn start(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let client = client(arguments.kubeconfig).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let shutdown = async {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    };
    Ok(capacity_publisher::run(arguments.options, client, shutdown).await?)
}

async fn client(kubeconfig: Option<PathBuf>) -> Result<Client, Box<dyn Error>> {
    let mut config = match kubeconfig {
        Some(path) => {
            Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default())
                .await?
        }
        None => Config::infer().await?,
    };
    // Every key waits by itself after a failure; waiting twice would only hide the failures from the log.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
