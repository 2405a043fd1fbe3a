//! Runs one world after the other and sorts out what went wrong. Then makes each finding small and writes its case.
//!
//! Everything follows from the seeds: worlds run beside each other, and what came of them is looked at in the order of their seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::plan::Plan;
use tokio::task::JoinSet;

use super::axes::{self, Axes};
use super::case::drawn_case;
use super::draw::{Drawn, draw};
use super::finding::{Finding, FindingError};
use super::focus::Focus;
use super::history::History;
use super::shrink::{Shrunk, Tries, before, shrink};
use super::signature::Signature;
use super::text::Excused;
use crate::generated;
use crate::report::CaseRecord;
use crate::select::Shard;
use crate::session::{CaseResult, Ended, Session};

/// A world that takes longer goes on for ever: each of its steps ends after some seconds.
const LONGEST: Duration = Duration::from_secs(180);

/// A world runs at most so often: each time the rule that was broken is excused, so that what it hid is found.
const RUNS_MAX: usize = 5;

/// Once something was found, one part in so many of the time is kept for making findings small.
const SHARE: u32 = 3;

/// How to explore.
pub struct Explorer {
    /// The systems, and how they are run.
    pub session: Arc<Session>,
    /// What to explore; empty: everything.
    pub focuses: Vec<&'static Focus>,
    /// The seed of the first world; the next ones have the numbers after it.
    pub seed: u64,
    /// Which of these worlds are for this machine; none: all.
    pub shard: Option<Shard>,
    /// Worlds at the same time.
    pub jobs: usize,
    /// Whether worlds run in simulated time, where all random choices follow from their seeds too.
    pub is_simulated: bool,
    /// How much is tried to make a finding small.
    pub tries: Tries,
    /// The folder for the cases of findings; none: none are written.
    pub output: Option<PathBuf>,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// So many worlds have run, on all machines together.
    Worlds(u64),
    /// It is that late. Worlds that run by then are dropped, unless none has come to its end.
    Instant(Instant),
    /// Something was found, or it is that late.
    Finding(Instant),
}

/// What came of the worlds so far.
#[derive(Debug, Default)]
pub struct Exploration {
    /// Worlds that have run, apart from those that were skipped.
    pub worlds: u64,
    /// Events of all of them.
    pub events: u64,
    /// What was drawn.
    pub axes: Axes,
    /// Worlds in which the specification was met, by what they were drawn for.
    pub met: BTreeMap<&'static str, u64>,
    /// What went wrong, in the order of the seeds.
    pub findings: Vec<Finding>,
    /// Entries of the manifest that excused a failure, as file:line:column, and how often.
    pub known: BTreeMap<String, u64>,
    /// Worlds that could not be decided, by their seed.
    pub undecided: Vec<u64>,
    /// Why worlds were skipped, and how many.
    pub skipped: BTreeMap<String, u64>,
    /// Worlds that could not be run, by their seed, and why.
    pub broken: Vec<(u64, String)>,
    /// Histories that were tried to make the finding small that is looked at; none: worlds are explored.
    pub shrinking: Option<usize>,
}

/// A world that was run.
struct World {
    drawn: Drawn,
    /// The first run, and one for each rule that hid others.
    runs: Vec<Run>,
}

/// A run of a world.
struct Run {
    /// The rules that were broken in the runs before.
    excused: Excused,
    ran: Result<CaseResult, String>,
}

impl World {
    /// Whether nothing can be said of it.
    fn is_undecided(&self) -> bool {
        let first = self.runs.first();
        first.is_some_and(
            |run| matches!(&run.ran, Ok(result) if matches!(result.ended, Ended::Inconclusive(_))),
        )
    }
}

impl Run {
    /// The rule of the specification that was broken, whether or not the manifest knows of it.
    fn broken_rule(&self) -> Option<&'static str> {
        match &self.ran.as_ref().ok()?.ended {
            Ended::Failed(explained) | Ended::Flaky(_, explained) | Ended::Known(_, explained) => {
                explained.rule.map(|rule| rule.id)
            }
            _ => None,
        }
    }
}

impl Explorer {
    /// Explores, and tells after each world and each smaller history what has come of it.
    ///
    /// Whoever drops this keeps what has come of it so far. The error is that a case can't be written.
    pub async fn explore(
        self: &Arc<Self>,
        until: Until,
        exploration: &mut Exploration,
        tell: &mut (dyn FnMut(&Exploration) + Send),
    ) -> Result<(), FindingError> {
        let began = Instant::now();
        self.run_worlds(until, began, exploration, tell).await?;
        for number in 0..exploration.findings.len() {
            self.minimize(number, until, exploration, tell).await?;
        }
        Ok(())
    }

    /// Runs worlds, and writes what is found as it was found.
    async fn run_worlds(
        self: &Arc<Self>,
        until: Until,
        began: Instant,
        exploration: &mut Exploration,
        tell: &mut (dyn FnMut(&Exploration) + Send),
    ) -> Result<(), FindingError> {
        let (mut running, mut ended) = (JoinSet::new(), BTreeMap::new());
        let (mut next, step) = self
            .shard
            .map_or((0, 1), |shard| (shard.part() as u64 - 1, shard.of() as u64));
        let mut due = next;
        let mut again = Vec::new();
        loop {
            let late = until.late(began, !exploration.findings.is_empty());
            while running.len() < self.jobs
                && until.has(next)
                && late.is_none_or(|late| Instant::now() < late)
            {
                let (explorer, number) = (self.clone(), next);
                running.spawn(async move {
                    let seed = explorer.seed_of(number);
                    let drawn = draw(seed, &explorer.focuses);
                    (number, explorer.world(seed, drawn, false).await)
                });
                next = next.wrapping_add(step);
            }
            let late = late.filter(|_| exploration.worlds > 0);
            match before(late, running.join_next()).await {
                None | Some(None) => break,
                Some(Some(Ok((number, world)))) => drop(ended.insert(number, world)),
                // Ours, not a system's: those panic inside tasks of their own.
                Some(Some(Err(error))) => std::panic::resume_unwind(error.into_panic()),
            }
            while let Some(world) = ended.remove(&due) {
                let seed = self.seed_of(due);
                due = due.wrapping_add(step);
                if world.is_undecided() {
                    again.push((seed, world.drawn));
                    continue;
                }
                self.take(seed, world, exploration)?;
                tell(exploration);
                if matches!(until, Until::Finding(_)) && !exploration.findings.is_empty() {
                    return Ok(());
                }
            }
        }
        drop(running);
        // Nothing could be said of these, as the machine was too slow. Now none runs beside them.
        for (number, (seed, drawn)) in again.into_iter().enumerate() {
            // Where none was decided the first may take longer: a machine that is too slow for one is so for the others.
            let end = until.late(began, !exploration.findings.is_empty());
            let end = end.filter(|_| exploration.worlds > 0 || number > 0);
            let is_late = end.is_some_and(|end| end <= Instant::now());
            let world = match is_late {
                true => None,
                false => before(end, self.world(seed, drawn, true)).await,
            };
            match world {
                Some(world) => self.take(seed, world, exploration)?,
                None => exploration.undecided.push(seed),
            }
            tell(exploration);
        }
        Ok(())
    }

    /// The seed of the world of that number.
    fn seed_of(&self, number: u64) -> u64 {
        self.seed.wrapping_add(number)
    }

    /// Runs a world, beside others or alone, and again with each rule excused that was broken.
    async fn world(&self, seed: u64, drawn: Drawn, is_alone: bool) -> World {
        let (mut runs, mut excused) = (Vec::new(), Excused::new());
        loop {
            let text = drawn_case(drawn.focus, seed, &drawn.history, &excused);
            let run = Run {
                ran: self.run(seed, &text, is_alone).await,
                excused: excused.clone(),
            };
            let rule = run.broken_rule().filter(|_| runs.len() + 1 < RUNS_MAX);
            runs.push(run);
            // One that is excused is broken no more.
            if !rule.is_some_and(|rule| excused.insert(rule)) {
                return World { drawn, runs };
            }
        }
    }

    /// Runs the case of a world, beside others or alone; a text that is no case is a mistake of ours.
    async fn run(&self, seed: u64, text: &str, is_alone: bool) -> Result<CaseResult, String> {
        let (session, plan) = (self.session(seed), plan(text)?);
        let run = async {
            match is_alone {
                true => session.run_one(plan).await,
                false => session.run_beside(plan).await,
            }
        };
        let ran = tokio::time::timeout(LONGEST, run).await;
        ran.map_err(|_| format!("it has not come to an end in {} s", LONGEST.as_secs()))
    }

    /// The session in which the world of a seed runs.
    pub(super) fn session(&self, seed: u64) -> Session {
        let mut session = (*self.session).clone();
        session.options.seed = self.is_simulated.then_some(seed);
        session
    }

    /// Takes in what came of a world.
    fn take(
        &self,
        seed: u64,
        World { drawn, runs }: World,
        exploration: &mut Exploration,
    ) -> Result<(), FindingError> {
        let mut known = BTreeSet::new();
        let mut signatures = BTreeSet::new();
        for (number, run) in runs.into_iter().enumerate() {
            let is_first = number == 0;
            let result = match run.ran {
                Ok(result) => result,
                Err(why) => {
                    exploration.broken.push((seed, why));
                    return Ok(());
                }
            };
            match &result.ended {
                Ended::Skipped(why) => {
                    *exploration.skipped.entry(why.clone()).or_default() += 1;
                    return Ok(());
                }
                Ended::Broken(error) => {
                    exploration.broken.push((seed, error.to_string()));
                    return Ok(());
                }
                Ended::Failed(explained) if drawn.history.may_end(explained.ended) => {
                    let why = "the publisher ends where the driver does not support GetCapacity";
                    *exploration.skipped.entry(why.to_owned()).or_default() += 1;
                    return Ok(());
                }
                Ended::Inconclusive(_) if is_first => exploration.undecided.push(seed),
                Ended::Known(entry, _) => {
                    if known.insert(entry.place.clone()) {
                        *exploration.known.entry(entry.place.clone()).or_default() += 1;
                    }
                }
                Ended::Passed
                | Ended::Surprising(_)
                | Ended::Failed(_)
                | Ended::Flaky(..)
                | Ended::Inconclusive(_) => {}
            }
            let is_met = is_first && matches!(result.ended, Ended::Passed | Ended::Surprising(_));
            if is_first {
                exploration.worlds += 1;
                exploration.events += u64::try_from(drawn.history.events()).unwrap_or(u64::MAX);
                exploration.axes.add(axes::values(drawn.focus, &drawn.history));
            }
            let found = Signature::all(&result, self.session.manifest.as_ref());
            if is_met && found.is_empty() {
                *exploration.met.entry(drawn.focus.name).or_default() += 1;
            }
            for signature in found {
                if !signatures.insert(signature.clone()) {
                    continue;
                }
                let mut findings = exploration.findings.iter_mut();
                if let Some(known) = findings.find(|it| it.signature == signature) {
                    known.worlds += 1;
                    continue;
                }
                let mut finding = Finding {
                    signature,
                    focus: drawn.focus,
                    seed,
                    worlds: 1,
                    shrunk: Shrunk::of(drawn.history.clone()),
                    excused: run.excused.clone(),
                    written: None,
                };
                if let Some(folder) = &self.output {
                    finding.written = Some(self.as_found(&finding, CaseRecord::new(&result), folder)?);
                }
                exploration.findings.push(finding);
            }
        }
        Ok(())
    }

    /// Makes the finding of that number small, and writes it again.
    async fn minimize(
        self: &Arc<Self>,
        number: usize,
        until: Until,
        exploration: &mut Exploration,
        tell: &mut (dyn FnMut(&Exploration) + Send),
    ) -> Result<(), FindingError> {
        exploration.shrinking = Some(0);
        let now = Instant::now();
        // The findings after it get as much.
        let left = u32::try_from(exploration.findings.len() - number).unwrap_or(u32::MAX);
        let tries = Tries {
            until: until
                .end()
                .map(|end| now + end.saturating_duration_since(now) / left),
            ..self.tries
        };
        let finding = &exploration.findings[number];
        let (seed, focus, excused) = (finding.seed, finding.focus, finding.excused.clone());
        let (history, signature) = (finding.shrunk.history.clone(), finding.signature.clone());
        let shows = |history: History| {
            *exploration.shrinking.get_or_insert_default() += 1;
            tell(exploration);
            let (explorer, signature) = (self.clone(), signature.clone());
            let text = drawn_case(focus, seed, &history, &excused);
            // A set ends what is left of it when it is dropped.
            let mut task = JoinSet::new();
            task.spawn(async move {
                let manifest = explorer.session.manifest.as_ref();
                let ran = explorer.run(seed, &text, false).await;
                let shown = ran.map(|result| Signature::all(&result, manifest));
                shown.is_ok_and(|shown| shown.contains(&signature))
            });
            async move { matches!(task.join_next().await, Some(Ok(true))) }
        };
        let shrunk = Box::pin(shrink(history, tries, shows)).await;
        exploration.shrinking = None;
        let finding = &mut exploration.findings[number];
        finding.shrunk = shrunk;
        if let Some(folder) = &self.output {
            self.write(finding, folder, until.end()).await?;
        }
        Ok(())
    }
}

impl Until {
    /// When it is late; none: never.
    fn end(self) -> Option<Instant> {
        match self {
            Until::Worlds(_) => None,
            Until::Instant(end) | Until::Finding(end) => Some(end),
        }
    }

    /// When no more worlds are run, given when the first was; none: never.
    fn late(self, began: Instant, has_findings: bool) -> Option<Instant> {
        let end = self.end()?;
        Some(match has_findings {
            true => end - end.saturating_duration_since(began) / SHARE,
            false => end,
        })
    }

    /// Whether the world of that number is one of those to run.
    fn has(self, number: u64) -> bool {
        match self {
            Until::Worlds(worlds) => number < worlds,
            Until::Instant(_) | Until::Finding(_) => true,
        }
    }
}

/// The plan of a case that was drawn.
pub(super) fn plan(text: &str) -> Result<Plan, String> {
    generated("drawn", text).map_err(|error| error.to_string())
}
