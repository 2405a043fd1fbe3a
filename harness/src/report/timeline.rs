//! The facts that decided a failure, and facts near them, as a few lines.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fake_csi::Method;

use crate::fact_display;
use crate::journal::{Fact, Observation, ProcessEvent};
use crate::judge::Failure;

/// Maximum number of lines in the timeline of a failure.
const LINES_MAX: usize = 12;

/// Maximum number of lines in the timeline of a whole case.
const CASE_LINES_MAX: usize = 1000;

/// Minimum delay of the harness that the timeline lists. Shorter delays are frequent on a busy host and explain nothing.
const STALL_MIN_US: u64 = 200_000;

/// The timeline of a failure. Deciding facts are marked, insignificant facts are omitted.
pub(super) fn timeline(facts: &[Fact], failure: &Failure) -> Vec<String> {
    let (deciding, started) = (deciding_facts(failure), step_start(facts, failure));
    let chosen = choose_facts(facts, failure, &deciding, LINES_MAX);
    format_facts(&chosen, in_step(facts, failure), &deciding, started)
}

/// The timeline of a whole case: each fact, except repetitions of the same text.
pub fn case_timeline(facts: &[Fact]) -> Vec<String> {
    let mut chosen = significant_facts(facts.iter());
    chosen.truncate(CASE_LINES_MAX);
    let chosen: Vec<&Fact> = chosen.into_iter().map(|(_, fact)| fact).collect();
    format_facts(&chosen, facts.iter(), &BTreeSet::new(), Duration::ZERO)
}

/// Formats facts as lines, with `…` for omitted facts that are not repetitions. A line ends with the number of its repetitions. One line
/// lists all delays of the harness.
fn format_facts<'f>(
    chosen: &[&Fact],
    all: impl Iterator<Item = &'f Fact> + Clone,
    deciding: &BTreeSet<u64>,
    started: Duration,
) -> Vec<String> {
    // For each timeline text: sequence number of the first fact with the text, and number of such facts.
    let mut significant: BTreeMap<String, (u64, usize)> = BTreeMap::new();
    for fact in all.clone().filter(|fact| significance(&fact.what).is_some()) {
        let first = significant
            .entry(fact_display::format_fact(fact))
            .or_insert((fact.seq, 0));
        first.1 += 1;
    }
    // If several chosen facts have the same text, only the first line gets the number of facts.
    let texts: Vec<(String, usize)> = chosen
        .iter()
        .map(|fact| {
            let text = fact_display::format_fact(fact);
            let count = significant.remove(&text).map_or(1, |(_, count)| count);
            (text, count)
        })
        .collect();
    let mut omitted: Vec<u64> = significant.into_values().map(|(first, _)| first).collect();
    let mut lines = Vec::new();
    for (fact, (text, count)) in chosen.iter().zip(&texts) {
        let before = omitted.len();
        omitted.retain(|seq| *seq > fact.seq);
        lines.extend((omitted.len() < before).then(|| "  …".to_owned()));
        let mark = if deciding.contains(&fact.seq) { '*' } else { ' ' };
        let offset = fact.at().as_secs_f64() - started.as_secs_f64();
        let repeated = match count {
            1 => String::new(),
            _ => format!(" ({count} times)"),
        };
        lines.push(format!(
            "{mark} {offset:+8.3}s {:<7} {}{repeated}",
            fact_display::fact_source(fact),
            clip(text)
        ));
    }
    lines.extend((!omitted.is_empty()).then(|| "  …".to_owned()));
    let stalls: Vec<u64> = all.filter_map(|fact| listed_delay(&fact.what)).collect();
    if let Some(longest) = stalls.iter().max() {
        lines.push(format!(
            "            harness stalled {} × for more than {} ms: {} ms in all, {} ms at most",
            stalls.len(),
            STALL_MIN_US / 1000,
            stalls.iter().sum::<u64>() / 1000,
            longest / 1000
        ));
    }
    lines
}

/// Length of a harness delay in microseconds, if the delay is long enough to be listed.
fn listed_delay(what: &Observation) -> Option<u64> {
    match what {
        Observation::Lag(lag) if lag.late_us >= STALL_MIN_US => Some(lag.late_us),
        _ => None,
    }
}

/// Sequence numbers of the deciding facts: those that prove an event of the causal chain, and the fact that decided the verdict.
pub(super) fn deciding_facts(failure: &Failure) -> BTreeSet<u64> {
    let links = failure.chain.links.iter().filter_map(|link| link.fact);
    links.chain([failure.decided_by]).collect()
}

/// Time from the opening of the journal to the start of the failed step.
pub(super) fn step_start(facts: &[Fact], failure: &Failure) -> Duration {
    let first = facts.iter().find(|fact| fact.seq == failure.step_started);
    first.map_or(Duration::ZERO, Fact::at)
}

/// The deciding facts, and other significant facts of the step up to a limit. More significant facts are chosen first, and earlier facts
/// before later ones.
pub(super) fn choose_facts<'f>(
    facts: &'f [Fact],
    failure: &Failure,
    deciding: &BTreeSet<u64>,
    limit: usize,
) -> Vec<&'f Fact> {
    let mut chosen: BTreeSet<u64> = deciding.iter().copied().take(limit).collect();
    let mut significant = significant_facts(in_step(facts, failure));
    significant.sort_by_key(|(weight, _)| *weight);
    for (_, fact) in significant {
        if chosen.len() < limit {
            chosen.insert(fact.seq);
        }
    }
    facts.iter().filter(|fact| chosen.contains(&fact.seq)).collect()
}

fn in_step<'f>(facts: &'f [Fact], failure: &Failure) -> impl Iterator<Item = &'f Fact> + Clone {
    let step = failure.step_started..=failure.decided_by;
    facts.iter().filter(move |fact| step.contains(&fact.seq))
}

/// The facts that a timeline may list. Of facts with the same text, only the first.
fn significant_facts<'f>(facts: impl Iterator<Item = &'f Fact>) -> Vec<(Significance, &'f Fact)> {
    let mut seen = BTreeSet::new();
    facts
        .filter_map(|fact| Some((significance(&fact.what)?, fact)))
        .filter(|(_, fact)| seen.insert(fact_display::format_fact(fact)))
        .collect()
}

/// Significance of a fact for the timeline, from high to low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Significance {
    /// Actions of the case, errors, and ends of programs.
    Cause,
    /// Effects, such as a write to the API or a GetCapacity call.
    Effect,
    /// Ordinary operation: starts of programs, and reads.
    Routine,
}

/// Significance of a fact for the timeline; `None` if the timeline never lists the fact.
fn significance(what: &Observation) -> Option<Significance> {
    match what {
        Observation::Action(_) | Observation::Fault(_) | Observation::Refused(_) => Some(Significance::Cause),
        Observation::Call(call) if call.code != "OK" => Some(Significance::Cause),
        Observation::Process(process) => Some(match process.event {
            ProcessEvent::Started => Significance::Routine,
            _ => Significance::Cause,
        }),
        Observation::Commit(_) | Observation::Extender(_) => Some(Significance::Effect),
        Observation::Call(call)
            if call.method == Method::CreateVolume || call.method == Method::GetCapacity =>
        {
            Some(Significance::Effect)
        }
        Observation::Call(_) => Some(Significance::Routine),
        Observation::Request(request) if request.code >= 400 => Some(match request.verb {
            verb if verb.only_reads() => Significance::Routine,
            _ => Significance::Cause,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{ActionFact, LagFact};

    fn fact(seq: u64, what: Observation) -> Fact {
        Fact {
            seq,
            at_us: seq * 1000,
            what,
        }
    }

    fn action(seq: u64) -> Fact {
        let text = format!("action {seq}");
        fact(seq, Observation::Action(ActionFact { text }))
    }

    fn failure(decided_by: u64) -> Failure {
        Failure {
            decided_by,
            ..Failure::default()
        }
    }

    #[test]
    fn delays_share_one_line_and_displace_no_facts() {
        let stall = |seq| fact(seq, Observation::Lag(LagFact { late_us: 300_000 }));
        let facts: Vec<Fact> = (0..20).map(stall).chain((20..25).map(action)).collect();
        let lines = timeline(&facts, &failure(24));
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[0].ends_with("action 20"), "{lines:?}");
        assert!(
            lines[5].contains("stalled 20 × for more than 200 ms: 6000 ms in all"),
            "{lines:?}"
        );
    }

    #[test]
    fn omitted_facts_are_marked_with_an_ellipsis() {
        let facts: Vec<Fact> = (0..20).map(action).collect();
        let lines = timeline(&facts, &failure(19));
        assert_eq!(lines.len(), 13, "{lines:?}");
        assert_eq!(lines[11], "  …", "{lines:?}");
        assert!(lines[12].ends_with("action 19"), "{lines:?}");
        assert!(case_timeline(&facts).iter().all(|line| line != "  …"));
    }

    #[test]
    fn equal_facts_share_a_line_with_their_number() {
        let text = || "n1 is cordoned".to_owned();
        let equal = |seq| fact(seq, Observation::Action(ActionFact { text: text() }));
        let facts: Vec<Fact> = (0..3).map(equal).chain([action(3)]).collect();
        let lines = timeline(&facts, &failure(3));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].ends_with("n1 is cordoned (3 times)"), "{lines:?}");
        assert!(lines[1].ends_with("action 3"), "{lines:?}");
    }
}
