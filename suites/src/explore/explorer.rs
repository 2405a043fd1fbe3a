//! Runs one world after the other, sorts out what went wrong, and makes each finding small.
//!
//! Everything follows from the seeds: worlds run beside each other, and what came of them is looked at in the order of their seeds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::plan::Plan;
use tokio::task::JoinSet;

use super::axes::{self, Axes};
use super::case::case;
use super::draw::{Drawn, draw};
use super::finding::Finding;
use super::focus::Focus;
use super::history::History;
use super::shrink::{Tries, shrink};
use super::signature::Signature;
use crate::generated;
use crate::select::Shard;
use crate::session::{CaseResult, Ended, Session};

/// A world that takes longer goes on for ever: each of its steps ends after some seconds.
const LONGEST: Duration = Duration::from_secs(180);

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
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// So many worlds have run, on all machines together.
    Worlds(u64),
    /// It is that late; worlds that run by then come to their end.
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
    ran: Result<CaseResult, String>,
}

impl World {
    /// Whether nothing can be said of it.
    fn is_undecided(&self) -> bool {
        matches!(&self.ran, Ok(result) if matches!(result.ended, Ended::Inconclusive(_)))
    }
}

impl Explorer {
    /// Explores, and tells after each world and each smaller history what has come of it.
    ///
    /// Whoever drops this keeps what has come of it so far.
    pub async fn explore(
        self: &Arc<Self>,
        until: Until,
        exploration: &mut Exploration,
        tell: &mut (dyn FnMut(&Exploration) + Send),
    ) {
        let (mut running, mut ended) = (JoinSet::new(), BTreeMap::new());
        let (mut next, step) = self
            .shard
            .map_or((0, 1), |shard| (shard.part() as u64 - 1, shard.of() as u64));
        let mut due = next;
        let mut again = Vec::new();
        loop {
            while running.len() < self.jobs && goes_on(until, next) {
                let (explorer, number) = (self.clone(), next);
                running.spawn(async move { (number, explorer.world(explorer.seed_of(number)).await) });
                next = next.wrapping_add(step);
            }
            match running.join_next().await {
                None => break,
                Some(Ok((number, world))) => drop(ended.insert(number, world)),
                // Ours, not a system's: those panic inside tasks of their own.
                Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            }
            while let Some(world) = ended.remove(&due) {
                let seed = self.seed_of(due);
                due = due.wrapping_add(step);
                if world.is_undecided() {
                    again.push((seed, world.drawn));
                    continue;
                }
                self.take(seed, world, exploration, tell).await;
                tell(exploration);
                if matches!(until, Until::Finding(_)) && !exploration.findings.is_empty() {
                    return;
                }
            }
        }
        // Nothing could be said of these, as the machine was too slow. Now none runs beside them.
        for (seed, drawn) in again {
            let session = self.session(seed);
            let text = case(drawn.focus, seed, &drawn.history);
            let ran = self.run(&text, |plan| session.run_one(plan)).await;
            self.take(seed, World { drawn, ran }, exploration, tell).await;
            tell(exploration);
        }
    }

    /// The seed of the world of that number.
    fn seed_of(&self, number: u64) -> u64 {
        self.seed.wrapping_add(number)
    }

    async fn world(&self, seed: u64) -> World {
        let drawn = draw(seed, &self.focuses);
        let ran = self
            .run_beside(seed, &case(drawn.focus, seed, &drawn.history))
            .await;
        World { drawn, ran }
    }

    /// Runs the case of a world beside others.
    async fn run_beside(&self, seed: u64, text: &str) -> Result<CaseResult, String> {
        let session = self.session(seed);
        self.run(text, |plan| session.run_beside(plan)).await
    }

    /// Runs the case of a world; a text that is no case is a mistake of ours.
    async fn run<F: Future<Output = CaseResult>>(
        &self,
        text: &str,
        run: impl FnOnce(Plan) -> F,
    ) -> Result<CaseResult, String> {
        let ran = tokio::time::timeout(LONGEST, run(plan(text)?)).await;
        ran.map_err(|_| format!("it has not come to an end in {} s", LONGEST.as_secs()))
    }

    /// The session in which the world of a seed runs.
    pub(super) fn session(&self, seed: u64) -> Session {
        let mut session = (*self.session).clone();
        session.options.seed = self.is_simulated.then_some(seed);
        session
    }

    /// Takes in what came of a world.
    async fn take(
        self: &Arc<Self>,
        seed: u64,
        World { drawn, ran }: World,
        exploration: &mut Exploration,
        tell: &mut (dyn FnMut(&Exploration) + Send),
    ) {
        let result = match ran {
            Ok(result) => result,
            Err(why) => return exploration.broken.push((seed, why)),
        };
        match &result.ended {
            Ended::Skipped(why) => {
                *exploration.skipped.entry(why.clone()).or_default() += 1;
                return;
            }
            Ended::Broken(error) => return exploration.broken.push((seed, error.to_string())),
            Ended::Inconclusive(_) => exploration.undecided.push(seed),
            Ended::Known(known, _) => *exploration.known.entry(known.place.clone()).or_default() += 1,
            Ended::Passed | Ended::Surprising(_) | Ended::Failed(_) | Ended::Flaky(..) => {}
        }
        exploration.worlds += 1;
        exploration.events += u64::try_from(drawn.history.events()).unwrap_or(u64::MAX);
        exploration.axes.add(axes::values(drawn.focus, &drawn.history));
        let Some(signature) = Signature::of(&result, self.session.manifest.as_ref()) else {
            if matches!(result.ended, Ended::Passed | Ended::Surprising(_)) {
                *exploration.met.entry(drawn.focus.name).or_default() += 1;
            }
            return;
        };
        if let Some(found) = exploration
            .findings
            .iter_mut()
            .find(|it| it.signature == signature)
        {
            found.worlds += 1;
            return;
        }
        let finding = self.small(seed, drawn, signature, exploration, tell).await;
        exploration.findings.push(finding);
    }

    /// Makes a finding small.
    async fn small(
        self: &Arc<Self>,
        seed: u64,
        drawn: Drawn,
        signature: Signature,
        exploration: &mut Exploration,
        tell: &mut (dyn FnMut(&Exploration) + Send),
    ) -> Finding {
        exploration.shrinking = Some(0);
        let shows = |history: History| {
            *exploration.shrinking.get_or_insert_default() += 1;
            tell(exploration);
            let (explorer, signature) = (self.clone(), signature.clone());
            // A set ends what is left of it when it is dropped.
            let mut task = JoinSet::new();
            task.spawn(async move {
                let ran = explorer
                    .run_beside(seed, &case(drawn.focus, seed, &history))
                    .await;
                let manifest = explorer.session.manifest.as_ref();
                ran.is_ok_and(|result| Signature::of(&result, manifest) == Some(signature))
            });
            async move { matches!(task.join_next().await, Some(Ok(true))) }
        };
        let shrunk = Box::pin(shrink(drawn.history.clone(), self.tries, shows)).await;
        exploration.shrinking = None;
        Finding {
            signature,
            focus: drawn.focus,
            seed,
            worlds: 1,
            shrunk,
        }
    }
}

/// Whether the world of that number is run.
fn goes_on(until: Until, number: u64) -> bool {
    match until {
        Until::Worlds(worlds) => number < worlds,
        Until::Instant(end) | Until::Finding(end) => Instant::now() < end,
    }
}

/// The plan of a case that was drawn.
pub(super) fn plan(text: &str) -> Result<Plan, String> {
    generated("drawn", text).map_err(|error| error.to_string())
}
