//! Calculates the cost of capacity tracking from the cost per object, by number of nodes, classes and segments.
//!
//! The costs per object, change and publisher are measured elsewhere and passed in. Does not cover CPU time, which depends on the host.

use serde::Serialize;

use crate::study::result::{Axis, Cell, Line, Plot, Table};

/// Numbers of nodes, classes and segments of a cluster, and the rates of polls and changes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::study) struct Cluster {
    /// Number of nodes on which the driver runs.
    pub(super) nodes: u64,
    /// Number of storage classes of the driver.
    pub(super) classes: u64,
    /// Number of topology segments that a central publisher publishes.
    pub(super) segments: u64,
    /// Poll interval of a publisher, in seconds.
    pub(super) poll_seconds: f64,
    /// Number of segments with a capacity change per minute, for any reason.
    pub(super) changes_per_minute: f64,
    /// Maximum GetCapacity calls per second of one publisher.
    pub(super) get_capacity_qps: f64,
}

/// Deployment mode of publishers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Central,
    /// One publisher per node; each node is a topology segment.
    Distributed,
}

/// Measured costs per capacity object and per publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnitCosts {
    /// Size of a capacity object, in bytes of JSON.
    pub(super) object_bytes: u64,
    /// Open watches of a central publisher.
    pub(super) central_watches: u64,
    /// Open watches of a publisher on a node.
    pub(super) node_watches: u64,
}

/// Cost of capacity tracking in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Load {
    /// Number of CSIStorageCapacity objects.
    pub(super) objects: u64,
    /// Total size of the CSIStorageCapacity objects, in bytes.
    pub(super) bytes: u64,
    /// Number of open watches of all publishers together.
    pub(super) watches: u64,
    /// GetCapacity calls per minute of all publishers together.
    pub(super) calls_per_minute: f64,
    /// Writes per minute caused by capacity changes.
    pub(super) writes_per_minute: f64,
    /// Bytes of watch events that one scheduler receives per minute.
    pub(super) event_bytes_per_minute: f64,
    /// Seconds between updates of a segment: the poll interval, or the duration of a poll if that is longer.
    pub(super) age_seconds: f64,
}

impl Mode {
    pub(super) const ALL: [Self; 2] = [Self::Central, Self::Distributed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Central => "central",
            Self::Distributed => "distributed",
        }
    }
}

/// Calculates the cost with one capacity object per class and segment, and one GetCapacity call per object and poll.
pub(super) fn load(cluster: &Cluster, mode: Mode, unit: &UnitCosts) -> Load {
    let (segments, instances, watches) = match mode {
        Mode::Central => (cluster.segments, 1, unit.central_watches),
        Mode::Distributed => (cluster.nodes, cluster.nodes, unit.node_watches),
    };
    let objects = segments * cluster.classes;
    let round = objects as f64 / instances.max(1) as f64 / cluster.get_capacity_qps;
    let age_seconds = cluster.poll_seconds.max(round);
    let writes_per_minute = cluster.changes_per_minute * cluster.classes as f64;
    Load {
        objects,
        bytes: objects * unit.object_bytes,
        watches: instances * watches,
        calls_per_minute: objects as f64 * 60.0 / age_seconds,
        writes_per_minute,
        event_bytes_per_minute: writes_per_minute * unit.object_bytes as f64,
        age_seconds,
    }
}

/// Minimum number of segments with which a central publisher cannot poll all segments within the poll interval, so that distributed
/// publishers have more recent values.
pub(super) fn break_even(cluster: &Cluster) -> u64 {
    (cluster.get_capacity_qps * cluster.poll_seconds / cluster.classes.max(1) as f64).floor() as u64 + 1
}

/// A table of the costs in these clusters in both deployment modes.
pub(super) fn table(title: &str, clusters: &[Cluster], unit: &UnitCosts) -> Table {
    let columns = [
        "mode",
        "nodes",
        "segments",
        "classes",
        "objects",
        "bytes",
        "watches of publishers",
        "GetCapacity per minute",
        "writes per minute",
        "bytes per minute to a scheduler",
        "seconds between updates",
    ];
    let mut table = Table::new(title, &columns);
    for cluster in clusters {
        for mode in Mode::ALL {
            let load = load(cluster, mode, unit);
            let segments = match mode {
                Mode::Central => cluster.segments,
                Mode::Distributed => cluster.nodes,
            };
            table.row([
                Cell::from(mode.name()),
                cluster.nodes.into(),
                segments.into(),
                cluster.classes.into(),
                load.objects.into(),
                load.bytes.into(),
                load.watches.into(),
                load.calls_per_minute.into(),
                load.writes_per_minute.into(),
                load.event_bytes_per_minute.into(),
                load.age_seconds.into(),
            ]);
        }
    }
    table
}

/// A plot of one cost by number of nodes with local storage, for both deployment modes.
pub(super) fn plot(
    title: &str,
    label: &str,
    clusters: &[Cluster],
    unit: &UnitCosts,
    of: fn(&Load) -> f64,
) -> Plot {
    let line = |mode: Mode| {
        let points = clusters
            .iter()
            .map(|cluster| (cluster.nodes as f64, of(&load(cluster, mode, unit))));
        Line {
            name: mode.name().to_owned(),
            points: points.collect(),
        }
    };
    Plot {
        title: title.to_owned(),
        x: Axis::logarithmic("nodes, each with storage of its own"),
        y: Axis::logarithmic(label),
        lines: Mode::ALL.map(line).into(),
    }
}
