//! The publisher of 2019: what it asks a driver, and what it writes into the status of the CSIDriver.

use std::collections::BTreeMap;

use capacity_types::Labels;

use super::documents::Documents;
use super::model::{ByClass, CsiDriver, EPHEMERAL, FALLBACK, NamedPool};
use super::selector::{Expression, NodeSelector, Term};
use super::server;
use super::world::Node;

/// How a publisher is deployed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode<'m> {
    /// One on each node, for inline volumes alone.
    InlineOnly,
    /// One for the cluster.
    Central(Central<'m>),
}

/// The settings of a central publisher.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Central<'m> {
    /// What all topology keys of the driver begin with.
    pub(super) prefix: Option<&'m str>,
    /// Ask for inline volumes too.
    pub(super) ephemeral: bool,
    /// Storage is local, so that each node has a pool.
    pub(super) is_local: bool,
    /// Parameters of classes make no difference.
    pub(super) ignores_parameters: bool,
}

/// GetCapacity.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    /// The class whose parameters it has; none without parameters.
    pub(super) parameters_of: Option<String>,
    /// The segment; none without topology.
    pub(super) topology: Option<Labels>,
}

/// What publishers have asked and written.
pub(super) struct Published {
    pub(super) requests: Vec<Request>,
    pub(super) driver: CsiDriver,
}

/// The answer of a driver on a node, or of the one for the cluster.
pub(super) type Answer<'a> = dyn Fn(Option<&Node>, &Request) -> u64 + 'a;

/// All publishers ask and write, once.
pub(super) fn publish(
    documents: &Documents,
    mode: Mode<'_>,
    nodes: &[Node],
    classes: &[&str],
    answer: &Answer<'_>,
) -> Published {
    let mut published = Published {
        requests: Vec::new(),
        driver: CsiDriver::default(),
    };
    match mode {
        Mode::InlineOnly => nodes.iter().for_each(|node| {
            let request = inline_request(documents, node);
            let bytes = answer(Some(node), &request);
            let mut pool = of_node(node);
            pool.classes.push(entry(EPHEMERAL, bytes));
            published.requests.push(request);
            server::patch(documents, &mut published.driver, &[pool]);
        }),
        Mode::Central(central) => published.central(documents, central, nodes, classes, answer),
    }
    published
}

impl Published {
    fn central(
        &mut self,
        documents: &Documents,
        central: Central<'_>,
        nodes: &[Node],
        classes: &[&str],
        answer: &Answer<'_>,
    ) {
        let prefix = match central.prefix {
            Some(prefix) => prefix,
            None if documents.prefix_is_needed => return,
            None => "",
        };
        for (segment, node) in segments(documents, prefix, nodes) {
            let mut pool = match central.is_local {
                true => of_node(node),
                false => of_segment(&segment),
            };
            for (name, parameters_of) in entries(central, classes) {
                let request = Request {
                    parameters_of,
                    topology: Some(segment.clone()),
                };
                pool.classes.push(entry(name, answer(None, &request)));
                self.requests.push(request);
            }
            self.driver.status.storage.push(pool);
        }
    }
}

/// The names of entries, and the classes whose parameters are sent for them.
fn entries<'c>(central: Central<'_>, classes: &[&'c str]) -> Vec<(&'c str, Option<String>)> {
    let of_class = |class: &&'c str| (*class, Some((*class).to_owned()));
    let mut entries: Vec<_> = match central.ignores_parameters {
        true => vec![(FALLBACK, None)],
        false => classes.iter().map(of_class).collect(),
    };
    if central.ephemeral {
        entries.push((EPHEMERAL, None));
    }
    entries
}

fn inline_request(documents: &Documents, node: &Node) -> Request {
    match documents.inline_request_is_empty {
        true => Request::default(),
        false => Request {
            topology: Some(node.labels.clone()),
            ..Request::default()
        },
    }
}

/// The labels of nodes that begin with the prefix, each combination once, with a node that has it. A node without such a label has no
/// segment.
fn segments<'n>(documents: &Documents, prefix: &str, nodes: &'n [Node]) -> Vec<(Labels, &'n Node)> {
    let mut all: Vec<(Labels, &Node)> = Vec::new();
    for node in nodes {
        let labels = node.labels.iter().filter(|(key, _)| key.starts_with(prefix));
        let segment: Labels = labels.map(|(key, value)| (key.clone(), value.clone())).collect();
        let is_known = documents.segments_are_distinct && all.iter().any(|(known, _)| *known == segment);
        if !segment.is_empty() && !is_known {
            all.push((segment, node));
        }
    }
    all
}

fn of_node(node: &Node) -> NamedPool {
    NamedPool {
        name: node.name.clone(),
        node_topology: None,
        node_list: Some(vec![node.name.clone()]),
        classes: Vec::new(),
    }
}

fn of_segment(segment: &Labels) -> NamedPool {
    let expression = |(key, value): (&String, &String)| Expression {
        key: key.clone(),
        operator: "In".to_owned(),
        values: vec![value.clone()],
    };
    NamedPool {
        name: capacity_types::segment::format(segment),
        node_topology: Some(NodeSelector {
            node_selector_terms: vec![Term {
                match_expressions: segment.iter().map(expression).collect(),
            }],
        }),
        node_list: None,
        classes: Vec::new(),
    }
}

fn entry(name: &str, bytes: u64) -> ByClass {
    ByClass {
        storage_class_name: name.to_owned(),
        capacity: Some(bytes.to_string()),
        expiry_time: None,
    }
}

/// What happens in a cluster, and whether the publisher of 2019 asks again for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    NodeCame,
    ClassCame,
    VolumeMade,
    VolumeDeleted,
    /// The storage changed, and nobody in Kubernetes has done it.
    StorageChanged,
    TimePassed,
}

impl Event {
    pub(super) const ALL: [Self; 6] = [
        Self::NodeCame,
        Self::ClassCame,
        Self::VolumeMade,
        Self::VolumeDeleted,
        Self::StorageChanged,
        Self::TimePassed,
    ];

    /// Whether it is followed.
    pub(super) fn is_followed(self, documents: &Documents) -> bool {
        match self {
            Self::NodeCame | Self::ClassCame => true,
            Self::VolumeMade | Self::VolumeDeleted | Self::TimePassed => {
                documents.volumes_and_time_are_followed
            }
            Self::StorageChanged => false,
        }
    }
}

/// Requests by what they ask, for comparison.
pub(super) fn counted(requests: &[Request]) -> BTreeMap<&Request, usize> {
    let mut counts = BTreeMap::new();
    for request in requests {
        *counts.entry(request).or_default() += 1;
    }
    counts
}
