//! `bench`: how fast the API server and the scheduler are, what publishing costs, and how much memory it takes.
//!
//! Judges nothing: figures depend on the machine.

mod connection;
mod figure;
mod held;
mod load;
mod objects;
mod publisher;
mod scheduler;
mod server;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use suites::harness::system::BoxError;

use figure::{Figure, Measured};
use load::{Bench, Load, Part};
use server::{Other, Ours};

pub use publisher::{PublisherArgs, measure as publisher};
pub use scheduler::{SchedulerArgs, run as scheduler};

/// Arguments of `bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// What is measured.
    #[command(subcommand)]
    pub what: Measurement,
}

/// What is measured.
#[derive(Subcommand)]
pub enum Measurement {
    /// Measure the API server over TLS, perhaps against another one
    Apiserver(ApiserverArgs),
    /// Measure what publishing costs, by number of objects
    Publisher(PublisherArgs),
    /// Measure one attempt of the scheduler over nodes and objects, beside a scan of every object
    Scheduler(SchedulerArgs),
}

/// Arguments of `bench apiserver`.
#[derive(Args)]
pub struct ApiserverArgs {
    /// Measure also the server of that kubeconfig's current context, with the same load, and compare
    #[arg(long, value_name = "KUBECONFIG")]
    against: Option<PathBuf>,
    /// The process of that server, whose memory is reported; else the one that listens there on this machine
    #[arg(long, value_name = "PID", requires = "against")]
    against_pid: Option<u32>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Measure this build as it is, even if it was built without optimisation
    #[arg(long)]
    as_built: bool,
    #[command(flatten)]
    load: Load,
}

/// Whether there is a measurement of that name.
pub fn is_measurement(name: &str) -> bool {
    Measurement::has_subcommand(name)
}

impl BenchArgs {
    /// Whether this build is measured as it is, even without optimisation.
    pub fn as_built(&self) -> bool {
        match &self.what {
            Measurement::Apiserver(args) => args.as_built,
            Measurement::Publisher(args) => args.as_built,
            Measurement::Scheduler(args) => args.as_built,
        }
    }
}

/// Measures the API server, and returns what is to be printed.
pub async fn apiserver(args: &ApiserverArgs) -> Result<String, BoxError> {
    let (ours, other) = measure_load(args).await?;
    if args.json {
        return Ok(serde_json::to_string_pretty(
            &json!({"server": ours, "against": other}),
        )?);
    }
    Ok(figure::table(&ours, other.as_ref()).trim_end().to_owned())
}

/// Measures our server, and perhaps another one: each part of the load with the one and then with the other, so that what
/// else the machine does meanwhile does not favour either.
async fn measure_load(args: &ApiserverArgs) -> Result<(Measured, Option<Measured>), BoxError> {
    let load = args.load;
    let server = Ours::start().await?;
    let rest_bytes = server.memory();
    let (figures, against) = match &args.against {
        None => {
            let measure = async |bench: Bench<'_>| run_parts(&bench, None).await;
            let (figures, _) = load::within(&server.target, load, &server, measure).await?;
            (figures, None)
        }
        Some(kubeconfig) => {
            let other = Other::of(kubeconfig, args.against_pid).await?;
            let rest_bytes = other.memory();
            let (figures, against) = load::within(&server.target, load, &server, async |ours| {
                load::within(&other.target, load, &other, async |other| {
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
                figures: against,
                held: Vec::new(),
            };
            (figures, Some(against))
        }
    };
    let (loaded_bytes, ready) = (server.memory(), server.ready);
    drop(server);
    let (held, held_bytes) = measure_held(load).await?;
    let measured = Measured {
        ready_milliseconds: Some(ready.as_secs_f64() * 1e3),
        rest_bytes,
        loaded_bytes,
        held_bytes,
        figures,
        held,
    };
    Ok((measured, against))
}

/// Figures of our server and of the other, if there is one.
async fn run_parts(
    ours: &Bench<'_>,
    other: Option<&Bench<'_>>,
) -> Result<(Vec<Figure>, Vec<Figure>), BoxError> {
    let (mut figures, mut against) = (Vec::new(), Vec::new());
    for part in Part::ALL {
        figures.push(ours.part(part).await?);
        if let Some(other) = other {
            against.push(other.part(part).await?);
        }
    }
    Ok((figures, against))
}

/// Measures a server that holds much; a new one, so that what the load left behind does not count.
async fn measure_held(load: Load) -> Result<(Vec<Figure>, Option<u64>), BoxError> {
    let server = Ours::start().await?;
    load::within(&server.target, load, &server, async |bench| {
        let held = bench.hold().await?;
        Ok((held.figures, server.memory()))
    })
    .await
}
