//! The command line of csi-capacity-harness as a library: the built-in systems and the commands.
//!
//! The crates `suites`, `harness` and `diagnose` implement the commands.

mod accept;
mod apiserver;
mod args;
mod capture;
mod command;
mod config_flags;
mod conformance;
mod doctor;
mod e2e;
mod every_dialect;
mod examples;
mod exec;
mod exit;
mod explore;
mod folders;
mod follow;
mod github;
mod health;
mod init;
mod inspect;
mod interrupt;
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
mod merge_parts;
mod mutants;
mod normalize;
mod out;
mod parts;
mod preflight;
mod rbac;
mod record;
mod report;
mod repro;
mod repro_args;
mod requirements;
mod rerun;
mod run_folder;
mod runner;
mod runtime;
mod selected;
mod serve;
mod side_by_side;
mod summary;
mod up;
mod verdicts;
mod watch;
mod why;

use std::process::ExitCode;

use suites::BuiltInFiles;

pub use exit::Exit;

const PANIC_EXIT_CODE: u8 = Exit::Internal.code();

/// Runs the command of the process arguments. `files`: the built-in cases and manifests.
pub fn main(files: BuiltInFiles) -> ExitCode {
    if cfg!(panic = "abort") {
        exit_at_panic();
    }
    suites::register_built_in_files(files);
    std::panic::catch_unwind(run).map_or(ExitCode::from(PANIC_EXIT_CODE), ExitCode::from)
}

/// With `panic = "abort"`, a panic would end the process with SIGABRT. A hook prints the location of the panic, and exits with the code for
/// panics.
#[expect(clippy::exit, reason = "an uncaught panic does not return to `main`")]
fn exit_at_panic() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        default_hook(panic);
        std::process::exit(PANIC_EXIT_CODE.into());
    }));
}

/// Runs the program with mutants of the references.
pub fn main_with_mutants(files: BuiltInFiles, mutants: references::Mutants) -> ExitCode {
    references::register(mutants);
    main(files)
}

fn run() -> Exit {
    let exit = match kubectl::is_plugin() {
        true => kubectl::run(),
        false => command::run(),
    };
    match exit {
        Exit::Failed | Exit::Interrupted => exit,
        _ if out::is_output_lost() => Exit::Environment,
        exit => exit,
    }
}
