//! Output of `explore`: progress, summary, and reports in the formats that are also used for cases.

use std::path::Path;
use std::time::Duration;

use indicatif::ProgressBar;
use suites::explore::{Exploration, Explored, FoundRecord, Programs, Reproduced};
use suites::harness::invocation;
use suites::harness::report::Paint;
use suites::report::{Report, WriteError, write_all};

use super::{ExplorationEnd, ExploreArgs};
use crate::github;
use crate::out::{self, println};

pub(super) fn progress() -> ProgressBar {
    let bar = out::progress(0, "{spinner} {msg}");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

pub(super) fn progress_line(exploration: &Exploration, elapsed: Duration) -> String {
    let minimizing = exploration
        .shrinking
        .map(|tried| format!("; minimizing a finding, {tried} tries"));
    format!(
        "{} clusters, {:.0}/s, {} values of {} axes, {} findings{}",
        exploration.clusters,
        per_second(exploration.clusters, elapsed.as_secs_f64()),
        exploration.axes.count_values(),
        exploration.axes.iter().count(),
        exploration.findings.len(),
        minimizing.unwrap_or_default()
    )
}

// The conversion is exact: no run reaches 2^53 clusters.
fn per_second(clusters: u64, seconds: f64) -> f64 {
    clusters as f64 / seconds.max(f64::EPSILON)
}

pub(super) fn summarize(explored: &Explored, seconds: f64, is_interrupted: bool) {
    for (axis, values) in &explored.axes {
        let values: Vec<String> = values
            .iter()
            .map(|(value, count)| format!("{value} {count}"))
            .collect();
        println!("{axis:<10}  {}", values.join(", "));
    }
    println!();
    let paint = Paint::of(&std::io::stdout());
    for (seed, why) in &explored.broken {
        println!("{}  seed {seed}: {why}", paint.bad("BROKEN"));
    }
    for finding in &explored.findings {
        print_finding(&explored.programs, finding, paint);
    }
    let notes = [
        (explored.known.values().sum(), "known failures"),
        (explored.skipped.values().sum(), "skipped"),
        (explored.undecided.len() as u64, "undecided"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    for (position, count) in &explored.known {
        println!("known       {position}: {count} clusters");
    }
    for (why, count) in &explored.skipped {
        println!("skipped     {count} clusters: {why}");
    }
    println!(
        "{}seed {}: {} clusters, {} events in {seconds:.1}s, {:.1} clusters/s; {} findings{}",
        if is_interrupted { "interrupted; " } else { "" },
        explored.seed,
        explored.clusters,
        explored.events,
        per_second(explored.clusters, seconds),
        explored.findings.len(),
        notes.concat()
    );
}

/// Prints a finding: the signature, the case with the finding, and the command that reproduces it.
fn print_finding(programs: &Programs, finding: &FoundRecord, paint: Paint) {
    let clusters = match finding.clusters {
        1 => "one cluster".to_owned(),
        clusters => format!("{clusters} clusters"),
    };
    println!("{}  {}  in {clusters}", paint.bad("FOUND"), finding.signature);
    if let Some(failure_text) = &finding.case.failure_text {
        println!("  {}", failure_text.one_line());
    }
    match &finding.repeated {
        Reproduced::Yes => {}
        Reproduced::No => println!("  the written case passes: the failure may depend on timing"),
        Reproduced::Otherwise(other) => println!("  the written case fails with another violation: {other}"),
        Reproduced::Unknown => println!("  the time budget ended before the written case could run"),
    }
    let size = match finding.is_smallest {
        true => "minimal",
        false => "possibly not minimal",
    };
    let (called, options) = (invocation::program(), &programs.options);
    let simulate = match programs.is_simulated {
        true => format!(" --simulate={}", finding.seed),
        false => String::new(),
    };
    println!("  case    {} ({size})", finding.file.display());
    println!(
        "  repro   {called} repro{options}{simulate} {}",
        suites::quoted(&finding.file.display().to_string())
    );
    if let Some(folder) = &finding.case.folder {
        println!(
            "  judge   {called} judge {}",
            suites::quoted(&folder.display().to_string())
        );
    }
    let (seed, focus) = (finding.seed, &finding.focus);
    println!("  again   {called} explore{options} --seed {seed} --worlds 1 --role {focus}\n");
}

/// The options that select the explored programs, as in a command line.
pub(super) fn options(args: &ExploreArgs) -> String {
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

/// Writes the report of an exploration in all formats that the reports of cases have.
pub(super) fn write_reports(
    explored: &Explored,
    ended: &ExplorationEnd,
    folder: &Path,
) -> Result<(), WriteError> {
    let programs = &explored.programs;
    let command = vec![
        format!("explore{}", programs.options),
        format!("--seed={}", explored.seed),
    ];
    let drawn = "exploration runs randomly generated clusters".to_owned();
    let mut report = Report {
        started: ended.started.clone(),
        seconds: ended.seconds,
        limits: std::iter::once(drawn)
            .chain(ended.limits.iter().cloned())
            .collect(),
        cases: explored.records(),
        ..Report::new(programs.system.clone(), command, programs.settings.clone())
    };
    report.finalize();
    github::annotate(&report);
    github::summarize(&report);
    write_all(&report, folder)
}
