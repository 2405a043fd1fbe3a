//! The facts of a failure as a space-time diagram: who said what to whom, in order. Knows no drawing.

use std::collections::BTreeSet;

use super::timeline::{choose, deciding, step_start};
use crate::journal::{CallFact, Fact, What};
use crate::judge::Failure;
use crate::line;
use crate::system::HARNESS;

/// Facts at most.
const MOMENTS: usize = 28;

/// A party of the story, in the order in which they stand beside each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The harness, with the cluster's controllers that it plays.
    Harness,
    /// The API server.
    ApiServer,
    /// A system under test, by its client name.
    Process(String),
    /// The CSI driver.
    Driver,
}

impl Lane {
    /// What people read above it.
    pub fn name(&self) -> &str {
        match self {
            Lane::Harness => "harness",
            Lane::ApiServer => "API server",
            Lane::Process(client) => client,
            Lane::Driver => "CSI driver",
        }
    }
}

/// One fact.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Since the step began, in seconds; negative: before it.
    pub seconds: f64,
    /// Whether the verdict rests on it.
    pub decides: bool,
    /// Whose doing it was.
    pub from: Lane,
    /// Whom it reached; the same: nobody else.
    pub to: Lane,
    /// What was observed.
    pub text: String,
}

/// The diagram.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The parties, from left to right.
    pub lanes: Vec<Lane>,
    /// The facts, from the first to the last.
    pub moments: Vec<Moment>,
}

/// The facts that decided a failure and their neighbours.
pub fn scene(facts: &[Fact], failure: &Failure) -> Scene {
    let (deciding, started) = (deciding(failure), step_start(facts, failure));
    let chosen = choose(facts, failure, &deciding, MOMENTS);
    let processes = processes(facts);
    let moments: Vec<Moment> = chosen
        .into_iter()
        .map(|fact| {
            let (from, to) = ends(fact, &processes);
            Moment {
                seconds: fact.at().as_secs_f64() - started.as_secs_f64(),
                decides: deciding.contains(&fact.seq),
                from,
                to,
                text: line::spell(fact),
            }
        })
        .collect();
    let mut lanes = BTreeSet::from([Lane::Harness, Lane::ApiServer, Lane::Driver]);
    for moment in &moments {
        lanes.extend([moment.from.clone(), moment.to.clone()]);
    }
    // Who ought to have done something, and did not, is part of the story.
    const CROWD: usize = 8;
    for client in processes {
        if lanes.len() < CROWD {
            lanes.insert(Lane::Process(client.to_owned()));
        }
    }
    Scene {
        lanes: lanes.into_iter().collect(),
        moments,
    }
}

/// Client names of the systems under test that were ever started.
fn processes(facts: &[Fact]) -> BTreeSet<&str> {
    let started = facts.iter().filter_map(|fact| match &fact.what {
        What::Process(process) => Some(&*process.client),
        _ => None,
    });
    started.collect()
}

fn ends(fact: &Fact, processes: &BTreeSet<&str>) -> (Lane, Lane) {
    let lane = |client: &str| match processes.contains(client) {
        true => Lane::Process(client.to_owned()),
        false => Lane::Harness,
    };
    match &fact.what {
        What::Request(request) => (lane(&request.client), Lane::ApiServer),
        What::Commit(commit) => (lane(&commit.client), Lane::ApiServer),
        What::Delivery(delivery) => (Lane::ApiServer, lane(&delivery.client)),
        What::Fault(fault) => match fault.client.as_deref() {
            Some(client) => (Lane::ApiServer, lane(client)),
            None => (Lane::ApiServer, Lane::ApiServer),
        },
        What::Call(call) => (lane(&caller(call, processes)), Lane::Driver),
        What::Process(process) => (lane(&process.client), lane(&process.client)),
        _ => (Lane::Harness, Lane::Harness),
    }
}

/// Who calls a driver is not told to it: it is whoever has got that socket.
fn caller(call: &CallFact, processes: &BTreeSet<&str>) -> String {
    let of_node = call.node.as_ref().map(|node| format!("publisher@{node}"));
    let known = |client: &str| processes.contains(client);
    match of_node.filter(|client| known(client)) {
        Some(client) => client,
        None if known("publisher") => "publisher".to_owned(),
        None => HARNESS.to_owned(),
    }
}
