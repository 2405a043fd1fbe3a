//! The program: flags to options, a client from a kubeconfig, and a signal to stop.
//!
//! Everything else is the library's.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use capacity_scheduler::quantity::Arithmetic;
use capacity_scheduler::shape::{ShapeError, parse_points};
use capacity_scheduler::{Defect, Options, ShapePoint};
use clap::Parser;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Schedules pods by storage capacity (KEP-1472, KEP-4049), and by nothing else but node selectors.
///
/// The log level comes from RUST_LOG; `RUST_LOG=capacity_scheduler=debug` tells why each node was refused.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// How to reach the API server; otherwise $KUBECONFIG, ~/.kube/config, or the pod's service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Pods that name this scheduler are scheduled
    #[arg(long, value_name = "NAME", default_value_t = Options::default().scheduler_name)]
    scheduler_name: String,

    /// Feature gates as NAME=true|false, separated by commas; known: CSIStorageCapacity, StorageCapacityScoring
    #[arg(long, value_name = "GATES", value_delimiter = ',', value_parser = parse_gate)]
    feature_gates: Vec<Gate>,

    /// Scoring function as UTILIZATION=SCORE points in 0..=100 and 0..=10, such as 0=10,100=0
    #[arg(long, value_name = "POINTS", value_parser = Shape::parse)]
    shape: Option<Shape>,

    /// How long to wait for the claims of a pod to be bound
    #[arg(long, value_name = "SECONDS", default_value_t = Options::default().bind_timeout.as_secs())]
    bind_timeout_seconds: u64,

    /// How long a pod stays away after its first failed attempt; doubles with each further one
    #[arg(long, value_name = "MS", default_value_t = milliseconds(Options::default().initial_backoff))]
    initial_backoff_ms: u64,

    /// The longest that a pod stays away after a failed attempt
    #[arg(long, value_name = "MS", default_value_t = milliseconds(Options::default().max_backoff))]
    max_backoff_ms: u64,

    /// Makes the choice among nodes of equal score repeatable
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Compute with quantities as kube-scheduler 1.36 does, integer overflows included
    #[arg(long)]
    wrapping_arithmetic: bool,

    /// Misbehave deliberately, to see a test suite fail
    #[arg(long, value_name = "NAME", hide = true)]
    defect: Option<Defect>,
}

/// The feature gates that the scheduler knows.
#[derive(Clone, Copy)]
enum Gate {
    Capacity(bool),
    Scoring(bool),
}

/// Parsed as a whole, because the order of the points counts.
#[derive(Clone)]
struct Shape(Vec<ShapePoint>);

impl Shape {
    fn parse(text: &str) -> Result<Self, ShapeError> {
        parse_points(text).map(Self)
    }
}

fn main() -> ExitCode {
    match start(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do about a closed stderr.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn start(arguments: Arguments) -> Result<(), Failure> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(!plain && io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
    let client = client(arguments.kubeconfig.as_ref()).await?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let shutdown = async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    };
    Ok(capacity_scheduler::run(options(arguments), client, shutdown).await?)
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

fn options(arguments: Arguments) -> Options {
    // Of several settings of one gate the last counts, as upstream.
    let defaults = Options::default();
    let (mut capacity, mut scoring) = (defaults.capacity, defaults.scoring);
    for gate in &arguments.feature_gates {
        match gate {
            Gate::Capacity(on) => capacity = *on,
            Gate::Scoring(on) => scoring = *on,
        }
    }
    Options {
        scheduler_name: arguments.scheduler_name,
        initial_backoff: Duration::from_millis(arguments.initial_backoff_ms),
        max_backoff: Duration::from_millis(arguments.max_backoff_ms),
        bind_timeout: Duration::from_secs(arguments.bind_timeout_seconds),
        capacity,
        scoring,
        shape: arguments.shape.map(|Shape(points)| points),
        arithmetic: if arguments.wrapping_arithmetic {
            Arithmetic::Wrapping
        } else {
            Arithmetic::Exact
        },
        seed: arguments.seed,
        defect: arguments.defect,
        ..defaults
    }
}

fn parse_gate(text: &str) -> Result<Gate, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("missing bool value for {text}"))?;
    let on = value
        .parse()
        .map_err(|_| format!("invalid value of {name}: {value}, write true or false"))?;
    match name {
        "CSIStorageCapacity" => Ok(Gate::Capacity(on)),
        "StorageCapacityScoring" => Ok(Gate::Scoring(on)),
        _ => Err(format!("unrecognized feature gate: {name}")),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
