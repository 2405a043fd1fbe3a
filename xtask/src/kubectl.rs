//! `kubectl capacity`: the diagnosis commands as a kubectl plugin, when this program is installed as `kubectl-capacity`.
//!
//! Owns kubectl's flags and exit codes: 0, or 1 for any error. Other modules implement the commands.

use std::path::Path;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::Exit;
use crate::capture::CaptureSource;
use crate::normalize;
use crate::out::print;
use crate::why::{self, Common, Subject, WhyArgs};

/// File name of this program as a kubectl plugin.
const FILE: &str = "kubectl-capacity";

const EXAMPLES: &str = "Examples:
  # Why a pod of the context's namespace is pending, node by node
  kubectl capacity why pod ledger-0
  # Where a claim would fit
  kubectl capacity why claim --class fast --size 20Gi -o wide
  # Which CSIStorageCapacity objects can never match, as JSON
  kubectl capacity objects --context production -o json
  # The cluster state around a pod as a scenario that reproduces it, with neutral names
  kubectl capacity capture --pod ledger-0 -n payments --scrub > bug.yaml";

/// Explain which nodes pods and claims fit with regard to storage capacity
#[derive(Parser)]
#[command(name = FILE, bin_name = "kubectl capacity", version, after_help = EXAMPLES)]
struct Plugin {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Subcommand)]
enum PluginCommand {
    /// Explain which nodes a pod or claim fits and why
    Why(WhyArgs),
    /// List capacity objects, classes and claims that can never match
    Objects {
        #[command(flatten)]
        common: Common,
    },
    /// Print the state of a cluster as a scenario that reproduces it
    Capture {
        #[command(flatten)]
        what: CaptureSource,
        /// Output format
        #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
        output: ScenarioFormat,
    },
}

/// Output formats for scenarios: YAML only.
#[derive(Clone, Copy, ValueEnum)]
enum ScenarioFormat {
    Yaml,
}

/// Whether this program was started as `kubectl-capacity`, by kubectl or directly.
pub(crate) fn is_plugin() -> bool {
    let name = std::env::args_os().next();
    name.is_some_and(|name| Path::new(&name).file_stem().is_some_and(|name| name == FILE))
}

/// Parses the process arguments and runs the command.
pub(crate) fn run() -> Exit {
    let exit = match Plugin::try_parse_from(normalize::normalized(std::env::args_os())) {
        Ok(Plugin { command }) => dispatch(command).unwrap_or_else(|exit| exit),
        Err(error) => {
            normalize::print_error(&error, &Plugin::command());
            if error.use_stderr() {
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

fn dispatch(command: PluginCommand) -> Result<Exit, Exit> {
    match command {
        PluginCommand::Why(args) => why::run_why(&args.what),
        PluginCommand::Objects { common } => why::run_why(&Subject::Objects { common }),
        PluginCommand::Capture {
            what,
            output: ScenarioFormat::Yaml,
        } => {
            print!("{}", what.text()?);
            Ok(Exit::Passed)
        }
    }
}
