//! The facts that decided, and their neighbours, as a few lines.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fact_display;
use crate::journal::{Fact, ProcessEvent, What};
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

/// The deciding facts, and then those of the step that say something new, up to a number of them: the more telling ones first, and of
/// these the earlier ones.
pub(super) fn choose<'f>(
    facts: &'f [Fact],
    failure: &Failure,
    deciding: &BTreeSet<u64>,
    limit: usize,
) -> Vec<&'f Fact> {
    let mut chosen: BTreeSet<u64> = deciding.iter().copied().take(limit).collect();
    let mut seen = BTreeSet::new();
    let in_step = |fact: &&Fact| fact.seq >= failure.step_started && fact.seq <= failure.decided_by;
    let told = facts.iter().filter(in_step);
    let mut telling: Vec<(Weight, &Fact)> = told
        .filter_map(|fact| Some((weight(&fact.what)?, fact)))
        .collect();
    telling.sort_by_key(|(weight, _)| *weight);
    for (_, fact) in telling {
        // Repetitions say nothing new.
        if chosen.len() < limit && seen.insert(fact_display::format(fact)) {
            chosen.insert(fact.seq);
        }
    }
    facts.iter().filter(|fact| chosen.contains(&fact.seq)).collect()
}

/// How much a fact tells about what happened in a step, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// What was done, and what went wrong.
    Cause,
    /// What came of it.
    Effect,
    /// How programs begin, and ask.
    Routine,
}

/// None: it tells nothing.
fn weight(what: &What) -> Option<Weight> {
    match what {
        What::Action(_) | What::Fault(_) => Some(Weight::Cause),
        What::Call(call) if call.code != "OK" => Some(Weight::Cause),
        What::Lag(lag) => (lag.late_us >= WORTH_TELLING_US).then_some(Weight::Cause),
        What::Process(process) => Some(match process.event {
            ProcessEvent::Started => Weight::Routine,
            _ => Weight::Cause,
        }),
        What::Commit(_) | What::Extender(_) => Some(Weight::Effect),
        What::Call(call) if call.method == "CreateVolume" || call.method == "GetCapacity" => {
            Some(Weight::Effect)
        }
        What::Call(_) => Some(Weight::Routine),
        What::Request(request) if request.code >= 400 => Some(match request.verb.as_str() {
            "get" | "list" | "watch" => Weight::Routine,
            _ => Weight::Cause,
        }),
        _ => None,
    }
}

fn clip(text: &str) -> String {
    const WIDTH: usize = 130;
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
