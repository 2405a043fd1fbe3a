//! Cost of each design by number of nodes and classes: objects, bytes, writes, watch events, and reads for one node.

use super::conversion::length;
use super::input_cluster::{Class, Driver, InputCluster, Node, NodeAccess, Pool, PoolCapacity, VolumeKind};
use super::model::{CsiDriver, Metadata};
use super::shape::{Objects, Shape};
use crate::study::result::{Axis, Bound, Cell, Finding, Line, Plot, Setup, Size, Table, findings};

const DRIVER: &str = "disk.example.com";
/// etcd's default limit for a request (`--max-request-bytes`).
const REQUEST_MAX: usize = 1_572_864;

/// The results of the experiments on the cost of each API design.
pub(super) struct Costs {
    pub(super) tables: Vec<Table>,
    pub(super) plots: Vec<Plot>,
    pub(super) findings: Vec<Finding>,
}

/// Cost of an API design in a cluster with local storage.
#[derive(Clone, Copy, Debug)]
struct Cost {
    nodes: usize,
    classes: usize,
    objects: usize,
    largest: usize,
    all: usize,
    /// Number of writes after a storage change on one node.
    writes: usize,
    /// Bytes of watch events after a storage change on one node, per watcher.
    watched: usize,
    /// Bytes read by a client that needs the capacity of one node.
    read: usize,
}

/// Computes the costs by number of nodes and classes.
pub(super) fn study(setup: Setup) -> Costs {
    let (nodes, classes): (&[usize], &[usize]) = match setup.size {
        Size::Small => (&[10, 100], &[1, 4]),
        Size::Full => (&[10, 100, 1_000, 5_000], &[1, 3, 10]),
    };
    let rows: Vec<(Shape, Cost)> = Shape::ALL
        .into_iter()
        .flat_map(|shape| {
            let sizes = classes
                .iter()
                .flat_map(|classes| nodes.iter().map(|nodes| (*nodes, *classes)));
            sizes
                .map(move |(nodes, classes)| (shape, cost(shape, nodes, classes)))
                .collect::<Vec<_>>()
        })
        .collect();
    let mut findings = growth_findings(&rows, nodes, classes);
    findings.push(driver_object_finding());
    Costs {
        tables: vec![table(&rows)],
        plots: vec![
            plot(
                &rows,
                classes,
                "watch bytes per client for one changed node",
                |cost| cost.watched,
            ),
            plot(&rows, classes, "bytes of all objects", |cost| cost.all),
        ],
        findings,
    }
}

fn cluster(nodes: usize, classes: usize) -> InputCluster {
    let names = (0..nodes).map(|number| format!("node-{number:04}"));
    let class = |number: usize| format!("class-{number:02}");
    let capacity = |number| PoolCapacity::new(VolumeKind::class(&class(number)), 256_000_000_000);
    let pool = |name: String| Pool {
        driver: DRIVER.to_owned(),
        node_access: NodeAccess::node(&name),
        capacities: (0..classes).map(capacity).collect(),
        name,
    };
    InputCluster {
        nodes: names.clone().map(|name| Node::new(&name, &[])).collect(),
        drivers: vec![Driver {
            name: DRIVER.to_owned(),
            tracks: Some(true),
        }],
        classes: (0..classes)
            .map(|number| Class {
                name: class(number),
                driver: DRIVER.to_owned(),
            })
            .collect(),
        pools: names.map(pool).collect(),
        now: 0,
    }
}

/// The cost of an API design with this number of nodes and classes, if all capacities of the first node change.
fn cost(shape: Shape, nodes: usize, classes: usize) -> Cost {
    // Every design can express a cluster with local storage.
    let bytes = shape
        .publish(&cluster(nodes, classes))
        .map(|objects| objects.bytes())
        .unwrap_or_default();
    let of_node = if shape.has_pools() { 1 } else { classes };
    let changed: usize = bytes.iter().take(of_node).sum();
    Cost {
        nodes,
        classes,
        objects: bytes.len(),
        largest: bytes.iter().copied().max().unwrap_or_default(),
        all: bytes.iter().sum(),
        writes: of_node,
        watched: changed,
        // Objects cannot be fetched by node name, so a client lists all of them. In the design with a driver status, there is one object.
        read: bytes.iter().sum(),
    }
}

fn table(rows: &[(Shape, Cost)]) -> Table {
    let columns = [
        "design",
        "nodes",
        "classes",
        "objects",
        "bytes of the largest",
        "bytes in all",
        "writes for a node",
        "watch bytes for a node",
        "bytes read for a node",
    ];
    let mut table = Table::new(
        "Local storage in each design; one node changes all its capacities",
        &columns,
    );
    for (shape, cost) in rows {
        let numbers = [
            cost.nodes,
            cost.classes,
            cost.objects,
            cost.largest,
            cost.all,
            cost.writes,
            cost.watched,
            cost.read,
        ];
        let name = Cell::from(shape.name());
        table.row([name].into_iter().chain(numbers.map(Cell::from)));
    }
    table
}

fn plot(rows: &[(Shape, Cost)], classes: &[usize], what: &str, of: fn(&Cost) -> usize) -> Plot {
    let most = classes.iter().max().copied().unwrap_or_default();
    let lines = Shape::ALL.map(|shape| {
        let rows = rows
            .iter()
            .filter(|(row, cost)| *row == shape && cost.classes == most);
        Line {
            name: shape.name().to_owned(),
            points: rows
                .map(|(_, cost)| (cost.nodes as f64, of(cost) as f64))
                .collect(),
        }
    });
    let mut title = what.to_owned();
    title[..1].make_ascii_uppercase();
    Plot {
        title: format!("{title}, with {most} classes"),
        x: Axis::logarithmic("nodes"),
        y: Axis::logarithmic("bytes"),
        lines: lines.into(),
    }
}

fn growth_findings(rows: &[(Shape, Cost)], nodes: &[usize], classes: &[usize]) -> Vec<Finding> {
    let (few, many) = (nodes[0], nodes[nodes.len() - 1]);
    let (one, most) = (classes[0], classes[classes.len() - 1]);
    let at = |shape: Shape, nodes: usize, classes: usize, of: fn(&Cost) -> usize| {
        let found = rows
            .iter()
            .find(|(row, cost)| *row == shape && cost.nodes == nodes && cost.classes == classes);
        found.map_or(f64::NAN, |(_, cost)| of(cost) as f64)
    };
    let grown = |shape, of| at(shape, many, most, of) / at(shape, few, most, of);
    let more = many as f64 / few as f64;
    let (status, flat, pool) = (Shape::DriverStatus, Shape::FlatCapacity, Shape::StoragePool);
    findings![
        new "ALT-16", format!("growth of the status from {few} to {many} nodes, as a share of the growth of nodes"),
            grown(status, |cost| cost.largest) / more, Bound::AtLeast(0.9);
        new "SCALE-04", format!("growth of the largest flat object from {few} nodes and {one} classes to {many} and {most}"),
            at(flat, many, most, |cost| cost.largest) / at(flat, few, one, |cost| cost.largest), Bound::AtMost(1.01);
        new "SCALE-05", format!("flat objects per pool, with {most} classes"),
            at(flat, many, most, |cost| cost.objects) / at(pool, many, most, |cost| cost.objects), Bound::Exactly(most as f64);
        new "SCALE-05", "ratio of the size of all flat objects to the size of all pools",
            at(flat, many, most, |cost| cost.all) / at(pool, many, most, |cost| cost.all), Bound::Above(1.0);
        new "SCALE-06", format!("growth of the bytes of flat objects read for one node, from {few} to {many} nodes, as a share of the growth of nodes"),
            grown(flat, |cost| cost.read) / more, Bound::AtLeast(0.99);
        new "ALT-34", "ratio of objects read for one node to objects of that node",
            at(flat, many, most, |cost| cost.objects) / most as f64, Bound::Exactly(many as f64);
        new "ALT-36", format!("ratio of watch bytes when one of {many} nodes changes: status, to flat objects"),
            at(status, many, most, |cost| cost.watched) / at(flat, many, most, |cost| cost.watched), Bound::AtLeast(more / 2.0);
        new "ALT-36", "ratio of writes when one node changes: status, to flat objects",
            at(status, many, most, |cost| cost.writes) / at(flat, many, most, |cost| cost.writes), Bound::AtMost(1.0 / most as f64);
        count "ALT-16", "number of nodes, with ten classes, from which on the status exceeds etcd's request size limit",
            nodes_until_size(REQUEST_MAX, 10), Bound::AtMost(5_000.0);
    ]
}

/// Number of nodes with which the CSIDriver status reaches this size, by linear extrapolation.
fn nodes_until_size(bytes: usize, classes: usize) -> usize {
    let largest = |nodes| cost(Shape::DriverStatus, nodes, classes).largest;
    let (ten, twenty) = (largest(10), largest(20));
    let each = (twenty - ten).div_ceil(10).max(1);
    10 + (bytes - ten).div_ceil(each)
}

/// The finding on the size of the CSIDriver in the released design, with and without the field `storageCapacity`.
fn driver_object_finding() -> Finding {
    let mut driver = CsiDriver {
        metadata: Metadata::named(DRIVER),
        ..CsiDriver::default()
    };
    let before = length(&driver);
    driver.spec.capacity_tracking = Some(true);
    let boolean = length(&driver) - before;
    let Ok(Objects::DriverStatus(drivers)) = Shape::DriverStatus.publish(&cluster(100, 1)) else {
        return Finding::new("SCALE-13", "nothing", f64::NAN, Bound::Exactly(0.0));
    };
    let status = drivers.iter().map(length).sum::<usize>() - before;
    Finding::new(
        "SCALE-13",
        "ratio of the size of a CSIDriver status for 100 nodes to the size of a boolean field",
        status as f64 / boolean as f64,
        Bound::AtLeast(100.0),
    )
}
