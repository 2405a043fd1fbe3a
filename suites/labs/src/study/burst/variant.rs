//! The variants of the burst, each with the scenario that it runs. Does not know results.

use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;
use serde_json::{Map, Value, json};

use super::Burst;

/// Size of each volume, in bytes.
const CLAIM: u64 = 1 << 30;

#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    volumes: bool,
    tracked: bool,
    scored: bool,
    /// Whether a scheduler extender reserves whole disks.
    extender: bool,
    /// Available capacity as a multiple of the capacity that all pods request.
    room: u64,
    pub(super) poll: Duration,
    /// Whether watch events of capacity objects reach the scheduler with a delay.
    delays_watch: bool,
}

impl Variant {
    const fn new(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            volumes: true,
            tracked: true,
            scored: false,
            extender: false,
            room: 1,
            poll: Duration::from_secs(60),
            delays_watch: false,
        }
    }
}

pub(super) const TRACKED: &str = "tracked";
pub(super) const UNTRACKED: &str = "untracked";
pub(super) const SCORED: &str = "scored";
pub(super) const EXTENDER: &str = "extender";
pub(super) const LATE: &str = "late";
pub(super) const ROOMY: &str = "roomy";
pub(super) const ROOMY_UNTRACKED: &str = "roomy-untracked";
pub(super) const PLAIN: &str = "plain";
pub(super) const PLAIN_UNTRACKED: &str = "plain-untracked";

macro_rules! variants {
    ($($name:expr, $meaning:literal $(, $field:ident: $value:expr)*;)+) => {
        /// All variants of the burst. The KEP uses the first two.
        pub(super) const VARIANTS: &[Variant] = &[$(
            Variant { $($field: $value,)* ..Variant::new($name, $meaning) }
        ),+];
    };
}

variants! {
    TRACKED, "capacity for exactly these pods, with capacity tracking";
    UNTRACKED, "the same capacity, without capacity tracking", tracked: false;
    SCORED, "tracked, and nodes are scored by free capacity", scored: true;
    EXTENDER, "untracked, and a scheduler extender reserves disks", tracked: false, extender: true;
    "polled", "tracked, and GetCapacity is called every second", poll: Duration::from_secs(1);
    LATE, "tracked, and no capacity update reaches the scheduler while the nodes fill", delays_watch: true;
    ROOMY, "tracked, with capacity for twice as many volumes", room: 2;
    ROOMY_UNTRACKED, "untracked, with capacity for twice as many volumes", tracked: false, room: 2;
    PLAIN, "pods without volumes, tracked", volumes: false;
    PLAIN_UNTRACKED, "pods without volumes, untracked", volumes: false, tracked: false;
}

/// The scenario of a variant: capacity is published, then all pods are created at once.
pub(super) fn scenario(variant: Variant, burst: &Burst) -> Value {
    let nodes: Vec<String> = (0..burst.nodes).map(|number| format!("n{number}")).collect();
    let room = variant.room * burst.slots;
    let storage = |node: &String| {
        let disks = (0..room).map(|number| (format!("d{number}"), CLAIM.into()));
        let storage = match variant.extender {
            // With an extender, the storage consists of whole disks, which the extender reserves.
            true => json!({"devices": disks.collect::<Map<_, _>>()}),
            false => json!({"capacity": room * CLAIM}),
        };
        (node.clone(), storage)
    };
    let backend: Map<_, _> = nodes.iter().map(storage).collect();
    let volumes = match variant.volumes {
        true => json!([{"class": "fast", "size": CLAIM}]),
        false => json!([]),
    };
    let pods =
        (0..burst.pods()).map(|number| json!({"pod": {"name": format!("p{number}"), "ephemeral": volumes}}));
    // In simulated time more than 500 pods are scheduled per second, so the nodes are full before the delayed updates arrive.
    let lag = format!("{}s", burst.pods().div_ceil(500).max(2));
    let slow = variant
        .delays_watch
        .then(|| json!({"fault": {"api": format!("watch {RESOURCE}"), "by": "scheduler", "lag": lag}}));
    let extenders = match variant.extender {
        true => json!([{"name": "reserver", "reserves": true, "byName": true}]),
        false => json!([]),
    };
    json!({
        "id": "study/burst",
        "title": variant.name,
        "cluster": {
            "roles": ["publisher", "scheduler"],
            "driver": {"storageCapacity": variant.tracked},
            "publisher": {"metadata": variant.extender, "strictTopology": true},
            "scheduler": {"scoring": variant.scored},
            "extenders": extenders,
            "nodes": nodes,
            "classes": ["fast"],
            "backend": backend,
        },
        "steps": [
            {"id": "published", "expect": [{
                "count": {"of": {"write": format!("create {RESOURCE}")}, "min": burst.nodes},
                "within": "60s", "why": "all capacity is published before the burst begins",
            }]},
            {"id": "burst", "do": slow.into_iter().chain(pods).collect::<Vec<_>>(), "expect": [{
                "count": {"of": {"request": "create pods/binding", "code": "201"}, "min": burst.pods()},
                "within": format!("{}s", burst.budget), "why": "all pods are scheduled",
            }]},
        ],
    })
}
