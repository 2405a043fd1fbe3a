//! The facts of a failure as a sequence diagram: clients, servers and their messages, in order. Does not know drawing.

use std::collections::BTreeSet;

use super::timeline::{choose, deciding, step_start};
use crate::client_name::HARNESS;
use crate::fact_display;
use crate::journal::{CallFact, Fact, RefusalFact, What};
use crate::judge::Failure;
use crate::scenario::Role;

/// Maximum number of facts.
const MOMENTS: usize = 28;

/// A participant of the diagram, in display order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The harness, with the cluster's controllers that it runs.
    Harness,
    /// The API server.
    ApiServer,
    /// A system under test, by its client name.
    Process(String),
    /// The CSI driver.
    Driver,
}

impl Lane {
    /// Displayed name.
    pub fn name(&self) -> &str {
        match self {
            Lane::Harness => "harness",
            Lane::ApiServer => "API server",
            Lane::Process(client) => client,
            Lane::Driver => "CSI driver",
        }
    }
}

/// A fact of the diagram.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Seconds since the start of the step; negative: before it.
    pub seconds: f64,
    /// Whether the verdict depends on it.
    pub decides: bool,
    /// Participant that caused it.
    pub from: Lane,
    /// Participant that received it; equal to `from` if there is none.
    pub to: Lane,
    /// The fact as text.
    pub text: String,
}

/// A sequence diagram.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The participants, from left to right.
    pub lanes: Vec<Lane>,
    /// The facts, in order.
    pub moments: Vec<Moment>,
}

/// The facts that decided a failure, and facts around them.
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
                text: fact_display::format(fact),
            }
        })
        .collect();
    let mut lanes = BTreeSet::from([Lane::Harness, Lane::ApiServer, Lane::Driver]);
    for moment in &moments {
        lanes.extend([moment.from.clone(), moment.to.clone()]);
    }
    // A program that did nothing is shown as well, because its inactivity may be the failure.
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

/// Client names of all systems under test that were started.
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
        What::Call(CallFact { node, .. }) | What::Refused(RefusalFact { node, .. }) => {
            (lane(&caller(node.as_deref(), processes)), Lane::Driver)
        }
        What::Process(process) => (lane(&process.client), lane(&process.client)),
        What::Extender(_) => (lane("scheduler"), Lane::Harness),
        _ => (Lane::Harness, Lane::Harness),
    }
}

/// Client of a CSI call, which does not name its client: the system that was given the socket.
fn caller(node: Option<&str>, processes: &BTreeSet<&str>) -> String {
    let of_node = node.map(|node| Role::Publisher.client(Some(node)));
    let known = |client: &str| processes.contains(client);
    match of_node.filter(|client| known(client)) {
        Some(client) => client,
        None if known("publisher") => "publisher".to_owned(),
        None => HARNESS.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{ProcessEvent, ProcessFact, RequestFact};
    use crate::judge::Chain;

    fn started(client: &str) -> What {
        What::Process(ProcessFact {
            client: client.into(),
            role: Role::Publisher,
            event: ProcessEvent::Started,
        })
    }

    fn call(node: Option<&str>) -> What {
        What::Call(CallFact {
            method: fake_csi::Method::GetCapacity,
            node: node.map(str::to_owned),
            segment: None,
            parameters: std::collections::BTreeMap::new(),
            volume: None,
            volume_id: None,
            placed: None,
            required_bytes: None,
            code: "OK".to_owned(),
            message: None,
            available: Some(1 << 30),
            maximum: None,
            details: Box::default(),
        })
    }

    fn request(client: &str) -> What {
        What::Request(RequestFact {
            client: client.into(),
            verb: fake_apiserver::Verb::Create,
            resource: "csistoragecapacities".to_owned(),
            version: None,
            namespace: None,
            name: None,
            code: 403,
            message: None,
            revision: None,
            injected: false,
        })
    }

    #[test]
    fn arrows_lead_from_sender_to_receiver() {
        let whats = [
            started("publisher@n1"),
            started("publisher@n2"),
            call(Some("n2")),
            request("publisher@n1"),
            request("controllers"),
            What::Quiet,
        ];
        let facts: Vec<Fact> = whats
            .into_iter()
            .zip(0..)
            .map(|(what, seq)| Fact {
                seq,
                at_us: seq * 1_000_000,
                what,
            })
            .collect();
        let failure = Failure {
            step: 0,
            expect: None,
            summary: String::new(),
            rows: Vec::new(),
            exit: None,
            rule: None,
            chain: Chain::default(),
            decided_by: 5,
            step_started: 1,
        };
        let scene = scene(&facts, &failure);
        let names: Vec<&str> = scene.lanes.iter().map(Lane::name).collect();
        let wanted = [
            "harness",
            "API server",
            "publisher@n1",
            "publisher@n2",
            "CSI driver",
        ];
        assert_eq!(names, wanted);
        let arrows: Vec<_> = scene
            .moments
            .iter()
            .map(|moment| {
                (
                    moment.seconds,
                    moment.from.name(),
                    moment.to.name(),
                    moment.decides,
                )
            })
            .collect();
        assert_eq!(
            arrows,
            [
                (0.0, "publisher@n2", "publisher@n2", false),
                (1.0, "publisher@n2", "CSI driver", false),
                (2.0, "publisher@n1", "API server", false),
                (3.0, "harness", "API server", false),
                (4.0, "harness", "harness", true),
            ]
        );
    }
}
