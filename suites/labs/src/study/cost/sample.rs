//! The simulated clusters of `study cost`: nodes and classes in one of three deployments, and the steps whose traffic is counted.

use crate::study::Size;
use serde_json::{Map, Value, json};
use suites::harness::standalone::CsiMethod;

use super::super::journal::Run;
use super::{GIBI, ZONE};

/// A cluster that `study cost` simulates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) deployed: Deployed,
    pub(super) nodes: u64,
    pub(super) classes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Deployed {
    Distributed,
    /// A central publisher, and local storage.
    Central,
    /// A central publisher, and storage in two zones.
    Zones,
}

/// The steps whose requests and calls are counted, by their index in the scenario.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Published,
    Polled,
    Changed,
    ClassAdded,
    ClassDeleted,
    Placed,
    NodeRemoved,
}

/// Number of pods that the placement step creates, with one volume each.
pub(super) const PODS: u64 = 3;
/// Number of polls of the publisher during the polling step.
pub(super) const POLLS: usize = 10;

pub(super) fn samples(size: Size) -> Vec<Sample> {
    let (nodes, classes): (&[u64], &[u64]) = match size {
        Size::Small => (&[3], &[2]),
        Size::Full => (&[2, 8, 24], &[1, 3]),
    };
    let deployed = [Deployed::Distributed, Deployed::Central, Deployed::Zones];
    let mut samples = Vec::new();
    for deployed in deployed {
        for nodes in nodes {
            samples.extend(classes.iter().map(|classes| Sample {
                deployed,
                nodes: *nodes,
                classes: *classes,
            }));
        }
    }
    samples
}

impl Sample {
    pub(super) fn segments(&self) -> u64 {
        match self.deployed {
            Deployed::Zones => self.nodes.min(2),
            _ => self.nodes,
        }
    }

    pub(super) fn objects(&self) -> usize {
        (self.segments() * self.classes) as usize
    }

    /// The segment with this number, as case files name it: a zone or a node.
    pub(super) fn segment(&self, number: u64) -> String {
        match self.deployed {
            Deployed::Zones => format!("{ZONE}=z{number}"),
            _ => format!("n{number}"),
        }
    }

    pub(super) fn scenario(&self) -> Value {
        let nodes = (0..self.nodes).map(
            |number| json!({"name": format!("n{number}"), "labels": {ZONE: format!("z{}", number % 2)}}),
        );
        let classes: Vec<String> = (0..self.classes)
            .map(|number| format!("class-{number}"))
            .collect();
        let segments =
            (0..self.segments()).map(|number| (self.segment(number), json!({"capacity": 100 * GIBI})));
        let keys = match self.deployed {
            Deployed::Zones => json!({"topologyKeys": [ZONE], "storageCapacity": true}),
            _ => json!({"storageCapacity": true}),
        };
        let mode = if self.deployed == Deployed::Distributed {
            "distributed"
        } else {
            "central"
        };
        json!({
            "id": "study/cost",
            "title": "what publishing costs",
            "cluster": {
                "roles": ["publisher", "scheduler", "cleaner"],
                "mode": mode,
                "driver": keys,
                "nodes": nodes.collect::<Vec<_>>(),
                "classes": classes,
                "backend": segments.collect::<Map<_, _>>(),
            },
            "steps": self.steps(),
        })
    }

    /// The steps of the scenario, in the order of [`Step`].
    pub(super) fn steps(&self) -> Vec<Value> {
        let last = format!("n{}", self.nodes - 1);
        let pods = (0..PODS).map(|number| {
            json!({"pod": {"name": format!("p{number}"), "claims": [{"class": "class-0", "size": GIBI}]}})
        });
        let step =
            |id: &str, actions: Vec<Value>| json!({"id": id, "do": actions, "expect": "specification"});
        vec![
            step("published", Vec::new()),
            json!({"id": "polled", "expect": [{
                "count": {"of": {"call": CsiMethod::GetCapacity}, "min": POLLS * self.objects()},
                "within": "60s", "why": "each poll calls GetCapacity for each object",
            }]}),
            step(
                "changed",
                vec![json!({"backend": {self.segment(0): {"capacity": 50 * GIBI}}})],
            ),
            step(
                "class-added",
                vec![json!({"class": {"create": {"name": "another"}}})],
            ),
            step("class-deleted", vec![json!({"class": {"delete": "another"}})]),
            step("placed", pods.collect()),
            step("node-removed", vec![json!({"node": {"leave": last}})]),
        ]
    }
}

pub(super) type Sampled = (Sample, Run);
