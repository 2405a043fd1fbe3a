//! Output of a run on standard output: each case as it ends, and the counts.

use std::collections::HashMap;

use suites::harness::report::Paint;
use suites::report::Report;
use suites::{CaseOutcome, CaseResult, FailureText};

use crate::apiserver;
use crate::out::println;

/// Prints cases as they end. Of the failures with the same first missing link of the causal chain, the first is explained, and each later
/// failure is printed in one line.
pub(crate) struct Announcer {
    verbose: bool,
    /// Id of the case whose failure was explained, by the first missing link of the causal chain.
    explained: HashMap<String, String>,
}

impl Announcer {
    /// `verbose`: also print passed, skipped and known-failure cases, and explain every failure.
    pub(crate) fn new(verbose: bool) -> Self {
        let explained = HashMap::new();
        Announcer { verbose, explained }
    }

    pub(crate) fn announce(&mut self, result: &CaseResult) {
        let verbose = self.verbose;
        let paint = Paint::of(&std::io::stdout());
        let id = result.plan.id();
        let line =
            |word: &str, more: &str| println!("{word}  {id}  {:.2}s{more}", result.elapsed.as_secs_f64());
        match &result.outcome {
            CaseOutcome::Failed(explained) => {
                match self.earlier_case_with_same_link(id, &explained.failure_text) {
                    Some((link, first)) => line(&paint.bad("FAIL"), &format!("  as {first}: {link}")),
                    None => println!("{}", explained.text),
                }
            }
            CaseOutcome::Flaky(attempt, explained) => {
                println!("{}", explained.text);
                line(&paint.bad("FLAKY"), &format!("  passed in attempt {attempt}"));
            }
            CaseOutcome::Inconclusive(explained) => {
                println!("{}", explained.text);
            }
            CaseOutcome::NotRun(error) => println!("{}  {id}\n  {error}\n", paint.bad("ERROR")),
            CaseOutcome::UnexpectedPass(known) => line(
                &paint.strong("pass"),
                &format!("  is known to fail ({}): remove {}", known.issue, known.position),
            ),
            CaseOutcome::Passed if verbose => line(&paint.good("pass"), ""),
            CaseOutcome::KnownFailure(known, explained) if verbose => line(
                &paint.dim("known"),
                &format!(
                    "  {} ({}): {}",
                    known.why,
                    known.issue,
                    explained.failure_text.one_line()
                ),
            ),
            CaseOutcome::Skipped(why) if verbose => println!("{}  {id}  {why}", paint.dim("skip")),
            CaseOutcome::Passed | CaseOutcome::KnownFailure(..) | CaseOutcome::Skipped(_) => {}
        }
    }

    /// The first missing link of the causal chain, and the id of the earlier case that failed with the same link. `None` if there is no
    /// such earlier case, so that this failure has to be explained.
    fn earlier_case_with_same_link(
        &mut self,
        id: &str,
        failure_text: &FailureText,
    ) -> Option<(String, String)> {
        let link = failure_text.stable_pattern();
        let missing = if failure_text.link.is_empty() {
            ""
        } else {
            "missing: "
        };
        let first = self
            .explained
            .entry(link.clone())
            .or_insert_with(|| id.to_owned());
        (!self.verbose && first != id).then(|| (format!("{missing}{link}"), first.clone()))
    }
}

/// Prints one line per area, then the counts, and finally the ids of the cases that count against the system, one per line.
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
        println!("{repeated} ran again alone, because the host was too busy while other cases ran");
    }
    for group in report.repeated_causes() {
        println!("{}", group.heading());
    }
    for finding in &report.findings {
        let known = finding.known.as_ref().map_or("", |_| " (known)");
        println!(
            "finding: {} {}: {}{known}",
            finding.role, finding.rule, finding.text
        );
        if let Some(demand) = finding.rule_text() {
            println!("         must: {demand}");
        }
        println!("         {}", finding.occurrences_in_words());
    }
    for reason in &report.partial {
        println!("partial: {reason}");
    }
    for wrong in report.stale_entries() {
        println!("{}  {wrong}", Paint::of(&std::io::stdout()).bad("WRONG"));
    }
    for case in report.cases.iter().filter(|case| case.needs_attention()) {
        println!("{}", case.id);
    }
}

fn areas(report: &Report) {
    let areas = report.areas();
    let width = areas.keys().map(String::len).max().unwrap_or(0);
    let paint = Paint::of(&std::io::stdout());
    for (area, (passed, all)) in areas {
        let is_bad = report.counted_failures().any(|case| case.area() == area);
        let word = match is_bad {
            false if passed == all => paint.good("pass"),
            false => paint.dim("part"),
            true => paint.bad("FAIL"),
        };
        println!("{word}  {area:<width$}  {passed:>3} of {all}");
    }
}
