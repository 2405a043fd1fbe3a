//! `bench`: throughput of the API server and the scheduler, cost of publishing, and memory use.

use std::process::Command;

use labs::bench::{self, BenchArgs, Measurement};
use suites::harness::invocation::checkout;
use suites::harness::system::BoxError;

use super::run_abortable;
use crate::Exit;
use crate::interrupt::interrupted;
use crate::out::{eprintln, println};
use crate::runtime::runtime;

const INTERRUPTED: &str = "results are printed after all measurements, so no result is printed";

pub(crate) fn run(args: BenchArgs) -> Result<Exit, Exit> {
    if cfg!(debug_assertions) && !args.as_built() {
        return Ok(run_optimised_build());
    }
    match args.what {
        Measurement::Apiserver(args) => block_on(bench::apiserver(&args)),
        Measurement::Publisher(args) => block_on(bench::publisher(&args)),
        Measurement::Scheduler(args) => {
            run_abortable(move || Ok(print_result(bench::scheduler(&args))), INTERRUPTED)
        }
    }
}

/// Runs a measurement until it ends or is interrupted. Child processes and temporary folders are removed in both cases.
fn block_on(measuring: impl Future<Output = Result<String, BoxError>>) -> Result<Exit, Exit> {
    let exit = runtime()?.block_on(async {
        tokio::select! {
            measured = measuring => print_result(measured),
            () = interrupted() => {
                eprintln!("interrupted: {INTERRUPTED}");
                Exit::Interrupted
            }
        }
    });
    Ok(exit)
}

fn print_result(measured: Result<String, BoxError>) -> Exit {
    match measured {
        Ok(text) => {
            println!("{text}");
            Exit::Passed
        }
        Err(error) => Exit::Environment.with_error(format_args!(
            "nothing could be measured: {error}; check the kubeconfig, and that the server responds and is not used by others"
        )),
    }
}

/// Runs the command again in an optimised build, because measurements of a debug build are misleading.
fn run_optimised_build() -> Exit {
    let Some(checkout) = checkout() else {
        eprintln!(
            "error: this build is not optimised, and its measurements would be misleading; build it with `cargo build --release`"
        );
        return Exit::Environment;
    };
    eprintln!(
        "this build is not optimised; starting the release build for the measurements (cargo run --release)"
    );
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
