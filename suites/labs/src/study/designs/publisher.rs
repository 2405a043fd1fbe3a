//! The publisher of the 2019 design: its GetCapacity calls, and the CSIDriver status that it writes.

use std::collections::BTreeMap;

use capacity_types::Labels;

use super::input_cluster::Node;
use super::model::{ClassCapacity, CsiDriver, EPHEMERAL, FALLBACK, NamedPool};
use super::rules::DesignRules;
use super::selector::{Expression, NodeSelector, Term};
use super::server;

#[derive(Clone, Copy, Debug)]
pub(super) enum Mode<'m> {
    /// One publisher per node, which publishes capacity for inline volumes only.
    InlineOnly,
    Central(Central<'m>),
}

/// Settings of a central publisher.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Central<'m> {
    /// Common prefix of the driver's topology keys.
    pub(super) prefix: Option<&'m str>,
    /// Whether to call GetCapacity for inline volumes as well.
    pub(super) ephemeral: bool,
    /// Whether storage is local: each node has its own pool.
    pub(super) is_local: bool,
    /// Whether capacity is independent of class parameters.
    pub(super) ignores_parameters: bool,
}

/// A GetCapacity call.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    /// The StorageClass whose parameters are part of the call; `None` for a call without parameters.
    pub(super) parameters_of: Option<String>,
    /// The topology segment in the call; `None` for a call without topology.
    pub(super) topology: Option<Labels>,
}

/// The result of running publishers: their GetCapacity calls, and the CSIDriver status that they wrote.
pub(super) struct Published {
    pub(super) requests: Vec<Request>,
    pub(super) driver: CsiDriver,
}

/// Implementation of GetCapacity, by the driver on a node or by the central driver (`None`).
pub(super) type GetCapacity<'a> = dyn Fn(Option<&Node>, &Request) -> u64 + 'a;

/// Runs each publisher once: calls GetCapacity, then writes the CSIDriver status.
pub(super) fn publish(
    rules: &DesignRules,
    mode: Mode<'_>,
    nodes: &[Node],
    classes: &[&str],
    answer: &GetCapacity<'_>,
) -> Published {
    let mut published = Published {
        requests: Vec::new(),
        driver: CsiDriver::default(),
    };
    match mode {
        Mode::InlineOnly => nodes.iter().for_each(|node| {
            let request = inline_request(rules, node);
            let bytes = answer(Some(node), &request);
            let mut pool = node_pool(node);
            pool.classes.push(entry(EPHEMERAL, bytes));
            published.requests.push(request);
            server::patch(rules, &mut published.driver, &[pool]);
        }),
        Mode::Central(central) => published.publish_centrally(rules, central, nodes, classes, answer),
    }
    published
}

impl Published {
    fn publish_centrally(
        &mut self,
        rules: &DesignRules,
        central: Central<'_>,
        nodes: &[Node],
        classes: &[&str],
        answer: &GetCapacity<'_>,
    ) {
        let prefix = match central.prefix {
            Some(prefix) => prefix,
            None if rules.prefix_is_required => return,
            None => "",
        };
        for (segment, node) in segments(rules, prefix, nodes) {
            let mut pool = match central.is_local {
                true => node_pool(node),
                false => segment_pool(&segment),
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

/// The entries that a central publisher writes: StorageClass name or special name, and the class whose parameters GetCapacity receives.
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

fn inline_request(rules: &DesignRules, node: &Node) -> Request {
    match rules.inline_request_is_empty {
        true => Request::default(),
        false => Request {
            topology: Some(node.labels.clone()),
            ..Request::default()
        },
    }
}

/// Distinct combinations of the labels with the key prefix, each with one node that has them. A node without such labels has no segment.
fn segments<'n>(rules: &DesignRules, prefix: &str, nodes: &'n [Node]) -> Vec<(Labels, &'n Node)> {
    let mut all: Vec<(Labels, &Node)> = Vec::new();
    for node in nodes {
        let labels = node.labels.iter().filter(|(key, _)| key.starts_with(prefix));
        let segment: Labels = labels.map(|(key, value)| (key.clone(), value.clone())).collect();
        let is_known = rules.segments_are_distinct && all.iter().any(|(known, _)| *known == segment);
        if !segment.is_empty() && !is_known {
            all.push((segment, node));
        }
    }
    all
}

fn node_pool(node: &Node) -> NamedPool {
    NamedPool {
        name: node.name.clone(),
        node_topology: None,
        node_list: Some(vec![node.name.clone()]),
        classes: Vec::new(),
    }
}

fn segment_pool(segment: &Labels) -> NamedPool {
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

fn entry(name: &str, bytes: u64) -> ClassCapacity {
    ClassCapacity {
        storage_class_name: name.to_owned(),
        capacity: Some(bytes.to_string()),
        expiry_time: None,
    }
}

/// Events in a cluster after which a publisher may call GetCapacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    NodeAdded,
    ClassAdded,
    VolumeCreated,
    VolumeDeleted,
    /// The storage changed without any action in Kubernetes.
    StorageChanged,
    TimePassed,
}

impl Event {
    pub(super) const ALL: [Self; 6] = [
        Self::NodeAdded,
        Self::ClassAdded,
        Self::VolumeCreated,
        Self::VolumeDeleted,
        Self::StorageChanged,
        Self::TimePassed,
    ];

    pub(super) fn triggers_calls(self, rules: &DesignRules) -> bool {
        match self {
            Self::NodeAdded | Self::ClassAdded => true,
            Self::VolumeCreated | Self::VolumeDeleted | Self::TimePassed => {
                rules.volumes_and_time_trigger_calls
            }
            Self::StorageChanged => false,
        }
    }
}

/// Counts equal calls, so that lists of calls can be compared regardless of order.
pub(super) fn count_calls(requests: &[Request]) -> BTreeMap<&Request, usize> {
    let mut counts = BTreeMap::new();
    for request in requests {
        *counts.entry(request).or_default() += 1;
    }
    counts
}
