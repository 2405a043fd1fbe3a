//! The facts that decided, and their neighbours, as a few lines.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fact_display;
use crate::journal::{Fact, What};
use crate::judge::Failure;

/// Lines at most.
const LINES: usize = 12;

/// Shorter stalls are many on a busy machine, and each alone explains nothing.
const WORTH_TELLING_US: u64 = 200_000;

/// The timeline of a failure: deciding facts are marked, facts of little use are left out.
pub(super) fn timeline(facts: &[Fact], failure: &Failure) -> Vec<String> {
    let (deciding, started) = (deciding(failure), step_start(facts, failure));
    let chosen = choose(facts, failure, &deciding, LINES);
    chosen
        .into_iter()
        .map(|fact| {
            let mark = if deciding.contains(&fact.seq) { '*' } else { ' ' };
            let offset = fact.at().as_secs_f64() - started.as_secs_f64();
            format!(
                "{mark} {offset:+8.3}s {:<7} {}",
                fact_display::source(fact),
                clip(&fact_display::format(fact))
            )
        })
        .collect()
}

/// The facts that decided: the evidence of each link, and the one that settled it.
pub(super) fn deciding(failure: &Failure) -> BTreeSet<u64> {
    let links = failure.chain.links.iter().filter_map(|link| link.fact);
    links.chain([failure.decided_by]).collect()
}

/// When the step began that failed.
pub(super) fn step_start(facts: &[Fact], failure: &Failure) -> Duration {
    let first = facts.iter().find(|fact| fact.seq == failure.step_started);
    first.map_or(Duration::ZERO, Fact::at)
}

/// The deciding facts, and then the first ones of the step that say something new, up to a number of them.
pub(super) fn choose<'f>(
    facts: &'f [Fact],
    failure: &Failure,
    deciding: &BTreeSet<u64>,
    limit: usize,
) -> Vec<&'f Fact> {
    let mut chosen: BTreeSet<u64> = deciding.iter().copied().take(limit).collect();
    let mut seen = BTreeSet::new();
    let in_step = |fact: &&Fact| fact.seq >= failure.step_started && fact.seq <= failure.decided_by;
    let telling = |fact: &&Fact| match &fact.what {
        What::Action(_)
        | What::Commit(_)
        | What::Call(_)
        | What::Extender(_)
        | What::Process(_)
        | What::Fault(_) => true,
        What::Lag(lag) => lag.late_us >= WORTH_TELLING_US,
        What::Request(request) => request.code >= 400,
        _ => false,
    };
    for fact in facts.iter().filter(in_step).filter(telling) {
        // Repetitions say nothing new.
        if chosen.len() < limit && seen.insert(fact_display::format(fact)) {
            chosen.insert(fact.seq);
        }
    }
    facts.iter().filter(|fact| chosen.contains(&fact.seq)).collect()
}

fn clip(text: &str) -> String {
    const WIDTH: usize = 130;
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
