//! The command line of csi-capacity-harness, as a library: the built-in systems and the commands.
//!
//! Thin: what a command does lives in `suites` and `harness`.

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

/// A panic is an internal error, and says so with a code of its own.
const OUR_FAULT: u8 = Exit::Internal.code();

/// The program, which carries these files.
pub fn main(files: Carried) -> ExitCode {
    if cfg!(panic = "abort") {
        exit_at_panic();
    }
    suites::carry(files);
    std::panic::catch_unwind(run).map_or(ExitCode::from(OUR_FAULT), ExitCode::from)
}

/// Where nothing is caught, a panic still says its place and has its code, instead of the signal of an abort.
#[expect(clippy::exit, reason = "a panic that nobody catches comes back to no `main`")]
fn exit_at_panic() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        std::process::exit(OUR_FAULT.into());
    }));
}

/// The program, with mutants of the references.
pub fn main_with(files: Carried, mutants: references::Mutants) -> ExitCode {
    references::register(mutants);
    main(files)
}

/// Does what the arguments of the process say.
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
