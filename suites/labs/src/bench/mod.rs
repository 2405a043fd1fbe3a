//! `bench`: throughput of the API server and the scheduler, cost of publishing, and memory use.
//!
//! Gives no verdict: results depend on the machine.

mod connection;
mod load;
mod many_objects;
mod objects;
mod publisher;
mod scheduler;
mod server;
mod stats;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use suites::harness::system::BoxError;

use load::{Bench, Load, Phase};
use server::{OtherServer, OwnServer};
use stats::{Measured, RequestStats};

pub use publisher::{PublisherArgs, measure as publisher};
pub use scheduler::{SchedulerArgs, run as scheduler};

/// Arguments of `bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// What to measure: API server, publisher or scheduler.
    #[command(subcommand)]
    pub what: Measurement,
}

/// The parts that `bench` can measure.
#[derive(Subcommand)]
pub enum Measurement {
    /// Measure the API server over TLS, and optionally another API server for comparison
    Apiserver(ApiserverArgs),
    /// Measure the cost of publishing, by number of objects
    Publisher(PublisherArgs),
    /// Measure one scheduling attempt by number of nodes and objects, in comparison with a scan of all objects
    Scheduler(SchedulerArgs),
}

/// Arguments of `bench apiserver`.
#[derive(Args)]
pub struct ApiserverArgs {
    /// Also measure the server of this kubeconfig's current context with the same load, and compare
    #[arg(long, value_name = "KUBECONFIG")]
    against: Option<PathBuf>,
    /// PID of the server given by --against, to measure its memory [default: the process on this machine that listens on its port]
    #[arg(long, value_name = "PID", requires = "against")]
    against_pid: Option<u32>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Measure the current build even if it is a debug build
    #[arg(long)]
    as_built: bool,
    #[command(flatten)]
    load: Load,
}

/// Whether `bench` has a measurement of this name.
pub fn is_measurement(name: &str) -> bool {
    Measurement::has_subcommand(name)
}

impl BenchArgs {
    /// Whether to measure the current build even if it is a debug build.
    pub fn as_built(&self) -> bool {
        match &self.what {
            Measurement::Apiserver(args) => args.as_built,
            Measurement::Publisher(args) => args.as_built,
            Measurement::Scheduler(args) => args.as_built,
        }
    }
}

/// Measures the API server, and returns the text to print.
pub async fn apiserver(args: &ApiserverArgs) -> Result<String, BoxError> {
    let (ours, other) = measure_load(args).await?;
    if args.json {
        return Ok(serde_json::to_string_pretty(
            &json!({"server": ours, "against": other}),
        )?);
    }
    Ok(stats::table(&ours, other.as_ref()).trim_end().to_owned())
}

/// Measures the API server of this project, and optionally another one. Each phase of the load runs on both servers before the next phase
/// starts, so that other load on the machine affects both equally.
async fn measure_load(args: &ApiserverArgs) -> Result<(Measured, Option<Measured>), BoxError> {
    let load = args.load;
    let server = OwnServer::start().await?;
    let rest_bytes = server.memory();
    let (stats, against) = match &args.against {
        None => {
            let measure = async |bench: Bench<'_>| run_parts(&bench, None).await;
            let (stats, _) = load::run_in_namespaces(&server.target, load, &server, measure).await?;
            (stats, None)
        }
        Some(kubeconfig) => {
            let other = OtherServer::of(kubeconfig, args.against_pid).await?;
            let rest_bytes = other.memory();
            let (stats, against) = load::run_in_namespaces(&server.target, load, &server, async |ours| {
                load::run_in_namespaces(&other.target, load, &other, async |other| {
                    run_parts(&ours, Some(&other)).await
                })
                .await
            })
            .await?;
            let against = Measured {
                ready_milliseconds: None,
                rest_bytes,
                loaded_bytes: other.memory(),
                held_bytes: None,
                stats: against,
                held: Vec::new(),
            };
            (stats, Some(against))
        }
    };
    let (loaded_bytes, ready) = (server.memory(), server.ready);
    drop(server);
    let (held, held_bytes) = measure_memory_with_many_objects(load).await?;
    let measured = Measured {
        ready_milliseconds: Some(ready.as_secs_f64() * 1e3),
        rest_bytes,
        loaded_bytes,
        held_bytes,
        stats,
        held,
    };
    Ok((measured, against))
}

/// Runs all phases of the load on the API server of this project, and on the server given by `--against`.
async fn run_parts(
    ours: &Bench<'_>,
    other: Option<&Bench<'_>>,
) -> Result<(Vec<RequestStats>, Vec<RequestStats>), BoxError> {
    let (mut stats, mut against) = (Vec::new(), Vec::new());
    for phase in Phase::ALL {
        stats.push(ours.phase(phase).await?);
        if let Some(other) = other {
            against.push(other.phase(phase).await?);
        }
    }
    Ok((stats, against))
}

/// Measures a newly started server with many objects, so that the objects of the other phases do not affect the result.
async fn measure_memory_with_many_objects(load: Load) -> Result<(Vec<RequestStats>, Option<u64>), BoxError> {
    let server = OwnServer::start().await?;
    load::run_in_namespaces(&server.target, load, &server, async |bench| {
        let held = bench.measure_many_objects().await?;
        Ok((held.stats, server.memory()))
    })
    .await
}
