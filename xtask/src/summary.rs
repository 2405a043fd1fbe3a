//! What a run says on standard output: each case as it ends, and the counts in the end.

use suites::harness::report::Paint;
use suites::report::Report;
use suites::{CaseResult, Ended};

use crate::apiserver;
use crate::out::println;

/// What is said as a case ends: everything about a failure, a line for the rest if wanted.
pub(crate) fn announce(result: &CaseResult, verbose: bool) {
    let paint = Paint::of(&std::io::stdout());
    let id = result.plan.id();
    let line = |word: &str, more: &str| println!("{word}  {id}  {:.2}s{more}", result.elapsed.as_secs_f64());
    match &result.ended {
        Ended::Failed(explained) => println!("{}", explained.text),
        Ended::Flaky(attempt, explained) => {
            println!("{}", explained.text);
            line(&paint.bad("FLAKY"), &format!("  passed in attempt {attempt}"));
        }
        Ended::Inconclusive(explained) => {
            println!("{}", explained.text);
        }
        Ended::Broken(error) => println!("{}  {id}\n  {error}\n", paint.bad("ERROR")),
        Ended::Surprising(known) => line(
            &paint.strong("pass"),
            &format!("  is known to fail ({}): remove {}", known.issue, known.place),
        ),
        Ended::Passed if verbose => line(&paint.good("pass"), ""),
        Ended::Known(known, explained) if verbose => line(
            &paint.dim("known"),
            &format!("  {} ({}): {}", known.why, known.issue, explained.said.one_line()),
        ),
        Ended::Skipped(why) if verbose => println!("{}  {id}  {why}", paint.dim("skip")),
        Ended::Passed | Ended::Known(..) | Ended::Skipped(_) => {}
    }
}

/// One line per area, the counts, and last of all the ids that count against the system alone on lines.
pub(crate) fn summarize(report: &Report, verbose: bool) {
    if !verbose {
        areas(report);
    }
    println!("\n{:.1}s", report.seconds);
    if report.settings.api_server != apiserver::IN_MEMORY {
        println!("API server {}", report.settings.api_server);
    }
    println!("{}", report.counts_in_words());
    let repeated = report.cases.iter().filter(|case| case.repeated > 0).count();
    if repeated > 0 {
        println!("{repeated} ran again alone: beside the others the machine was too busy to decide");
    }
    for finding in &report.findings {
        let known = finding.known.as_ref().map_or("", |_| " (known)");
        println!(
            "finding: {} {}: {}{known}",
            finding.role, finding.rule, finding.text
        );
        if let Some(demand) = finding.demand() {
            println!("         must: {demand}");
        }
        println!("         {}", finding.extent());
    }
    for reason in &report.partial {
        println!("partial: {reason}");
    }
    for wrong in report.idle_entries() {
        println!("{}  {wrong}", Paint::of(&std::io::stdout()).bad("WRONG"));
    }
    for case in report.cases.iter().filter(|case| case.is_open()) {
        println!("{}", case.id);
    }
}

fn areas(report: &Report) {
    let areas = report.areas();
    let width = areas.keys().map(String::len).max().unwrap_or(0);
    let paint = Paint::of(&std::io::stdout());
    for (area, (passed, all)) in areas {
        let is_bad = report.bad().any(|case| case.area() == area);
        let word = match is_bad {
            false if passed == all => paint.good("pass"),
            false => paint.dim("part"),
            true => paint.bad("FAIL"),
        };
        println!("{word}  {area:<width$}  {passed:>3} of {all}");
    }
}
