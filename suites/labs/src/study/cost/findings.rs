//! Findings of `study cost`, each on one statement of the KEP.

use std::collections::BTreeMap;

use crate::study::cost::model::{Cluster, Mode, UnitCosts, break_even, load};
use crate::study::cost::scan::objects_read;
use crate::study::result::findings;
use crate::study::{Bound, Finding};
use capacity_types::capacity_api::RESOURCE;
use serde_json::{Value, json};
use suites::harness::standalone::CsiMethod;
use suites::harness::system::BoxError;

use super::super::journal::{Run, Runner};
use super::sample::{Deployed, PODS, Sample, Sampled, Step};
use super::{GIBI, REFRESH, tally_of_step};

/// Average number of GetCapacity calls per capacity object and poll interval in a run.
pub(super) fn calls_per_poll(sample: &Sample, run: &Run) -> f64 {
    let polled = tally_of_step(run, Step::Polled);
    let polls = polled.took.as_secs_f64() / REFRESH.as_secs_f64();
    polled.calls(CsiMethod::GetCapacity) as f64 / sample.objects() as f64 / polls
}

/// Findings on the differences between counted and calculated costs, each summed over all simulated clusters.
pub(super) fn model_accuracy_findings(runs: &[Sampled]) -> Vec<Finding> {
    let differ = |matching: &dyn Fn(&Sample) -> bool,
                  counted: &dyn Fn(&Run) -> usize,
                  wanted: &dyn Fn(&Sample) -> usize| {
        let matching = runs.iter().filter(|(sample, _)| matching(sample));
        matching
            .map(|(sample, run)| counted(run).abs_diff(wanted(sample)))
            .sum::<usize>()
    };
    let all = |_: &Sample| true;
    let distributed = |sample: &Sample| sample.deployed == Deployed::Distributed;
    let zones = |sample: &Sample| sample.deployed == Deployed::Zones;
    let published = |run: &Run| tally_of_step(run, Step::Published).objects("create");
    let segments = |sample: &Sample| sample.segments() as usize;
    let classes = |sample: &Sample| sample.classes as usize;
    // Removing a node removes its segment, unless another node has the same zone.
    let removed_segments = |sample: &Sample| {
        if sample.segments() == sample.nodes {
            classes(sample)
        } else {
            0
        }
    };
    let most = |of: &dyn Fn(&Sample, &Run) -> f64| {
        runs.iter()
            .map(|(sample, run)| of(sample, run))
            .fold(0.0, f64::max)
    };
    let per_volume = most(&|sample, run| {
        tally_of_step(run, Step::Placed).writes() as f64 / (PODS * sample.classes) as f64
    });
    findings![
        none "SCALE-01", "difference between the number of objects and classes × segments",
            differ(&all, &published, &Sample::objects);
        none "SCALE-02", "difference between the number of objects and nodes × classes, with a publisher on each node",
            differ(&distributed, &published, &|sample| {
                (sample.nodes * sample.classes) as usize
            });
        none "SCALE-03", "difference between the number of objects and two per class, with many nodes in two zones",
            differ(&zones, &published, &|sample| 2 * classes(sample));
        none "SCALE-07", "difference between the number of deletions and the objects of a removed node",
            differ(&all, &|run| tally_of_step(run, Step::NodeRemoved).objects("delete"), &removed_segments);
        none "SCALE-08", "difference between the number of writes and the segments, for a class that is created and deleted",
            differ(&all, &|run| tally_of_step(run, Step::ClassAdded).writes(), &segments) + differ(&all, &|run| tally_of_step(run, Step::ClassDeleted).writes(), &segments);
        new "SCALE-09", "maximum number of writes per volume and class", per_volume, Bound::AtMost(1.0);
        none "SCALE-10", "difference between the number of writes and the objects affected by a change of the backend",
            differ(&all, &|run| tally_of_step(run, Step::Changed).writes(), &classes);
        new "SCALE-12", "maximum number of calls per object and poll",
            most(&|sample, run| calls_per_poll(sample, run)), Bound::AtMost(1.1);
    ]
}

/// A scenario that schedules `pods` pods, with one volume each, in a cluster of two nodes.
fn placement_scenario(pods: u64, tracked: bool, published: bool, scoring: bool) -> Value {
    let pods = (0..pods).map(|number| {
        json!({"pod": {"name": format!("p{number}"), "claims": [{"class": "class-0", "size": GIBI}]}})
    });
    json!({
        "id": "study/placing",
        "title": "what placing costs",
        "cluster": {
            "roles": ["publisher", "scheduler"],
            "publisher": {"publish": published},
            "scheduler": {"scoring": scoring},
            "driver": {"storageCapacity": tracked},
            "nodes": ["n0", "n1"],
            "classes": ["class-0"],
            "backend": {"n0": {"capacity": 100 * GIBI}, "n1": {"capacity": 100 * GIBI}},
        },
        "steps": [
            {"id": "published", "expect": "specification"},
            {"id": "placed", "do": pods.collect::<Vec<_>>(), "expect": "specification"},
        ],
    })
}

/// Findings on the scheduler's API requests for one pod, for eight pods, and for eight pods with scoring.
pub(super) fn scheduler_request_findings(runner: &Runner) -> Result<Vec<Finding>, BoxError> {
    let run = |pods, scoring| runner.run(&placement_scenario(pods, true, true, scoring), REFRESH);
    let (few, many, scored) = (run(1, false)?, run(8, false)?, run(8, true)?);
    let reads = |run: &Run| {
        let verbs = ["get", "list", "watch"];
        let of_step =
            |step: usize| verbs.map(|verb| run.step(step).count_requests("scheduler", verb, RESOURCE));
        of_step(0).iter().chain(&of_step(1)).sum::<usize>()
    };
    let kinds = |run: &Run| {
        let keys = run.step(1).requests.keys();
        // Status updates and events of a pending pod depend on the number of attempts, not on scoring.
        let matching = keys.filter(|(client, verb, resource)| {
            client == "scheduler" && resource != "events" && *verb != "patch"
        });
        matching.cloned().collect::<Vec<_>>()
    };
    let largest = |run: &Run| run.largest_object();
    Ok(findings![
        count "SCALE-11", "lists and watches of capacity objects by the scheduler", reads(&few), Bound::AtMost(2.0);
        none "SCALE-11", "additional lists and watches for eight pods, compared with one",
            reads(&many).abs_diff(reads(&few));
        none "SCALE-21", "kinds of requests that the scheduler sends only with scoring, plus bytes by which a capacity object is larger with scoring",
            kinds(&scored).iter().filter(|kind| !kinds(&many).contains(kind)).count() + largest(&scored).saturating_sub(largest(&many));
    ])
}

/// Findings on the cost if no pod uses capacity tracking: compares a cluster with tracking to a cluster without tracking and publisher.
pub(super) fn unused_tracking_findings(runner: &Runner) -> Result<Vec<Finding>, BoxError> {
    let unused = runner.run(&placement_scenario(3, false, false, false), REFRESH)?;
    let used = runner.run(&placement_scenario(3, true, true, false), REFRESH)?;
    let spent = |step: usize| unused.step(step).writes() + unused.step(step).calls(CsiMethod::GetCapacity);
    let field = |run: &Run| {
        let mut driver = run.object("csidrivers").cloned().unwrap_or_default();
        let with = driver.to_string().len();
        driver["spec"]
            .as_object_mut()
            .and_then(|spec| spec.remove("storageCapacity"));
        with - driver.to_string().len()
    };
    let (before, after) = (unused.bytes(), used.bytes());
    let other_resources = ["nodes", "csinodes", "storageclasses"];
    let grown = other_resources.iter().map(|resource| {
        let all = |bytes: &BTreeMap<String, Vec<usize>>| {
            bytes.get(*resource).map_or(0, |it| it.iter().sum::<usize>())
        };
        all(&after).abs_diff(all(&before))
    });
    Ok(findings![
        none "SCALE-14", "GetCapacity calls, and writes of capacity objects, while no driver uses capacity tracking",
            spent(0) + spent(1);
        count "SCALE-13", "bytes of `storageCapacity` in a CSIDriver", field(&used), Bound::AtMost(25.0);
        none "SCALE-13", "bytes by which nodes, CSINodes and classes grow with tracking", grown.sum();
    ])
}

/// Findings on ten StorageClasses with equivalent parameters, compared with one class.
pub(super) fn equivalent_class_findings(runner: &Runner) -> Result<Vec<Finding>, BoxError> {
    let run = |classes| {
        let sample = Sample {
            deployed: Deployed::Central,
            nodes: 2,
            classes,
        };
        runner.run(&sample.scenario(), REFRESH)
    };
    let (one, ten) = (run(1)?, run(10)?);
    let objects = |run: &Run| tally_of_step(run, Step::Published).objects("create") as f64;
    let rate = |run: &Run| {
        let polled = tally_of_step(run, Step::Polled);
        polled.calls(CsiMethod::GetCapacity) as f64 / polled.took.as_secs_f64()
    };
    Ok(findings![
        new "SCALE-23", "ratio of objects: for ten equivalent classes, to one class",
            objects(&ten) / objects(&one), Bound::Exactly(10.0);
        new "LIM-15", "ratio of GetCapacity calls per poll: for ten equivalent classes, to one class",
            rate(&ten) / rate(&one), Bound::AtLeast(9.0);
    ])
}

/// Findings on central and distributed publishers at the break-even number of segments: with fewer segments, capacity values are equally
/// old in both modes; with more, those of a central publisher are older.
pub(super) fn break_even_findings(cluster: &Cluster, unit: &UnitCosts) -> Vec<Finding> {
    let edge = break_even(cluster);
    let age = |nodes: u64, mode| {
        let cluster = Cluster {
            nodes,
            segments: nodes,
            ..*cluster
        };
        load(&cluster, mode, unit).age_seconds
    };
    let ratio = |nodes| age(nodes, Mode::Central) / age(nodes, Mode::Distributed);
    findings![
        new "SCALE-12", format!("ratio of the age of capacity values: of a central publisher, to one on every node, at {} nodes", edge - 1),
            ratio(edge - 1), Bound::Exactly(1.0);
        new "SCALE-12", format!("ratio of the age of capacity values: of a central publisher, to one on every node, at ten times as many nodes, with a limit of {} calls per second", cluster.get_capacity_qps),
            ratio(10 * edge), Bound::AtLeast(5.0);
    ]
}

pub(super) fn scan_finding() -> Finding {
    let ratio = |nodes| {
        let (scanned, indexed) = objects_read(nodes);
        scanned as f64 / indexed as f64
    };
    Finding::new(
        "SCALE-22",
        "growth of the ratio of objects read by a scan to those read by an index, from 10 to 100 nodes",
        ratio(100) / ratio(10),
        Bound::AtLeast(9.0),
    )
}
