//! `kubectl capacity`: what this program says about a cluster, where it is installed as `kubectl-capacity`.
//!
//! kubectl's words, flags and exit codes: 0, or 1 for an error of any kind. What is answered is the business of other commands.

use std::path::Path;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::Exit;
use crate::capture::SituationArgs;
use crate::out::print;
use crate::typed;
use crate::why::{self, Common, Subject, WhyArgs};

/// The file name by which kubectl finds a plugin of that name.
const FILE: &str = "kubectl-capacity";

const EXAMPLES: &str = "Examples:
  # Why a pod of the context's namespace is pending, node by node
  kubectl capacity why pod ledger-0
  # Where a claim would fit
  kubectl capacity why claim --class fast --size 20Gi -o wide
  # Which CSIStorageCapacity objects can never help, for a program
  kubectl capacity objects --context production -o json
  # The situation of a pod as a file that reproduces it, without names
  kubectl capacity capture --pod ledger-0 -n payments --scrub > bug.yaml";

/// Why pods and claims fit which nodes, as far as storage capacity decides it
#[derive(Parser)]
#[command(name = FILE, bin_name = "kubectl capacity", version, after_help = EXAMPLES)]
struct Plugin {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Subcommand)]
enum PluginCommand {
    /// Say why a pod or claim fits which nodes
    Why(WhyArgs),
    /// Say which capacity objects, classes and claims can never help
    Objects {
        #[command(flatten)]
        common: Common,
    },
    /// Print the situation of a cluster as a scenario that reproduces it
    Capture {
        #[command(flatten)]
        what: SituationArgs,
        /// How to print it
        #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
        output: ScenarioFormat,
    },
}

/// A scenario is written in YAML.
#[derive(Clone, Copy, ValueEnum)]
enum ScenarioFormat {
    Yaml,
}

/// Whether kubectl has started this program, or somebody under the name by which kubectl does.
pub(crate) fn is_meant() -> bool {
    let name = std::env::args_os().next();
    name.is_some_and(|name| Path::new(&name).file_stem().is_some_and(|name| name == FILE))
}

/// Does what was typed.
pub(crate) fn run() -> Exit {
    let exit = match Plugin::try_parse_from(typed::in_order(std::env::args_os())) {
        Ok(Plugin { command }) => obey(command),
        Err(told) => {
            typed::tell(&told, &Plugin::command());
            if told.use_stderr() {
                Exit::Usage
            } else {
                Exit::Passed
            }
        }
    };
    match exit {
        Exit::Passed | Exit::Interrupted => exit,
        _ => Exit::Failed,
    }
}

fn obey(command: PluginCommand) -> Exit {
    match command {
        PluginCommand::Why(args) => why::run_why(&args.what),
        PluginCommand::Objects { common } => why::run_why(&Subject::Objects { common }),
        PluginCommand::Capture {
            what,
            output: ScenarioFormat::Yaml,
        } => match what.text() {
            Ok(text) => {
                print!("{text}");
                Exit::Passed
            }
            Err(exit) => exit,
        },
    }
}
