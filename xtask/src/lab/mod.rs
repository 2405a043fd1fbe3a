//! The commands of the labs, of which a build without the feature `labs` knows the names alone.

mod bench;
mod coverage;
mod selftest;
mod study;
mod sweep;

use std::path::Path;

use suites::Part;

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
pub(crate) use labs::Found;
pub(crate) use labs::bench::BenchArgs;
pub(crate) use labs::study::StudyArgs;

/// Reports what joined parts of `sweep` or `selftest` have found.
pub(crate) fn gather(part: Part<Found>, output: &Path) -> Exit {
    match part.found {
        Found::Explored(_) => Exit::Nothing,
        Found::Swept(cases) => sweep::gather(&cases, output),
        Found::Held(share) => {
            let mut report = share.report(part.shards.as_ref(), part.command);
            report.started = part.started;
            report.seconds = part.seconds;
            selftest::tell(&report, false, Some(output))
        }
    }
}

/// The folder of the reports, without which a part is of no use to others.
fn output_of<'o>(part: &PartArgs, output: Option<&'o Path>) -> Result<Option<&'o Path>, Exit> {
    if part.shard.is_some() && output.is_none() {
        eprintln!(
            "error: nothing is left of a shard that could be joined with the others; name a folder with --output"
        );
        return Err(Exit::Usage);
    }
    Ok(output)
}

/// Does what calculates all the time and listens to nobody meanwhile: at Ctrl-C it is left behind, and ends with the process.
///
/// `why`: what an interrupt means for the result.
fn calculate(work: impl FnOnce() -> Exit + Send + 'static, why: &str) -> Exit {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    let (tell, told) = oneshot::channel();
    // Nobody listens any more after an interrupt.
    let thread = std::thread::spawn(move || {
        tell.send(work()).ok();
    });
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = told => Some(ended),
            () = interrupted() => None,
        }
    });
    match ended {
        Some(Ok(exit)) => exit,
        // It has panicked, and has said so.
        Some(Err(_)) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Exit::Environment,
        },
        None => {
            eprintln!("interrupted: {why}");
            Exit::Interrupted
        }
    }
}
