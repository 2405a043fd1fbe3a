//! The metrics that the publisher exports (KEP-1472, "monitoring requirements").

use std::net::SocketAddr;
use std::time::Duration;

use capacity_publisher::{Options, Profile};
use fake_apiserver::{Authorization, Effect as ApiEffect, Match, ResourceRef, Rule, Verb};
use fake_csi::{Code, Effect};

use super::cluster::{Cluster, DRIVER, KEY, free_address, get, served_at, value, wait_for_value};

/// The name of the metrics series that counts GetCapacity calls with this status code.
fn calls(code: &str) -> String {
    let method = "/csi.v1.Controller/GetCapacity";
    format!(
        "csi_sidecar_operations_seconds_count{{driver_name=\"{DRIVER}\",method_name=\"{method}\",grpc_status_code=\"{code}\"}}"
    )
}

/// A fault rule of the API server: requests for capacity objects with these verbs fail with status 500.
fn server_error_rule(verbs: Vec<Verb>) -> Rule {
    let about = Match {
        verbs,
        resource: Some("csistoragecapacities".to_owned()),
        ..Match::default()
    };
    let refused = ApiEffect::Status {
        code: 500,
        retry_after_seconds: 0,
    };
    Rule::new(about, refused)
}

/// Waits until the workqueue has counted this number of retries.
async fn wait_for_retries(address: SocketAddr, times: f64) {
    let retries = async || {
        let text = get(address, "/metrics").await.1;
        value(&text, "workqueue_retries_total{name=\"csistoragecapacity\"}")
    };
    let waiting = async { while retries().await < Some(times) {} };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_report_objects_calls_queues_and_ages() {
    let cluster = Cluster::start(3, 2, Authorization::AlwaysAllow).await;
    cluster.script_get_capacity(
        Effect::Capacity {
            available: 1,
            maximum: None,
            minimum: None,
        },
        None,
    );
    let address = free_address().await;
    let options = Options {
        http: served_at(address),
        ..cluster.options()
    };
    let publisher = cluster.publish("publisher", options);
    cluster.until_published(6).await;
    let of_driver = format!("{{driver_name=\"{DRIVER}\"}}");
    for (name, expected) in [("desired_goal", 6.0), ("desired_current", 6.0), ("obsolete", 0.0)] {
        wait_for_value(
            address,
            &format!("csistoragecapacities_{name}{of_driver}"),
            expected,
        )
        .await;
    }
    wait_for_value(address, &calls("OK"), 6.0).await;
    wait_for_value(address, "workqueue_adds_total{name=\"csistoragecapacity\"}", 6.0).await;
    wait_for_value(address, "workqueue_depth{name=\"csistoragecapacity\"}", 0.0).await;
    let (status, text) = get(address, "/metrics").await;
    assert!(status.contains("200"), "{status}");
    let ages = text
        .lines()
        .filter(|line| line.starts_with("csistoragecapacities_age_seconds{"));
    assert_eq!(ages.count(), 6, "{text}");
    let age = format!(
        "csistoragecapacities_age_seconds{{driver_name=\"{DRIVER}\",storage_class=\"c0\",topology=\"{KEY}=n0\"}}"
    );
    assert!(value(&text, &age).is_some_and(|age| age < 60.0), "{text}");
    for (path, expected) in [
        ("/healthz", "200"),
        ("/readyz", "200"),
        ("/healthz/leader-election", "404"),
        ("/", "404"),
    ] {
        let (status, _) = get(address, path).await;
        assert!(status.contains(expected), "{path}: {status}");
    }
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_counted_by_code_and_the_upstream_profile_has_no_labels() {
    let cluster = Cluster::start(1, 1, Authorization::AlwaysAllow).await;
    cluster.driver.clear_rules();
    cluster.script_get_capacity(Effect::Code(Code::Unavailable, "scripted".to_owned()), Some(3));
    cluster.script_get_capacity(
        Effect::Capacity {
            available: 1,
            maximum: None,
            minimum: None,
        },
        None,
    );
    let address = free_address().await;
    let options = Options {
        http: served_at(address),
        profile: Profile::Upstream,
        ..cluster.options()
    };
    let publisher = cluster.publish("publisher", options);
    cluster.until_published(1).await;
    wait_for_value(address, &calls("Unavailable"), 3.0).await;
    wait_for_value(
        address,
        "workqueue_retries_total{name=\"csistoragecapacity\"}",
        3.0,
    )
    .await;
    wait_for_value(address, "csistoragecapacities_desired_goal", 1.0).await;
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn obsolete_objects_count_until_they_are_deleted() {
    let cluster = Cluster::start(3, 1, Authorization::AlwaysAllow).await;
    let address = free_address().await;
    let options = Options {
        http: served_at(address),
        ..cluster.options()
    };
    let publisher = cluster.publish("publisher", options);
    cluster.until_published(3).await;
    let refused = cluster
        .api
        .add_fault_rule(server_error_rule(vec![Verb::Delete]))
        .unwrap();
    cluster
        .admin
        .delete(&ResourceRef::new("storage.k8s.io", "storageclasses").name("c0"))
        .unwrap();
    let of_driver = format!("{{driver_name=\"{DRIVER}\"}}");
    let obsolete = format!("csistoragecapacities_obsolete{of_driver}");
    wait_for_value(address, &obsolete, 3.0).await;
    cluster.api.remove_fault_rule(refused);
    cluster
        .until(|cluster| cluster.count("DELETED csistoragecapacities") == 3)
        .await;
    wait_for_value(address, &obsolete, 0.0).await;
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_with_outdated_capacity_are_not_obsolete() {
    let cluster = Cluster::start(1, 1, Authorization::AlwaysAllow).await;
    let address = free_address().await;
    let options = Options {
        http: served_at(address),
        capacity_poll_interval: Duration::from_millis(50),
        ..cluster.options()
    };
    let publisher = cluster.publish("publisher", options);
    cluster.until_published(1).await;
    let refused = cluster
        .api
        .add_fault_rule(server_error_rule(vec![Verb::Update, Verb::Patch]))
        .unwrap();
    cluster.driver.clear_rules();
    cluster.script_get_capacity(
        Effect::Capacity {
            available: 2 << 30,
            maximum: None,
            minimum: None,
        },
        None,
    );
    wait_for_retries(address, 1.0).await;
    let of_driver = format!("{{driver_name=\"{DRIVER}\"}}");
    let (_, text) = get(address, "/metrics").await;
    for (state, expected) in [("desired_goal", 1.0), ("desired_current", 1.0), ("obsolete", 0.0)] {
        let actual = value(&text, &format!("csistoragecapacities_{state}{of_driver}"));
        assert_eq!(actual, Some(expected), "{state}: {text}");
    }
    cluster.api.remove_fault_rule(refused);
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_an_instance_name_its_node_and_report_call_latency() {
    const DELAY: Duration = Duration::from_millis(50);
    let cluster = Cluster::start(1, 2, Authorization::AlwaysAllow).await;
    // The first matching rule with a response ends the evaluation of the rules, so the delay must precede the rule with the capacity.
    cluster.driver.clear_rules();
    cluster.script_get_capacity(Effect::Delay(DELAY), None);
    cluster.script_get_capacity(
        Effect::Capacity {
            available: 1,
            maximum: None,
            minimum: None,
        },
        None,
    );
    let address = free_address().await;
    let options = Options {
        http: served_at(address),
        node_deployment: true,
        node_name: Some("n0".to_owned()),
        ..cluster.options()
    };
    let publisher = cluster.publish("publisher", options);
    cluster.until_published(2).await;
    let labels = format!("{{driver_name=\"{DRIVER}\",node=\"n0\"}}");
    for (name, expected) in [("desired_goal", 2.0), ("desired_current", 2.0), ("obsolete", 0.0)] {
        wait_for_value(address, &format!("csistoragecapacities_{name}{labels}"), expected).await;
    }
    wait_for_value(address, &calls("OK"), 2.0).await;
    let (_, text) = get(address, "/metrics").await;
    let sum = value(&text, &calls("OK").replace("_count{", "_sum{"));
    assert!(sum.is_some_and(|sum| sum >= 2.0 * DELAY.as_secs_f64()), "{text}");
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_that_cannot_be_created_count_as_missing_and_stay_queued() {
    let cluster = Cluster::start(3, 2, Authorization::AlwaysAllow).await;
    let refused = cluster
        .api
        .add_fault_rule(server_error_rule(vec![Verb::Create]))
        .unwrap();
    let address = free_address().await;
    let options = Options {
        http: served_at(address),
        ..cluster.options()
    };
    let publisher = cluster.publish("publisher", options);
    let of_driver = format!("{{driver_name=\"{DRIVER}\"}}");
    wait_for_value(
        address,
        &format!("csistoragecapacities_desired_goal{of_driver}"),
        6.0,
    )
    .await;
    wait_for_retries(address, 6.0).await;
    wait_for_value(
        address,
        &format!("csistoragecapacities_desired_current{of_driver}"),
        0.0,
    )
    .await;
    cluster.api.remove_fault_rule(refused);
    wait_for_value(
        address,
        &format!("csistoragecapacities_desired_current{of_driver}"),
        6.0,
    )
    .await;
    wait_for_value(address, "workqueue_depth{name=\"csistoragecapacity\"}", 0.0).await;
    publisher.stop().await;
}
