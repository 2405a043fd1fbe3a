//! The command line: argument parsing, and one function per command.

use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use suites::harness::invocation::program;
use suites::harness::machine;

use crate::args::{E2eArgs, ExplainArgs, ListArgs};
use crate::capture::{self, CaptureArgs};
use crate::conformance::ConformanceArgs;
use crate::doctor::{self, DoctorArgs};
use crate::explore::{self, ExploreArgs};
use crate::init::{self, InitArgs};
use crate::interrupt::install_signal_handlers;
use crate::lab::{self, BenchArgs, SelftestArgs, StudyArgs, SweepArgs};
use crate::rbac::{self, RbacArgs};
use crate::record::{self, RecordArgs};
use crate::report::{self, ReportCommand};
use crate::repro_args::ReproArgs;
use crate::rerun::{self, RerunArgs};
use crate::up::{self, UpArgs};
use crate::why::{self, WhyArgs};
use crate::{Exit, conformance, e2e, examples, inspect, manual, normalize, repro, watch};

/// Test harness and fake control plane for Kubernetes storage-capacity tracking.
#[derive(Parser)]
#[command(name = "csi-capacity", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 passed, 1 a case failed, 2 invalid arguments or file, 3 environment error, \
4 no case selected, 5 undecided, 6 incomplete, 7 findings, 70 internal error, 130 interrupted";

#[derive(Subcommand)]
enum Command {
    /// Run the cases against the built-in publisher and scheduler (the references)
    E2e(E2eArgs),
    /// Run the cases against the programs of a manifest
    Conformance(ConformanceArgs),
    /// List the cases
    List(ListArgs),
    /// Explain a case: what it verifies, its actions and its expectations
    Explain(ExplainArgs),
    /// Explain which nodes a pod or claim fits and why, from a cluster, files or a case
    Why(WhyArgs),
    /// Run the cases against deliberately broken references, to verify that the cases can fail
    Selftest(SelftestArgs),
    /// Generate random clusters and events, check them against the specification, and minimize failures
    Explore(ExploreArgs),
    /// Run the cases of one file, such as a bug report or your own scenario
    Repro(ReproArgs),
    /// Run a case once per fault point: each time with a fault at another request, watch delivery or CSI call
    Sweep(SweepArgs),
    /// Derive the minimal RBAC rules that programs need for cases, and verify that they suffice
    Rbac(RbacArgs),
    /// Rerun the cases that did not pass in the last run
    Rerun(RerunArgs),
    /// Write the state of a cluster as a scenario that reproduces it
    Capture(CaptureArgs),
    /// Serve the API server alone, or the cluster of a scenario, for kubectl and other clients
    Up(UpArgs),
    /// Measure the API server's and the scheduler's throughput, or the cost of publishing
    Bench(BenchArgs),
    /// Reproduce an experiment of the KEPs and check their claims
    Study(StudyArgs),
    /// Evaluate a stored run again from its journal, without running programs
    Judge {
        /// Folder of the run, as printed with a failure
        folder: PathBuf,
        /// Print the timeline of the whole case first, with one line for facts of equal text, even if the run passed (see --keep-passed)
        #[arg(long)]
        timeline: bool,
    },
    /// Run cases against other programs and store the journals, for regression tests of the harness's verdicts
    Record(RecordArgs),
    /// Create the manifest of a program from its --help output, and run trial cases with it
    Init(InitArgs),
    /// Check whether this machine, and the programs of a manifest, are ready for runs
    Doctor(DoctorArgs),
    /// Print shell completions
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of this program or of a command
    Man {
        /// The command, such as `e2e` or `report merge`
        command: Vec<String>,
    },
    /// Merge or render reports of runs, or print their schema
    #[command(subcommand)]
    Report(ReportCommand),
}

/// Parses the process arguments and runs the command.
pub(crate) fn run() -> Exit {
    #[cfg(not(feature = "labs"))]
    if lab::is_requested() {
        return lab::exec_with_labs();
    }
    machine::raise_descriptor_limit();
    let parsed = clap_command().try_get_matches_from(normalize::normalized(std::env::args_os()));
    match parsed.and_then(|parsed| Cli::from_arg_matches(&parsed)) {
        Ok(cli) => dispatch(cli.command).unwrap_or_else(|exit| exit),
        Err(error) => {
            normalize::print_error(&error, &Cli::command());
            if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Passed
            }
        }
    }
}

/// The clap command, under the name by which the user calls this program.
fn clap_command() -> clap::Command {
    examples::with_examples(Cli::command(), program()).bin_name(program())
}

impl Command {
    /// Whether the command handles an interrupt itself, to print partial results or to remove objects, files or processes.
    fn handles_interrupt(&self) -> bool {
        match self {
            Command::E2e(_)
            | Command::Conformance(_)
            | Command::Selftest(_)
            | Command::Explore(_)
            | Command::Repro(_)
            | Command::Sweep(_)
            | Command::Rbac(_)
            | Command::Rerun(_)
            | Command::Record(_)
            | Command::Up(_)
            | Command::Bench(_)
            | Command::Study(_)
            | Command::Init(_) => true,
            Command::List(_)
            | Command::Explain(_)
            | Command::Why(_)
            | Command::Capture(_)
            | Command::Judge { .. }
            | Command::Doctor(_)
            | Command::Completions { .. }
            | Command::Man { .. }
            | Command::Report(_) => false,
        }
    }
}

/// Runs a recorded command again, if it is a command that runs cases.
fn rerun_command(words: &[String]) -> Result<Exit, Exit> {
    let arguments = std::iter::once(program().to_owned()).chain(words.iter().cloned());
    let runs_cases = |command: &Command| {
        matches!(
            command,
            Command::E2e(_) | Command::Conformance(_) | Command::Repro(_)
        )
    };
    match Cli::try_parse_from(arguments) {
        Ok(Cli { command }) if runs_cases(&command) => dispatch(command),
        Ok(_) => Err(Exit::Usage
            .with_error("the report is from a command that runs no cases; name the report.json of a run")),
        Err(error) => {
            let error = error.to_string();
            Err(Exit::Usage.with_error(format_args!(
                "the recorded command cannot be parsed: {}",
                error.trim_end()
            )))
        }
    }
}

fn dispatch(command: Command) -> Result<Exit, Exit> {
    if command.handles_interrupt() {
        install_signal_handlers();
    }
    match command {
        Command::E2e(args) => match &args.watch {
            Some(file) => watch::run(&args, file),
            None => e2e::run(&args),
        },
        Command::Conformance(args) => conformance::run(&args),
        Command::List(args) => inspect::list(&args),
        Command::Explain(args) => inspect::explain(&args),
        Command::Selftest(args) => lab::selftest(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Why(args) => why::run_why(&args.what),
        Command::Repro(args) => repro::run(&args),
        Command::Sweep(args) => lab::sweep(&args),
        Command::Rbac(args) => rbac::run(&args),
        Command::Rerun(args) => rerun_command(&rerun::rerun_arguments(&args)?),
        Command::Capture(args) => capture::run(&args),
        Command::Up(args) => up::run(&args),
        Command::Bench(args) => lab::bench(args),
        Command::Study(args) => lab::study(args),
        Command::Judge { folder, timeline } => inspect::judge(&folder, timeline),
        Command::Report(command) => Ok(report::run(&command)),
        Command::Record(args) => record::run(&args),
        Command::Init(args) => Ok(init::run(&args)),
        Command::Doctor(args) => Ok(doctor::run(&args)),
        Command::Completions { shell } => Ok(manual::completions(shell, clap_command())),
        Command::Man { command: words } => Ok(manual::print_page(&words, clap_command())),
    }
}
