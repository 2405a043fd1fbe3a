//! The program: parses flags, creates a client from a kubeconfig, and handles termination signals.
//!
//! Everything else is in the library.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use capacity_scheduler::configuration::{Configuration, ConfigurationError, Extender};
use capacity_scheduler::rules::Pooling;
use capacity_scheduler::shape::{ShapeError, parse_points};
use capacity_scheduler::{Deviation, Options, Release, ShapePoint, connections, serve_metrics};
use clap::Parser;
use futures::future::try_join_all;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Schedule pods by storage capacity (KEP-1472, KEP-4049), taints, labels and resources
///
/// Set the log level with RUST_LOG; `RUST_LOG=capacity_scheduler=debug` logs why each node was rejected.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Path to the kubeconfig (default: $KUBECONFIG, ~/.kube/config, then the pod's service account)
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Schedule pods whose spec.schedulerName is NAME
    #[arg(long, value_name = "NAME", default_value_t = Options::default().scheduler_name)]
    scheduler_name: String,

    /// Path to a KubeSchedulerConfiguration: profiles, backoff, VolumeBindingArgs, extenders
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scheduler_name", "shape", "bind_timeout_seconds", "initial_backoff_ms", "max_backoff_ms", "extenders"])]
    config: Option<PathBuf>,

    /// Kubernetes release to emulate: feature gates, compared capacity field, message wording
    #[arg(long, value_name = "1.N", default_value_t)]
    release: Release,

    /// Feature gates as NAME=true|false, comma-separated: CSIStorageCapacity until 1.35, VolumeCapacityPriority from 1.21 to 1.32,
    /// StorageCapacityScoring from 1.33 on
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    feature_gates: Vec<String>,

    /// Scoring function as comma-separated UTILIZATION=SCORE points in 0..=100 and 0..=10, such as 0=10,100=0, or as a JSON list as in
    /// VolumeBindingArgs.shape
    #[arg(long, value_name = "POINTS", value_parser = Shape::parse)]
    shape: Option<Shape>,

    /// Timeout for binding the PVCs of a pod
    #[arg(long, value_name = "SECONDS", default_value_t = Options::default().bind_timeout.as_secs())]
    bind_timeout_seconds: u64,

    /// Backoff after the first failed attempt of a pod; doubles with each further failed attempt
    #[arg(long, value_name = "MS", default_value_t = milliseconds(Options::default().initial_backoff))]
    initial_backoff_ms: u64,

    /// Maximum backoff after a failed attempt
    #[arg(long, value_name = "MS", default_value_t = milliseconds(Options::default().max_backoff))]
    max_backoff_ms: u64,

    /// Seed for the choice among nodes of equal score
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Reproduce known bugs of kube-scheduler 1.36: flag, arithmetic, choice (default: all)
    #[arg(long, value_name = "DEVIATIONS", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "flag,arithmetic,choice")]
    bug_compatible: Vec<Deviation>,

    /// Add up the capacities of several PVCs of one class in scores, as in the text of KEP-4049 (`+=`)
    #[arg(long)]
    kep_4049_text: bool,

    /// Extenders to call, as a JSON list as in KubeSchedulerConfiguration.extenders
    #[arg(long, value_name = "LIST", value_parser = Extenders::parse)]
    extenders: Option<Extenders>,

    /// Address on which to serve /metrics over HTTP
    #[arg(long, value_name = "ADDRESS", conflicts_with = "extender")]
    metrics_address: Option<SocketAddr>,

    /// Address on which to serve the extender protocol for another scheduler, instead of scheduling
    #[arg(long, value_name = "ADDRESS")]
    extender: Option<SocketAddr>,

    /// Allow the extender to listen on an address that is reachable from other hosts
    #[arg(long, requires = "extender")]
    allow_remote: bool,
}

/// The points of a scoring function (shape), all in one flag value because their order matters.
#[derive(Clone)]
struct Shape(Vec<ShapePoint>);

impl Shape {
    fn parse(text: &str) -> Result<Self, ShapeError> {
        parse_points(text).map(Self)
    }
}

#[derive(Clone)]
struct Extenders(Vec<Extender>);

impl Extenders {
    fn parse(text: &str) -> Result<Self, ConfigurationError> {
        Extender::parse_list(text).map(Self)
    }
}

fn main() -> ExitCode {
    match start(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, the error cannot be reported.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn start(arguments: &Arguments) -> Result<(), Failure> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(!no_color && io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
    let settings = Settings::of(arguments)?;
    let kubeconfig = arguments.kubeconfig.as_ref().or(settings.kubeconfig.as_ref());
    let client = client(kubeconfig).await?;
    let shutdown = shutdown_signal()?;
    if let Some(address) = arguments.extender {
        return serve(arguments, settings, client, address, shutdown).await;
    }
    // The schedulers of all profiles share their metrics.
    let metrics = settings.options.first().map(|options| options.metrics.clone());
    if let (Some(address), Some(metrics)) = (arguments.metrics_address, metrics) {
        let listener = TcpListener::bind(address).await?;
        tracing::info!(address = %listener.local_addr()?, "metrics are served");
        tokio::spawn(serve_metrics(metrics, connections(listener)));
    }
    let runs = settings.options.into_iter().map(|options| {
        let shutdown = shutdown.clone();
        capacity_scheduler::run(options, client.clone(), async move {
            shutdown.cancelled().await;
        })
    });
    try_join_all(runs).await?;
    Ok(())
}

async fn serve(
    arguments: &Arguments,
    settings: Settings,
    client: Client,
    address: SocketAddr,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    if !address.ip().is_loopback() && !arguments.allow_remote {
        let message =
            format!("{address} is reachable from other hosts: listen on 127.0.0.1, or add --allow-remote");
        return Err(message.into());
    }
    let [options] = <[Options; 1]>::try_from(settings.options)
        .map_err(|_| "the extender supports one profile: remove the others from the configuration")?;
    let listener = TcpListener::bind(address).await?;
    tracing::info!(address = %listener.local_addr()?, "the extender listens");
    let cancelled = async move { shutdown.cancelled().await };
    Ok(capacity_scheduler::serve_extender(options, client, listener, cancelled).await?)
}

/// A future that completes when the process receives a termination signal.
#[derive(Clone)]
struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    async fn cancelled(mut self) {
        // The sender lives as long as the process, so the channel cannot be closed.
        let _ = self.0.wait_for(|is_shutdown| *is_shutdown).await;
    }
}

fn shutdown_signal() -> Result<Shutdown, Failure> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let (sender, shutdown) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
        sender.send_replace(true);
    });
    Ok(Shutdown(shutdown))
}

async fn client(kubeconfig: Option<&PathBuf>) -> Result<Client, Failure> {
    let config = match kubeconfig {
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(file)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await?,
    };
    Ok(Client::try_from(config)?)
}

/// Settings from flags and configuration file.
struct Settings {
    kubeconfig: Option<PathBuf>,
    /// One scheduler for each profile.
    options: Vec<Options>,
}

impl Settings {
    fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let flags = options(arguments)?;
        // The settings are validated before the client connects.
        flags.rules()?;
        let Some(file) = &arguments.config else {
            return Ok(Self {
                kubeconfig: None,
                options: vec![flags],
            });
        };
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let read = Configuration::parse(&text, flags.release, flags.scoring || flags.priority)?;
        for path in &read.unused {
            tracing::warn!(
                path,
                "this field of the configuration is not supported and has no effect"
            );
        }
        let options = read.profiles.into_iter().map(|profile| Options {
            scheduler_name: profile.scheduler_name,
            bind_timeout: profile.bind_timeout,
            // As upstream, an empty list of points means the default shape.
            shape: profile.shape.filter(|points| !points.is_empty()),
            initial_backoff: read.initial_backoff,
            max_backoff: read.max_backoff,
            extenders: read.extenders.clone(),
            ..flags.clone()
        });
        Ok(Self {
            options: options.collect(),
            kubeconfig: read.kubeconfig.map(PathBuf::from),
        })
    }
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let gates = arguments
        .release
        .gates(arguments.feature_gates.iter().map(String::as_str))?;
    Ok(Options {
        scheduler_name: arguments.scheduler_name.clone(),
        initial_backoff: Duration::from_millis(arguments.initial_backoff_ms),
        max_backoff: Duration::from_millis(arguments.max_backoff_ms),
        bind_timeout: Duration::from_secs(arguments.bind_timeout_seconds),
        capacity: gates.capacity,
        priority: gates.priority,
        scoring: gates.scoring,
        shape: arguments.shape.clone().map(|Shape(points)| points),
        release: arguments.release,
        deviations: arguments.bug_compatible.iter().copied().collect(),
        pooling: if arguments.kep_4049_text {
            Pooling::Each
        } else {
            Pooling::Once
        },
        seed: arguments.seed,
        extenders: arguments
            .extenders
            .clone()
            .map(|Extenders(list)| list)
            .unwrap_or_default(),
        ..Options::default()
    })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
