//! The commands of the crate `labs`. A build without the feature `labs` knows only their names.

mod bench;
mod coverage;
mod selftest;
mod study;
mod sweep;

use std::path::Path;

use suites::ShardFile;

use tokio::sync::oneshot;

use crate::Exit;
use crate::args::PartArgs;
use crate::interrupt::interrupted;
use crate::out::eprintln;
use crate::runtime::runtime;

pub(crate) use self::bench::run as bench;
pub(crate) use self::coverage::list as coverage;
pub(crate) use self::selftest::{SelftestArgs, run as selftest};
pub(crate) use self::study::run as study;
pub(crate) use self::sweep::{SweepArgs, run as sweep};
pub(crate) use labs::CommandResult;
pub(crate) use labs::bench::BenchArgs;
pub(crate) use labs::study::StudyArgs;

/// Prints the merged results of `sweep` or `selftest`.
pub(crate) fn print_merged(part: ShardFile<CommandResult>, output: &Path) -> Exit {
    match part.found {
        CommandResult::Explored(_) => Exit::NoCases,
        CommandResult::Swept(cases) => sweep::print_merged(&cases, output),
        CommandResult::Held(share) => {
            let mut report = share.report(part.shards.as_ref(), part.command);
            report.started = part.started;
            report.seconds = part.seconds;
            selftest::print_and_write(&report, false, Some(output))
        }
    }
}

/// The folder given by `--output`. A shard requires one, because `report merge` reads the results from there.
fn output_for_shard<'o>(part: &PartArgs, output: Option<&'o Path>) -> Result<Option<&'o Path>, Exit> {
    if part.shard.is_some() && output.is_none() {
        eprintln!("error: --shard requires --output: a shard without a report cannot be merged");
        return Err(Exit::Usage);
    }
    Ok(output)
}

/// Runs a computation on a separate thread, which is abandoned at Ctrl-C because the computation does not check for interrupts.
///
/// `why`: what an interrupt means for the results, as text for the message.
fn run_abortable(
    work: impl FnOnce() -> Result<Exit, Exit> + Send + 'static,
    why: &str,
) -> Result<Exit, Exit> {
    let runtime = runtime()?;
    let (sender, receiver) = oneshot::channel();
    // Sending fails after an interrupt, because the receiver no longer exists.
    let thread = std::thread::spawn(move || {
        sender.send(work()).ok();
    });
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = receiver => Some(ended),
            () = interrupted() => None,
        }
    });
    match ended {
        Some(Ok(ended)) => ended,
        // The thread panicked, and the panic message has been printed.
        Some(Err(_)) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(Exit::Environment),
        },
        None => {
            eprintln!("interrupted: {why}");
            Err(Exit::Interrupted)
        }
    }
}
