//! `conformance --measure`: failure rate of each case per message, and the matching `knownFailures` entries.

use std::collections::BTreeMap;

use crate::out::{eprintln, println};
use indicatif::{ProgressBar, ProgressStyle};
use suites::harness::manifest::{ENOUGH_RUNS, FailureRate};
use suites::harness::plan::Plan;
use suites::{Measured, Session};

use crate::Exit;
use crate::accept::Entry;
use crate::interrupt::interrupted;
use crate::runtime::runtime;

pub(crate) fn measure(session: &Session, plans: Vec<Plan>, times: u32, version: &str) -> Result<Exit, Exit> {
    let runtime = runtime()?;
    let bar = ProgressBar::new(plans.len() as u64 * u64::from(times));
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs");
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let measured = runtime.block_on(async {
        tokio::select! {
            measured = suites::measure(session, plans, times, |_| bar.inc(1)) => Some(measured),
            () = interrupted() => None,
        }
    });
    bar.finish_and_clear();
    let Some(measured) = measured else {
        eprintln!("interrupted: no failure rates are printed for the runs so far");
        return Err(Exit::Interrupted);
    };
    table(&measured, times);
    print_entries(&measured, version);
    Ok(exit(&measured))
}

/// Prints a line for each distinct failure or finding of a case, and for inconclusive runs, and finally the counts.
fn table(measured: &BTreeMap<String, Measured>, times: u32) {
    let width = measured.keys().map(String::len).max().unwrap_or(0);
    for (case, measured) in measured {
        for (words, seen) in &measured.failures {
            let known = seen
                .known
                .as_ref()
                .map(|known| format!("  [known: {}]", known.position));
            println!(
                "{case:<width$}  failed {} of {}  “{words}”{}",
                seen.failed,
                measured.runs,
                known.unwrap_or_default()
            );
        }
        for ((rule, text), runs) in &measured.findings {
            println!(
                "{case:<width$}  finding/{rule} in {runs} of {}  “{text}”",
                measured.runs
            );
        }
        if measured.without_verdict > 0 {
            println!(
                "{case:<width$}  {} of {times} runs have no verdict",
                measured.without_verdict
            );
        }
    }
    let count = |matches: &dyn Fn(&Measured) -> bool| measured.values().filter(|one| matches(one)).count();
    let skipped = count(&|one| one.skipped.is_some());
    let cases = measured.len() - skipped;
    println!(
        "\n{cases} {}, {times} times each: {} failed never, {} always, {} sometimes{}",
        if cases == 1 { "case" } else { "cases" },
        count(&|one| one.failures.is_empty() && one.skipped.is_none()),
        count(&|one| one.runs > 0 && failed(one) == one.runs),
        count(&|one| failed(one) > 0 && failed(one) < one.runs),
        match skipped {
            0 => String::new(),
            _ => format!("; {skipped} more are skipped"),
        }
    );
}

fn failed(measured: &Measured) -> u32 {
    measured.failures.values().map(|seen| seen.failed).sum()
}

/// Prints an entry for each failure that the manifest does not list, or for which `sometimes` in the manifest is missing or unnecessary.
fn print_entries(measured: &BTreeMap<String, Measured>, version: &str) {
    let mut text = String::new();
    let mut are_too_few = false;
    for (case, measured) in measured {
        for (words, seen) in &measured.failures {
            let sometimes = (seen.failed < measured.runs).then_some(FailureRate {
                runs: measured.runs,
                failed: seen.failed,
            });
            let is_listed = seen
                .known
                .as_ref()
                .is_some_and(|known| known.sometimes.is_some() == sometimes.is_some());
            if !is_listed {
                are_too_few |= sometimes.is_some_and(|seen| seen.runs < ENOUGH_RUNS);
                let entry = Entry {
                    case,
                    fails: words,
                    message: String::new(),
                    sometimes,
                };
                text.push_str(&entry.text(version));
            }
        }
    }
    if text.is_empty() {
        return;
    }
    println!("\nEntries for `knownFailures` of the manifest; fill in `why` and `issue` of each:\n{text}");
    if are_too_few {
        println!("`sometimes` requires at least {ENOUGH_RUNS} runs: measure again with that many.");
    }
}

/// The exit code of a measurement. Failures that the manifest lists do not count.
fn exit(measured: &BTreeMap<String, Measured>) -> Exit {
    let seen = || measured.values().flat_map(|one| one.failures.values());
    if seen().any(|seen| seen.known.is_none()) {
        return Exit::Failed;
    }
    if measured.values().all(|one| one.skipped.is_some()) {
        eprintln!("error: every selected case is skipped, so nothing was measured");
        return Exit::NoCases;
    }
    if measured.values().any(|one| one.without_verdict > 0) {
        return Exit::Inconclusive;
    }
    Exit::Passed
}
