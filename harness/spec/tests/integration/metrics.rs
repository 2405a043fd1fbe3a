//! An example of a violation for each rule about metrics.

use std::collections::BTreeMap;

use capacity_spec::metrics::{NAMES, Program, Sample, Scrape, judge};
use capacity_spec::world::{Deployment, Publisher};
use capacity_spec::{Rule, Violation, World, rules};

use super::build::{DRIVER, central, of_node, published, publisher, segment_of};

fn sample(name: &str, labels: &[(&str, &str)], value: f64) -> Sample {
    let owned = |(label, value): &(&str, &str)| ((*label).to_owned(), (*value).to_owned());
    Sample {
        name: name.to_owned(),
        labels: labels.iter().map(owned).collect::<BTreeMap<_, _>>(),
        value,
    }
}

/// The metrics of a publisher that has two objects and has received three GetCapacity responses in half a second.
fn of_publisher() -> Scrape {
    let driver = ("driver_name", DRIVER);
    let call = [
        driver,
        ("method_name", "/csi.v1.Controller/GetCapacity"),
        ("grpc_status_code", "OK"),
    ];
    Scrape {
        client: "publisher".to_owned(),
        program: Program::Publisher {
            instance: central(),
            successful_calls: 3,
            min_seconds: 0.4,
        },
        samples: vec![
            sample("csistoragecapacities_desired_goal", &[driver], 2.0),
            sample("csistoragecapacities_desired_current", &[driver], 2.0),
            sample("csistoragecapacities_obsolete", &[driver], 0.0),
            sample("workqueue_depth", &[("name", "csistoragecapacity")], 0.0),
            sample("csi_sidecar_operations_seconds_count", &call, 3.0),
            sample("csi_sidecar_operations_seconds_sum", &call, 0.5),
        ],
    }
}

fn of_scheduler() -> Scrape {
    let plugin = [("plugin", "VolumeBinding"), ("extension_point", "Filter")];
    Scrape {
        client: "scheduler".to_owned(),
        program: Program::Scheduler { bound_pods: 1 },
        samples: vec![
            sample(
                "scheduler_schedule_attempts_total",
                &[("result", "scheduled")],
                1.0,
            ),
            sample("scheduler_plugin_execution_duration_seconds_count", &plugin, 1.0),
        ],
    }
}

fn of_server() -> Scrape {
    Scrape {
        client: "server".to_owned(),
        program: Program::ApiServer,
        samples: vec![
            sample("apiserver_request_total", &[], 9.0),
            sample("apiserver_request_duration_seconds_sum", &[], 0.1),
        ],
    }
}

fn without(mut scrape: Scrape, name: &str) -> Scrape {
    scrape.samples.retain(|sample| sample.name != name);
    scrape
}

fn with(mut scrape: Scrape, name: &str, value: f64) -> Scrape {
    let samples = scrape.samples.iter_mut().filter(|sample| sample.name == name);
    samples.for_each(|sample| sample.value = value);
    scrape
}

/// Each rule about metrics, with the violations found in its example.
pub(super) fn cases() -> Vec<(&'static Rule, Vec<Violation>)> {
    let world = published();
    let wrong = |scrape: Scrape| judge(&world, &scrape);
    let mut unnamed = of_publisher();
    unnamed.samples[0].labels.clear();
    vec![
        (
            rules::WRONG_GOAL_METRIC,
            wrong(with(of_publisher(), "csistoragecapacities_desired_goal", 0.0)),
        ),
        (
            rules::WRONG_CURRENT_METRIC,
            wrong(with(of_publisher(), "csistoragecapacities_desired_current", 1.0)),
        ),
        (
            rules::WRONG_OBSOLETE_METRIC,
            wrong(with(of_publisher(), "csistoragecapacities_obsolete", 1.0)),
        ),
        (rules::WRONG_METRIC_LABELS, wrong(unnamed)),
        (
            rules::WRONG_QUEUE_METRIC,
            wrong(without(of_publisher(), "workqueue_depth")),
        ),
        (
            rules::WRONG_CALLS_METRIC,
            wrong(with(of_publisher(), "csi_sidecar_operations_seconds_sum", 0.1)),
        ),
        (
            rules::WRONG_ATTEMPTS_METRIC,
            wrong(without(of_scheduler(), "scheduler_schedule_attempts_total")),
        ),
        (
            rules::WRONG_PLUGINS_METRIC,
            wrong(without(
                of_scheduler(),
                "scheduler_plugin_execution_duration_seconds_count",
            )),
        ),
        (
            rules::WRONG_REQUESTS_METRIC,
            wrong(without(of_server(), "apiserver_request_total")),
        ),
        (
            rules::WRONG_DURATIONS_METRIC,
            wrong(without(of_server(), "apiserver_request_duration_seconds_sum")),
        ),
    ]
}

#[test]
fn correct_metrics_have_no_violations_and_every_series_is_required() {
    let world = published();
    for scrape in [of_publisher(), of_scheduler(), of_server()] {
        assert_eq!(judge(&world, &scrape), []);
        for sample in &scrape.samples {
            assert!(NAMES.contains(&sample.name.as_str()));
            assert!(!judge(&world, &without(scrape.clone(), &sample.name)).is_empty());
        }
    }
}

#[test]
fn distributed_metrics_need_the_node_label_and_idle_programs_need_no_series() {
    let distributed = Publisher {
        deployment: Deployment::Distributed(segment_of("n1")),
        ..publisher()
    };
    let world = World {
        publishers: [(of_node("n1"), distributed)].into(),
        objects: [].into(),
        ..published()
    };
    let mut scrape = Scrape {
        program: Program::Publisher {
            instance: of_node("n1"),
            successful_calls: 0,
            min_seconds: 0.0,
        },
        ..of_publisher()
    };
    for (sample, value) in scrape.samples.iter_mut().zip([1.0, 0.0, 0.0]) {
        sample.value = value;
    }
    let rules = |scrape: &Scrape| -> Vec<_> {
        let violations = judge(&world, scrape).into_iter();
        violations.map(|violation| violation.rule).collect()
    };
    assert_eq!(rules(&scrape), [rules::WRONG_METRIC_LABELS]);
    for sample in &mut scrape.samples {
        sample.labels.insert("node".to_owned(), "n1".to_owned());
    }
    assert_eq!(rules(&scrape), [] as [&Rule; 0]);
    let idle = Scrape {
        program: Program::Scheduler { bound_pods: 0 },
        samples: Vec::new(),
        ..of_scheduler()
    };
    assert_eq!(rules(&idle), [] as [&Rule; 0]);
}
