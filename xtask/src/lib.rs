//! The command line of csi-capacity-harness as a library: the built-in systems and the commands.
//!
//! Thin: the commands are implemented in `suites`, `harness` and `diagnose`.

mod accept;
mod apiserver;
mod args;
mod capture;
mod chosen;
mod command;
mod conformance;
mod doctor;
mod e2e;
mod elsewhere;
mod every_dialect;
mod examples;
mod exit;
mod explore;
mod follow;
mod github;
mod health;
mod init;
mod inspect;
mod interrupt;
mod joined;
mod keep;
mod kubeconfig_file;
mod kubectl;
#[cfg(feature = "labs")]
mod lab;
#[cfg(not(feature = "labs"))]
#[path = "no_lab.rs"]
mod lab;
mod manifest;
mod manual;
mod measure;
mod mutants;
mod out;
mod parts;
mod places;
mod preflight;
mod rbac;
mod reach;
mod record;
mod report;
mod repro;
mod requirements;
mod rerun;
mod runner;
mod runtime;
mod selected;
mod serve;
mod side_by_side;
mod summary;
mod typed;
mod up;
mod verdicts;
mod watch;
mod why;

use std::process::ExitCode;

use suites::Carried;

pub use exit::Exit;

/// Exit code for a panic.
const OUR_FAULT: u8 = Exit::Internal.code();

/// Runs the program. `files`: the files built into it.
pub fn main(files: Carried) -> ExitCode {
    if cfg!(panic = "abort") {
        exit_at_panic();
    }
    suites::carry(files);
    std::panic::catch_unwind(run).map_or(ExitCode::from(OUR_FAULT), ExitCode::from)
}

/// With `panic = "abort"`, a hook prints the panic's location and sets the exit code, which an abort signal would replace.
#[expect(clippy::exit, reason = "an uncaught panic does not return to `main`")]
fn exit_at_panic() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        std::process::exit(OUR_FAULT.into());
    }));
}

/// Runs the program with mutants of the references.
pub fn main_with(files: Carried, mutants: references::Mutants) -> ExitCode {
    references::register(mutants);
    main(files)
}

/// Runs the command of the process arguments.
fn run() -> Exit {
    let exit = match kubectl::is_meant() {
        true => kubectl::run(),
        false => command::run(),
    };
    match exit {
        Exit::Failed | Exit::Interrupted => exit,
        _ if out::is_lost() => Exit::Environment,
        exit => exit,
    }
}
