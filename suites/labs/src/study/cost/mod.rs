//! `study cost`: the cost of publishing. Small clusters are simulated with the references, and the counted values are compared with the
//! calculated ones; large clusters are only calculated.

mod findings;
mod model;
mod sample;
mod scan;

use std::time::Duration;

use crate::study::cost::model::{Cluster, Load, UnitCosts, plot, table};
use crate::study::{Cell, Finding, Setup, Study, Table};
use clap::Args;
use suites::harness::system::BoxError;

use super::journal::{Run, Runner, Tally};
use super::{Common, DefectArgs};
use crate::at_least_one;
use findings::{
    break_even_findings, calls_per_poll, equivalent_class_findings, model_accuracy_findings, scan_finding,
    scheduler_request_findings, unused_tracking_findings,
};
use sample::{Deployed, Sampled, Step, samples};

/// The publisher's poll interval in simulations.
const REFRESH: Duration = Duration::from_millis(100);
/// Default limit of GetCapacity calls per second and publisher, as in the reference publisher without `--get-capacity-qps`.
const GET_CAPACITY_QPS: f64 = 50.0;
const ZONE: &str = "topology.kubernetes.io/zone";
const GIBI: u64 = 1 << 30;

/// Arguments of `study cost`.
#[derive(Args)]
pub(super) struct CostArgs {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) broken: DefectArgs,
    /// Also calculate the cost for a cluster with this number of nodes
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<u64>())]
    nodes: Option<u64>,
    /// Number of storage classes in the cluster of --nodes
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = at_least_one::<u64>(), requires = "nodes")]
    classes: u64,
    /// Number of segments in the cluster of --nodes, for a central publisher [default: one per node]
    #[arg(long, value_name = "COUNT", value_parser = at_least_one::<u64>(), requires = "nodes")]
    segments: Option<u64>,
    /// Poll interval of the publishers in the cluster of --nodes, such as 1m
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = seconds, requires = "nodes")]
    poll: f64,
    /// Number of segments with a capacity change per minute
    #[arg(long, value_name = "COUNT", default_value_t = 60.0, requires = "nodes")]
    changes: f64,
    /// Maximum GetCapacity calls per second and publisher
    #[arg(long, alias = "asks", value_name = "COUNT", default_value_t = GET_CAPACITY_QPS, requires = "nodes")]
    calls: f64,
}

/// Parses a duration with a unit, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let end = text
        .find(|letter: char| letter.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(format!(
                "`{text}` has no unit of time; write 500ms, 10s, 1m or 1h"
            ));
        }
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number * factor),
        _ => Err(format!(
            "`{number}` is no time above zero; write 500ms, 10s, 1m or 1h"
        )),
    }
}

impl CostArgs {
    /// The cluster for which the cost is calculated, if requested.
    pub(super) fn cluster(&self) -> Option<Cluster> {
        let nodes = self.nodes?;
        Some(Cluster {
            nodes,
            classes: self.classes,
            segments: self.segments.unwrap_or(nodes),
            poll_seconds: self.poll,
            changes_per_minute: self.changes,
            get_capacity_qps: self.calls,
        })
    }
}

/// Creates the study. `requested`: a cluster given on the command line, whose cost is also calculated.
pub(super) fn study(setup: Setup, runner: &Runner, requested: Option<Cluster>) -> Result<Study, BoxError> {
    let mut study = Study::new(
        "cost",
        "What publishing costs: objects, bytes, calls, writes and watches, and when one publisher is not enough",
        setup,
    );
    let samples = samples(setup.size);
    let mut runs = Vec::new();
    for sample in samples {
        runs.push((sample, runner.run(&sample.scenario(), REFRESH)?));
    }
    let unit = unit(&runs);
    study.tables.push(measured_table(&runs));
    if let Some(cluster) = requested {
        study
            .tables
            .insert(0, table("The given cluster", &[cluster], &unit));
    }
    let clusters = clusters();
    study.tables.push(table(
        "Clusters with local storage, a poll each minute and 60 changes per minute",
        &clusters,
        &unit,
    ));
    study.plots.push(plot(
        "Seconds between two updates of the capacity of a node",
        "seconds",
        &clusters,
        &unit,
        |load: &Load| load.age_seconds,
    ));
    study.plots.push(plot(
        "Watches of publishers that the API server keeps open",
        "watches",
        &clusters,
        &unit,
        |load: &Load| load.watches as f64,
    ));
    study.findings.extend(model_accuracy_findings(&runs));
    study.findings.extend(scheduler_request_findings(runner)?);
    study.findings.extend(unused_tracking_findings(runner)?);
    study.findings.extend(equivalent_class_findings(runner)?);
    study.findings.extend(break_even_findings(&clusters[0], &unit));
    study.findings.push(scan_finding());
    study.findings.sort_by_key(Finding::sort_key);
    Ok(study)
}

fn clusters() -> Vec<Cluster> {
    let nodes = [10, 100, 1_000, 3_000, 5_000];
    let cluster = |nodes: u64| Cluster {
        nodes,
        classes: 4,
        segments: nodes,
        poll_seconds: 60.0,
        changes_per_minute: 60.0,
        get_capacity_qps: GET_CAPACITY_QPS,
    };
    nodes.map(cluster).into()
}

/// The costs per capacity object and per publisher, measured in these runs.
fn unit(runs: &[Sampled]) -> UnitCosts {
    let watches = |deployed: Deployed| {
        let of_deployed = runs.iter().find(|(sample, _)| sample.deployed == deployed);
        of_deployed.map_or(0, |(sample, run)| {
            let watches = run
                .step(Step::Published as usize)
                .count_requests("publisher", "watch", "") as u64;
            match deployed {
                Deployed::Distributed => watches.div_ceil(sample.nodes),
                _ => watches,
            }
        })
    };
    let bytes = runs.iter().map(|(_, run)| run.largest_object()).max();
    UnitCosts {
        object_bytes: bytes.unwrap_or_default() as u64,
        central_watches: watches(Deployed::Central),
        node_watches: watches(Deployed::Distributed),
    }
}

fn tally_of_step(run: &Run, step: Step) -> &Tally {
    run.step(step as usize)
}

fn measured_table(runs: &[Sampled]) -> Table {
    let columns = [
        "publishers",
        "nodes",
        "segments",
        "classes",
        "objects",
        "bytes of the largest",
        "writes for a change",
        "for a new class",
        "for three volumes",
        "for a removed node",
        "calls per object and poll",
    ];
    let mut table = Table::new("Counted in simulated clusters", &columns);
    for (sample, run) in runs {
        let name = match sample.deployed {
            Deployed::Distributed => "one on each node",
            Deployed::Central => "one for all nodes",
            Deployed::Zones => "one for two zones",
        };
        table.row([
            Cell::from(name),
            sample.nodes.into(),
            sample.segments().into(),
            sample.classes.into(),
            tally_of_step(run, Step::Published).objects("create").into(),
            run.largest_object().into(),
            tally_of_step(run, Step::Changed).writes().into(),
            tally_of_step(run, Step::ClassAdded).writes().into(),
            tally_of_step(run, Step::Placed).writes().into(),
            tally_of_step(run, Step::NodeRemoved).writes().into(),
            calls_per_poll(sample, run).into(),
        ]);
    }
    table
}
