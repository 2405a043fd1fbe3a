//! The facts of a failure as a sequence diagram: clients, servers and their messages, in order. Does not know how the diagram is drawn.

use std::collections::BTreeSet;

use super::timeline::{choose_facts, deciding_facts, step_start};
use crate::client_name::HARNESS;
use crate::fact_display;
use crate::journal::{CallFact, Fact, Observation, RefusalFact};
use crate::judge::Failure;
use crate::scenario::Role;

const MESSAGES_MAX: usize = 28;

/// A participant of the sequence diagram. The order of the variants is the display order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Participant {
    /// The harness and its controllers.
    Harness,
    /// The API server.
    ApiServer,
    /// A program under test, by its client name.
    Process(String),
    /// The CSI driver.
    Driver,
}

impl Participant {
    /// The name of the participant that the diagram shows.
    pub fn name(&self) -> &str {
        match self {
            Participant::Harness => "harness",
            Participant::ApiServer => "API server",
            Participant::Process(client) => client,
            Participant::Driver => "CSI driver",
        }
    }
}

/// A journal fact as a message of the sequence diagram.
#[derive(Debug, Clone)]
pub struct Message {
    /// Seconds since the start of the step; negative if the fact is before the step.
    pub seconds: f64,
    /// Whether the fact decided the verdict or proves an event of the causal chain.
    pub decides: bool,
    /// Participant that caused the fact.
    pub from: Participant,
    /// Participant that received the message; equal to `from` if there is no receiver.
    pub to: Participant,
    /// The fact as text.
    pub text: String,
}

/// A sequence diagram.
#[derive(Debug, Clone)]
pub struct SequenceDiagram {
    /// The participants of the diagram, from left to right.
    pub participants: Vec<Participant>,
    /// The messages of the diagram, in the order of their facts.
    pub messages: Vec<Message>,
}

/// Builds the sequence diagram of a failure from the facts that decided the failure, and facts near them.
pub fn sequence_diagram(facts: &[Fact], failure: &Failure) -> SequenceDiagram {
    let (deciding, started) = (deciding_facts(failure), step_start(facts, failure));
    let chosen = choose_facts(facts, failure, &deciding, MESSAGES_MAX);
    let processes = processes(facts);
    let messages: Vec<Message> = chosen
        .into_iter()
        .map(|fact| {
            let (from, to) = sender_and_receiver(fact, &processes);
            Message {
                seconds: fact.at().as_secs_f64() - started.as_secs_f64(),
                decides: deciding.contains(&fact.seq),
                from,
                to,
                text: fact_display::format_fact(fact),
            }
        })
        .collect();
    let mut participants =
        BTreeSet::from([Participant::Harness, Participant::ApiServer, Participant::Driver]);
    for message in &messages {
        participants.extend([message.from.clone(), message.to.clone()]);
    }
    const PARTICIPANTS_MAX: usize = 8;
    // A program without messages is also a participant, because its inactivity may be the failure.
    for client in processes {
        if participants.len() < PARTICIPANTS_MAX {
            participants.insert(Participant::Process(client.to_owned()));
        }
    }
    SequenceDiagram {
        participants: participants.into_iter().collect(),
        messages,
    }
}

/// Client names of all programs under test that were started.
fn processes(facts: &[Fact]) -> BTreeSet<&str> {
    let started = facts.iter().filter_map(|fact| match &fact.what {
        Observation::Process(process) => Some(&*process.client),
        _ => None,
    });
    started.collect()
}

fn sender_and_receiver(fact: &Fact, processes: &BTreeSet<&str>) -> (Participant, Participant) {
    let participant = |client: &str| match processes.contains(client) {
        true => Participant::Process(client.to_owned()),
        false => Participant::Harness,
    };
    match &fact.what {
        Observation::Request(request) => (participant(&request.client), Participant::ApiServer),
        Observation::Commit(commit) => (participant(&commit.client), Participant::ApiServer),
        Observation::Delivery(delivery) => (Participant::ApiServer, participant(&delivery.client)),
        Observation::Fault(fault) => match fault.client.as_deref() {
            Some(client) => (Participant::ApiServer, participant(client)),
            None => (Participant::ApiServer, Participant::ApiServer),
        },
        Observation::Call(CallFact { node, .. }) | Observation::Refused(RefusalFact { node, .. }) => (
            participant(&caller(node.as_deref(), processes)),
            Participant::Driver,
        ),
        Observation::Process(process) => (participant(&process.client), participant(&process.client)),
        Observation::Extender(_) => (participant("scheduler"), Participant::Harness),
        _ => (Participant::Harness, Participant::Harness),
    }
}

/// Client of a CSI call. The fact does not contain the client, so the program that uses the node's socket counts as the client.
fn caller(node: Option<&str>, processes: &BTreeSet<&str>) -> String {
    let of_node = node.map(|node| Role::Publisher.client_name(Some(node)));
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

    fn started(client: &str) -> Observation {
        Observation::Process(ProcessFact {
            client: client.into(),
            role: Role::Publisher,
            event: ProcessEvent::Started,
        })
    }

    fn call(node: Option<&str>) -> Observation {
        Observation::Call(CallFact {
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

    fn request(client: &str) -> Observation {
        Observation::Request(RequestFact {
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
            Observation::Quiet,
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
            decided_by: 5,
            step_started: 1,
            ..Failure::default()
        };
        let diagram = sequence_diagram(&facts, &failure);
        let names: Vec<&str> = diagram.participants.iter().map(Participant::name).collect();
        let wanted = [
            "harness",
            "API server",
            "publisher@n1",
            "publisher@n2",
            "CSI driver",
        ];
        assert_eq!(names, wanted);
        let arrows: Vec<_> = diagram
            .messages
            .iter()
            .map(|message| {
                (
                    message.seconds,
                    message.from.name(),
                    message.to.name(),
                    message.decides,
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
