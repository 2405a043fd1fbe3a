//! `cost`: what tracking costs a cluster, by number of nodes, classes and segments, as arithmetic over what one object costs.
//!
//! What one object, one change and one instance cost is measured elsewhere and handed in. Absent on purpose: processor time, which depends
//! on the machine.

use serde::Serialize;

use crate::study::result::{Axis, Cell, Line, Plot, Table};

/// A cluster, and what happens in it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::study) struct Cluster {
    /// Nodes on which the driver runs.
    pub(super) nodes: u64,
    /// Storage classes of the driver.
    pub(super) classes: u64,
    /// Topology segments that a central publisher tells apart.
    pub(super) segments: u64,
    /// Seconds between two polls of a publisher.
    pub(super) poll_seconds: f64,
    /// Segments whose capacity changes per minute, by volumes or by themselves.
    pub(super) changes_per_minute: f64,
    /// GetCapacity calls per second that one publisher makes at most.
    pub(super) asks_per_second: f64,
}

/// How publishers are deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One for the cluster.
    Central,
    /// One on each node, where each node is a segment.
    Distributed,
}

/// What one of each costs, as measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Unit {
    /// Bytes of an object as JSON.
    pub(super) object_bytes: u64,
    /// Watches that a central publisher keeps open.
    pub(super) central_watches: u64,
    /// Watches that a publisher on a node keeps open.
    pub(super) node_watches: u64,
}

/// What a cluster costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Load {
    /// CSIStorageCapacity objects.
    pub(super) objects: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// Watches of publishers that the API server keeps open.
    pub(super) watches: u64,
    /// GetCapacity calls per minute, of all publishers together.
    pub(super) asks_per_minute: f64,
    /// Writes per minute because of changes.
    pub(super) writes_per_minute: f64,
    /// Bytes that a scheduler is sent per minute for them.
    pub(super) event_bytes_per_minute: f64,
    /// Seconds from one figure of a segment to the next: the poll interval, or as long as a round takes where that is more.
    pub(super) age_seconds: f64,
}

impl Mode {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::Central, Self::Distributed];

    /// What it is called in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Central => "central",
            Self::Distributed => "distributed",
        }
    }
}

/// There is an object for each class and segment, and a poll asks for each of them once.
pub(super) fn load(cluster: &Cluster, mode: Mode, unit: &Unit) -> Load {
    let (segments, instances, watches) = match mode {
        Mode::Central => (cluster.segments, 1, unit.central_watches),
        Mode::Distributed => (cluster.nodes, cluster.nodes, unit.node_watches),
    };
    let objects = segments * cluster.classes;
    let round = objects as f64 / instances.max(1) as f64 / cluster.asks_per_second;
    let age_seconds = cluster.poll_seconds.max(round);
    let writes_per_minute = cluster.changes_per_minute * cluster.classes as f64;
    Load {
        objects,
        bytes: objects * unit.object_bytes,
        watches: instances * watches,
        asks_per_minute: objects as f64 * 60.0 / age_seconds,
        writes_per_minute,
        event_bytes_per_minute: writes_per_minute * unit.object_bytes as f64,
        age_seconds,
    }
}

/// Segments from which a central publisher can't ask for all of them within its poll interval, so that distributed publishers have newer
/// figures.
pub(super) fn break_even(cluster: &Cluster) -> u64 {
    (cluster.asks_per_second * cluster.poll_seconds / cluster.classes.max(1) as f64).floor() as u64 + 1
}

/// Both modes of these clusters.
pub(super) fn table(title: &str, clusters: &[Cluster], unit: &Unit) -> Table {
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
        "seconds from figure to figure",
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
                load.asks_per_minute.into(),
                load.writes_per_minute.into(),
                load.event_bytes_per_minute.into(),
                load.age_seconds.into(),
            ]);
        }
    }
    table
}

/// What one figure comes to over numbers of nodes with local storage, in both modes.
pub(super) fn plot(
    title: &str,
    label: &str,
    clusters: &[Cluster],
    unit: &Unit,
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
