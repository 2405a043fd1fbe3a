//! What can be typed: parsing, and one function per command.

use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use suites::harness::invocation::program;
use suites::harness::machine;

use crate::args::{E2eArgs, ExplainArgs, ListArgs};
use crate::capture::{self, CaptureArgs};
use crate::chosen::ReproArgs;
use crate::conformance::ConformanceArgs;
use crate::doctor::{self, DoctorArgs};
use crate::explore::{self, ExploreArgs};
use crate::init::{self, InitArgs};
use crate::interrupt::hear;
use crate::lab::{self, BenchArgs, SelftestArgs, StudyArgs, SweepArgs};
use crate::out::eprintln;
use crate::rbac::{self, RbacArgs};
use crate::record::{self, RecordArgs};
use crate::report::{self, ReportCommand};
use crate::rerun::{self, RerunArgs};
use crate::up::{self, UpArgs};
use crate::why::{self, WhyArgs};
use crate::{Exit, conformance, e2e, examples, inspect, manual, repro, typed, watch};

/// Test harness and fake control plane for Kubernetes storage-capacity tracking.
#[derive(Parser)]
#[command(name = "csi-capacity", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 passed, 1 a case failed, 2 wrong use or wrong file, 3 the environment, \
4 nothing selected, 5 undecided, 6 incomplete, 7 findings, 70 internal error, 130 interrupted";

#[derive(Subcommand)]
enum Command {
    /// Run the cases against the built-in publisher and scheduler
    E2e(E2eArgs),
    /// Run the cases against other programs
    Conformance(ConformanceArgs),
    /// List the cases
    List(ListArgs),
    /// Say what a case shows, what it does and what it expects
    Explain(ExplainArgs),
    /// Say why a pod or claim fits which nodes, from a cluster, files or a case
    Why(WhyArgs),
    /// Run the cases against deliberately broken reference implementations: show that they can fail
    Selftest(SelftestArgs),
    /// Run worlds and histories that nobody wrote, and make what goes wrong small
    Explore(ExploreArgs),
    /// Run the cases of one file: a bug report, or a scenario of your own
    Repro(ReproArgs),
    /// Run a case again and again, each time with a fault at another request, delivery or call
    Sweep(SweepArgs),
    /// Derive the least permissions that programs need for cases, and prove that they are enough
    Rbac(RbacArgs),
    /// Run what did not pass the last time
    Rerun(RerunArgs),
    /// Write the situation of a cluster as a scenario that reproduces it
    Capture(CaptureArgs),
    /// Serve the API server alone or a scenario's cluster, for kubectl and other clients
    Up(UpArgs),
    /// Measure how fast the API server and the scheduler are, or what publishing costs
    Bench(BenchArgs),
    /// Repeat an experiment with which the documents argue, and hold what they say against it
    Study(StudyArgs),
    /// Judge a stored run again, from its journal alone
    Judge {
        /// The folder of the run, as a failure names it
        folder: PathBuf,
        /// Print the timeline of the whole case first, also of one that passed (see --keep-passed)
        #[arg(long)]
        timeline: bool,
    },
    /// Run cases against other programs, and store their journals, so that changes of the judge are held against them
    Record(RecordArgs),
    /// Write the manifest of a program of yours, from what it says of its flags, and try it
    Init(InitArgs),
    /// Say what this machine has of what runs need, and of the programs of a manifest
    Doctor(DoctorArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of this program, or of a command
    Man {
        /// The command, such as `e2e` or `report merge`
        command: Vec<String>,
    },
    /// Join, render or describe the reports of runs
    #[command(subcommand)]
    Report(ReportCommand),
}

/// Parses the arguments of the process and does what they say.
pub(crate) fn run() -> Exit {
    #[cfg(not(feature = "labs"))]
    if lab::is_meant() {
        return lab::elsewhere();
    }
    machine::raise_descriptor_limit();
    let parsed = described().try_get_matches_from(typed::in_order(std::env::args_os()));
    match parsed.and_then(|parsed| Cli::from_arg_matches(&parsed)) {
        Ok(cli) => obey(cli.command),
        Err(told) => {
            typed::tell(&told, &Cli::command());
            if told.use_stderr() {
                Exit::Usage
            } else {
                Exit::Passed
            }
        }
    }
}

/// The command line, under the name by which the user calls it.
fn described() -> clap::Command {
    examples::added(Cli::command(), program()).bin_name(program())
}

impl Command {
    /// Whether it does something when it is asked to end: it tells what it knows, or takes away what it made.
    fn ends_in_order(&self) -> bool {
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

/// Does what a recorded command says, as far as it runs cases.
fn again(words: &[String]) -> Exit {
    let arguments = std::iter::once(program().to_owned()).chain(words.iter().cloned());
    let runs_cases = |command: &Command| {
        matches!(
            command,
            Command::E2e(_) | Command::Conformance(_) | Command::Repro(_)
        )
    };
    match Cli::try_parse_from(arguments) {
        Ok(Cli { command }) if runs_cases(&command) => obey(command),
        Ok(_) => {
            eprintln!("error: the record is of a command that runs no cases; name the report of a run");
            Exit::Usage
        }
        Err(error) => {
            eprintln!(
                "error: the recorded command is not understood: {}",
                error.to_string().trim_end()
            );
            Exit::Usage
        }
    }
}

fn obey(command: Command) -> Exit {
    if command.ends_in_order() {
        hear();
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
        Command::Rerun(args) => rerun::words(&args).map_or_else(|exit| exit, |words| again(&words)),
        Command::Capture(args) => capture::run(&args),
        Command::Up(args) => up::run(&args),
        Command::Bench(args) => lab::bench(args),
        Command::Study(args) => lab::study(args),
        Command::Judge { folder, timeline } => inspect::judge(&folder, timeline),
        Command::Report(command) => report::run(&command),
        Command::Record(args) => record::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => manual::completions(shell, described()),
        Command::Man { command: words } => manual::page(&words, described()),
    }
}
