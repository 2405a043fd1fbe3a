//! `bench`: how fast the API server is, and how much memory it takes.
//!
//! Thin: what is typed, and which servers are measured. Judges nothing: figures depend on the machine.

mod connection;
mod figure;
mod load;
mod server;

use std::path::PathBuf;
use std::process::Command;

use anstream::{eprintln, println};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::Exit;
use figure::Measured;
use load::Load;
use server::Ours;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
}

#[derive(Args)]
struct ApiserverArgs {
    /// Measure also the server of that kubeconfig's current context, with the same load, and compare
    #[arg(long, value_name = "KUBECONFIG")]
    against: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Measure this build as it is, even if it was built without optimisation
    #[arg(long)]
    as_built: bool,
    #[command(flatten)]
    load: Load,
}

/// Measures.
pub(crate) fn run(args: &BenchArgs) -> Exit {
    let What::Apiserver(args) = &args.what;
    if cfg!(debug_assertions) && !args.as_built {
        return optimised();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return environment(&error.into()),
    };
    match runtime.block_on(measure(args)) {
        Ok(text) => {
            println!("{text}");
            Exit::Passed
        }
        Err(error) => environment(&error),
    }
}

fn environment(error: &BoxError) -> Exit {
    eprintln!("error: nothing could be measured: {error}; check that the server is reached and not in use");
    Exit::Environment
}

/// Does the same in a build with optimisation: figures of another build would mislead.
fn optimised() -> Exit {
    eprintln!("this build is not optimised; measuring in one that is (cargo run --release)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .status();
    match status {
        Ok(status) if status.success() => Exit::Passed,
        Ok(status) => environment(&format!("the optimised build ended with {status}").into()),
        Err(error) => environment(&error.into()),
    }
}

async fn measure(args: &ApiserverArgs) -> Result<String, BoxError> {
    let ours = measure_ours(args.load).await?;
    let other = match &args.against {
        None => None,
        Some(kubeconfig) => Some(Measured {
            ready_milliseconds: None,
            rest_bytes: None,
            loaded_bytes: None,
            figures: load::run(&server::target(kubeconfig).await?, args.load).await?,
        }),
    };
    if args.json {
        return Ok(serde_json::to_string_pretty(
            &json!({"server": ours, "against": other}),
        )?);
    }
    Ok(figure::table(&ours, other.as_ref()).trim_end().to_owned())
}

async fn measure_ours(load: Load) -> Result<Measured, BoxError> {
    let server = Ours::start().await?;
    let rest_bytes = server.memory();
    let figures = load::run(&server.target, load).await?;
    Ok(Measured {
        ready_milliseconds: Some(server.ready.as_secs_f64() * 1e3),
        rest_bytes,
        loaded_bytes: server.memory(),
        figures,
    })
}
