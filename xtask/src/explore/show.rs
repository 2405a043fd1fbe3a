//! What `explore` says: its progress, its summary, and the reports that cases have as well.

use std::time::Duration;

use indicatif::ProgressBar;
use suites::explore::{Exploration, Explorer, Finding, Written};
use suites::harness::invocation;
use suites::harness::report::Paint;
use suites::report::{IN_MEMORY, Report, SettingsRecord, SystemRecord, WriteError, write_all};

use super::{Ended, ExploreArgs, is_simulated};
use crate::out::{self, println};
use crate::{e2e, github, manifest};

pub(super) fn progress() -> ProgressBar {
    let bar = out::progress(0, "{spinner} {msg}");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// How it goes.
pub(super) fn line(exploration: &Exploration, elapsed: Duration) -> String {
    let shrinking = exploration
        .shrinking
        .map(|tried| format!("; making one small, {tried} tried"));
    format!(
        "{} worlds, {:.0}/s, {} values of {} axes, {} findings{}",
        exploration.worlds,
        per_second(exploration.worlds, elapsed),
        exploration.axes.values(),
        exploration.axes.iter().count(),
        exploration.findings.len(),
        shrinking.unwrap_or_default()
    )
}

// So many worlds that this were not exact cannot be run.
fn per_second(worlds: u64, elapsed: Duration) -> f64 {
    worlds as f64 / elapsed.as_secs_f64().max(f64::EPSILON)
}

/// Says what came of it.
pub(super) fn summarize(explorer: &Explorer, args: &ExploreArgs, ended: &Ended) {
    let exploration = &ended.exploration;
    for (axis, values) in exploration.axes.iter() {
        let values: Vec<String> = values
            .iter()
            .map(|(value, count)| format!("{value} {count}"))
            .collect();
        println!("{axis:<10}  {}", values.join(", "));
    }
    println!();
    let paint = Paint::of(&std::io::stdout());
    for (seed, why) in &exploration.broken {
        println!("{}  seed {seed}: {why}", paint.bad("BROKEN"));
    }
    for (finding, case) in exploration.findings.iter().zip(&ended.written) {
        found(args, finding, case, paint);
    }
    let notes = [
        (exploration.known.values().sum(), "known failures"),
        (exploration.skipped.values().sum(), "skipped"),
        (exploration.undecided.len() as u64, "undecided"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    for (place, count) in &exploration.known {
        println!("known       {place}: {count} worlds");
    }
    for (why, count) in &exploration.skipped {
        println!("skipped     {count} worlds: {why}");
    }
    println!(
        "{}seed {}: {} worlds, {} events in {:.1}s, {:.1} worlds/s; {} findings{}",
        if ended.is_interrupted { "interrupted; " } else { "" },
        explorer.seed,
        exploration.worlds,
        exploration.events,
        ended.elapsed.as_secs_f64(),
        per_second(exploration.worlds, ended.elapsed),
        exploration.findings.len(),
        notes.concat()
    );
}

/// A finding: what it is, the case that shows it, and how to see it again.
fn found(args: &ExploreArgs, finding: &Finding, case: &Written, paint: Paint) {
    let worlds = match finding.worlds {
        1 => "one world".to_owned(),
        worlds => format!("{worlds} worlds"),
    };
    println!("{}  {}  in {worlds}", paint.bad("FOUND"), finding.signature);
    if let Some(explained) = case.result.ended.explained() {
        println!("  {}", explained.said.one_line());
    }
    if !case.is_repeated {
        println!("  it did not show again when the case was written: it may depend on chance");
    }
    let size = match finding.shrunk.is_smallest {
        true => "nothing of it can be left out",
        false => "it may be larger than it needs to be",
    };
    let (called, program) = (invocation::program(), program(args));
    let simulate = match is_simulated(args) {
        true => format!(" --simulate={}", finding.seed),
        false => String::new(),
    };
    println!("  case    {} ({size})", case.file.display());
    println!(
        "  repro   {called} repro{program}{simulate} {}",
        suites::quoted(&case.file.display().to_string())
    );
    if let Some(folder) = &case.result.folder {
        println!(
            "  judge   {called} judge {}",
            suites::quoted(&folder.display().to_string())
        );
    }
    let (seed, focus) = (finding.seed, finding.focus);
    println!("  again   {called} explore{program} --seed {seed} --worlds 1 --role {focus}\n");
}

/// The options that say which programs are explored.
fn program(args: &ExploreArgs) -> String {
    let sut = args.sut.as_ref().map(|sut| sut.display().to_string());
    let options = [
        ("sut", sut),
        ("defect", args.defect.map(|defect| defect.to_string())),
    ];
    let given = options
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    given
        .map(|(name, value)| format!(" --{name} {}", suites::quoted(&value)))
        .collect()
}

/// Writes the reports that cases have as well.
pub(super) fn write_reports(
    explorer: &Explorer,
    args: &ExploreArgs,
    ended: &Ended,
) -> Result<(), WriteError> {
    let session = &explorer.session;
    let manifest = session.manifest.as_ref();
    let settings = SettingsRecord::new(session.options, session.attempts, IN_MEMORY.to_owned());
    let command = vec![
        format!("explore{}", program(args)),
        format!("--seed={}", explorer.seed),
    ];
    let system = SystemRecord {
        // Drawn worlds say nothing of single features.
        features: Vec::new(),
        ..manifest.map_or_else(|| e2e::record(args.defect), manifest::record)
    };
    let mut report = Report {
        seconds: ended.elapsed.as_secs_f64(),
        limits: vec!["exploration draws what it runs".to_owned()],
        cases: ended.exploration.records(explorer.seed, &ended.written),
        ..Report::new(system, command, settings)
    };
    if ended.is_interrupted {
        report.limits.push("interrupted".to_owned());
    }
    report.settle();
    github::annotate(&report);
    github::summarize(&report);
    write_all(&report, &args.output)
}
