//! `bench`: how fast the API server and the scheduler are, what publishing costs, and how much memory it takes.
//!
//! Thin: what is typed, and which servers are measured. Judges nothing: figures depend on the machine.

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
use std::process::Command;

use clap::{Args, Subcommand};
use serde_json::json;
use suites::harness::invocation::checkout;
use suites::harness::system::BoxError;

use crate::Exit;
use crate::interrupt::interrupted;
use crate::out::{eprintln, println};
use crate::runtime::{calculate, runtime};
use figure::{Figure, Measured};
use load::{Bench, Load, Part};
use publisher::PublisherArgs;
use scheduler::SchedulerArgs;
use server::{Other, Ours};

/// Arguments of `bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure the API server over TLS, perhaps against another one
    Apiserver(ApiserverArgs),
    /// Measure what publishing costs, by number of objects
    Publisher(PublisherArgs),
    /// Measure one attempt of the scheduler over nodes and objects, beside a scan of every object
    Scheduler(SchedulerArgs),
}

#[derive(Args)]
struct ApiserverArgs {
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

/// What an interrupt means for all measurements.
const INTERRUPTED: &str = "figures are told once all of them are measured, so nothing is told";

/// Measures.
pub(crate) fn run(args: BenchArgs) -> Exit {
    let as_built = match &args.what {
        What::Apiserver(args) => args.as_built,
        What::Publisher(args) => args.as_built,
        What::Scheduler(args) => args.as_built,
    };
    if cfg!(debug_assertions) && !as_built {
        return optimised();
    }
    match args.what {
        What::Apiserver(args) => block_on(measure(&args)),
        What::Publisher(args) => block_on(measure_publisher(&args)),
        What::Scheduler(args) => calculate(move || told(scheduler::run(&args)), INTERRUPTED),
    }
}

/// Measures until somebody asks for the end. Programs that were started and folders go away with the measurement.
fn block_on(measuring: impl Future<Output = Result<String, BoxError>>) -> Exit {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    runtime.block_on(async {
        tokio::select! {
            measured = measuring => told(measured),
            () = interrupted() => {
                eprintln!("interrupted: {INTERRUPTED}");
                Exit::Interrupted
            }
        }
    })
}

fn told(measured: Result<String, BoxError>) -> Exit {
    match measured {
        Ok(text) => {
            println!("{text}");
            Exit::Passed
        }
        Err(error) => environment(&error),
    }
}

fn environment(error: &BoxError) -> Exit {
    eprintln!(
        "error: nothing could be measured: {error}; check the kubeconfig, and that the server answers and is not in use"
    );
    Exit::Environment
}

/// Does the same in a build with optimisation: figures of another build would mislead.
fn optimised() -> Exit {
    let Some(checkout) = checkout() else {
        eprintln!(
            "error: this build is not optimised, and its figures would mislead; build it with `cargo build --release`"
        );
        return Exit::Environment;
    };
    eprintln!("this build is not optimised; measuring in one that is (cargo run --release)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "xtask",
            "--manifest-path",
        ])
        .arg(checkout.join("Cargo.toml"))
        .arg("--")
        .args(std::env::args_os().skip(1))
        .status();
    match status {
        Ok(status) if status.success() => Exit::Passed,
        Ok(status) => {
            eprintln!("error: the optimised build ended with {status}");
            Exit::Environment
        }
        Err(error) => {
            eprintln!("error: cargo does not start: {error}; is it in PATH?");
            Exit::Environment
        }
    }
}

async fn measure_publisher(args: &PublisherArgs) -> Result<String, BoxError> {
    let costs = publisher::measure(args).await?;
    if args.json {
        return Ok(serde_json::to_string_pretty(&costs)?);
    }
    Ok(publisher::table(&costs).trim_end().to_owned())
}

async fn measure(args: &ApiserverArgs) -> Result<String, BoxError> {
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
