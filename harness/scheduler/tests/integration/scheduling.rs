//! Tests of the scheduling loop through the Kubernetes API. Time is virtual, so backoffs and timeouts of minutes take no real time and are
//! measured exactly.
//!
//! Unit tests and suites cover which node is feasible; here, one of two nodes has enough capacity.

use std::sync::Arc;
use std::time::Duration;

use capacity_scheduler::{Deviation, Options};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::wire::cluster::{Clock, Cluster};

const NO_SPACE: &str = "2 node(s) did not have enough free storage";
/// Time after which an unschedulable pod is retried although no event requeued it.
const FLUSH: Duration = Duration::from_secs(300);
const CLAIMS: &str = "PATCH /api/v1/namespaces/default/persistentvolumeclaims/";
const VOLUMES: &str = "PATCH /api/v1/persistentvolumes/";
const STATUS: &str = "PATCH /api/v1/namespaces/default/pods/p/status";

#[tokio::test(start_paused = true)]
async fn a_pvc_is_provisioned_on_the_node_with_capacity_and_the_pod_is_bound_there() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.capacity("n1", "5Gi");
    cluster.capacity("n2", "20Gi");
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    assert_eq!(cluster.wait_for_selected_node("p").await, "n2");
    assert_eq!(
        cluster
            .server
            .count("POST /api/v1/namespaces/default/pods/p/binding"),
        0,
        "the pod must not be bound before its PVC"
    );
    cluster.provision("p").await;
    assert_eq!(cluster.wait_until_bound("p").await, "n2");
    let event = cluster.wait_for_event("p", "Scheduled", 1).await;
    assert_eq!(event["note"], "Successfully assigned default/p to n2");
    assert_eq!(event["type"], "Normal");
    assert_eq!(cluster.server.count(CLAIMS), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unschedulable_pod_is_reported_and_new_capacity_requeues_it() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    let clock = Clock::start();
    cluster.start(Options::default());

    let condition = cluster.wait_until_unscheduled("p", NO_SPACE).await;
    assert_eq!(condition["type"], "PodScheduled");
    assert_eq!(condition["status"], "False");
    assert_eq!(condition["reason"], "Unschedulable");
    assert_eq!(condition["observedGeneration"], 1);
    let event = cluster.wait_for_event("p", "FailedScheduling", 1).await;
    assert_eq!(event["note"], condition["message"]);
    assert_eq!(event["reportingController"], "default-scheduler");

    cluster.capacity("n1", "10Gi");
    assert_eq!(cluster.wait_for_selected_node("p").await, "n1");
    assert_eq!(
        clock.elapsed().as_secs(),
        1,
        "requeued at once, and attempted after its backoff"
    );
}

#[tokio::test(start_paused = true)]
async fn a_repeated_failure_increments_the_event_series_and_leaves_the_condition() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    for count in 2..4 {
        cluster.capacity("n1", &format!("{count}Gi"));
        cluster.wait_for_event("p", "FailedScheduling", count).await;
    }
    assert_eq!(cluster.server.count(STATUS), 1);
    assert_eq!(cluster.server.objects_of("events").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_names_scheduler_action_and_pod_and_is_recreated_after_expiry() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    cluster
        .server
        .fail_next("PATCH /apis/events.k8s.io/v1/namespaces/default/events/", 404);
    cluster.start(Options::default());

    let event = cluster.wait_for_event("p", "FailedScheduling", 1).await;
    assert_eq!(event["metadata"]["namespace"], "default");
    assert!(event["eventTime"].is_string(), "{event}");
    let pod = cluster.server.objects_of("pods").remove(0);
    let regarding = &event["regarding"];
    for (field, expected) in [
        ("apiVersion", json!("v1")),
        ("kind", json!("Pod")),
        ("namespace", json!("default")),
        ("uid", pod["metadata"]["uid"].clone()),
    ] {
        assert_eq!(regarding[field], expected, "{field}");
    }
    assert!(regarding["resourceVersion"].is_string(), "{event}");
    assert_eq!(
        (&event["type"], &event["action"]),
        (&json!("Warning"), &json!("Scheduling"))
    );
    assert!(event["reportingInstance"].is_string(), "{event}");

    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    cluster.capacity("n1", "1Gi");
    cluster
        .server
        .wait_until("a second event", "events", |other| {
            other["metadata"]["name"] != event["metadata"]["name"]
        })
        .await;
    assert_eq!(cluster.server.objects_of("events").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_condition_whose_write_failed_is_written_at_the_next_attempt() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    cluster.server.fail_next(STATUS, 503);
    cluster.start(Options::default());

    cluster.wait_for_event("p", "FailedScheduling", 1).await;
    cluster.capacity("n1", "1Gi");
    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    assert_eq!(cluster.server.count(STATUS), 2);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_stops_tracking_capacity_requeues_the_pod() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    let clock = Clock::start();
    cluster.start(Options::default());

    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    cluster.driver(false);
    cluster.wait_for_selected_node("p").await;
    assert!(clock.elapsed() < FLUSH, "requeued after {:?}", clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_change_without_queueing_hint_takes_effect_at_the_flush() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    let clock = Clock::start();
    // As upstream, a driver that stops tracking capacity requeues no pod.
    cluster.start(Options {
        deviations: [Deviation::Flag].into(),
        ..Options::default()
    });

    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    cluster.driver(false);
    cluster.wait_for_selected_node("p").await;
    assert_eq!(clock.elapsed().as_secs(), FLUSH.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_selected_node_that_the_provisioner_clears_is_selected_again() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.capacity("n1", "20Gi");
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    assert_eq!(cluster.wait_for_selected_node("p").await, "n1");
    cluster.capacity("n1", "1Gi");
    cluster.capacity("n2", "20Gi");
    cluster.clear_selected_node("p");
    let text = "running PreBind plugin \"VolumeBinding\": binding volumes: provisioning failed for PVC \"p\"";
    let condition = cluster.wait_until_unscheduled("p", text).await;
    assert_eq!(condition["message"], text);
    assert_eq!(condition["reason"], "SchedulerError");
    assert_eq!(cluster.wait_for_selected_node("p").await, "n2");
    cluster.provision("p").await;
    assert_eq!(cluster.wait_until_bound("p").await, "n2");
}

#[tokio::test(start_paused = true)]
async fn binding_times_out_and_leaves_the_selected_node() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.capacity("n1", "20Gi");
    cluster.pod_with_claim("p", "10Gi");
    let clock = Clock::start();
    cluster.start(Options::default());

    cluster
        .wait_until_unscheduled("p", "binding volumes: context deadline exceeded")
        .await;
    assert_eq!(clock.elapsed().as_secs(), 600);
    assert!(
        cluster.server.objects_of("pods")[0]["status"]["nominatedNodeName"].is_null(),
        "the nomination was cleared"
    );
    assert_eq!(
        cluster.wait_for_nominated_node("p").await,
        "n1",
        "the second attempt is in progress"
    );
    cluster.provision("p").await;
    assert_eq!(cluster.wait_until_bound("p").await, "n1");
    assert_eq!(
        cluster.server.count(CLAIMS),
        1,
        "the selected node was unchanged and not written again"
    );
}

#[tokio::test(start_paused = true)]
async fn other_pods_are_scheduled_while_one_waits_for_its_pvc() {
    let cluster = Cluster::new(&["n1"]);
    cluster.capacity("n1", "20Gi");
    cluster.pod_with_claim("waits", "10Gi");
    cluster.start(Options::default());

    cluster.wait_for_selected_node("waits").await;
    cluster.pod("plain", &json!([]));
    assert_eq!(cluster.wait_until_bound("plain").await, "n1");
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_reserved_before_the_pod_is_bound_and_only_once() {
    let cluster = Cluster::new(&["n1"]);
    cluster.volume("v1", "10Gi");
    cluster.pod_with_claim("first", "10Gi");
    cluster.pod_with_claim("second", "10Gi");
    cluster.start(Options::default());

    let reserved = |object: &Value| object["spec"]["claimRef"]["name"] == "first";
    let found = cluster
        .server
        .wait_until("a reserved volume", "persistentvolumes", reserved)
        .await;
    assert_eq!(found["spec"]["claimRef"]["uid"], "uid-of-first");
    assert_eq!(
        found["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"],
        "yes"
    );
    cluster
        .wait_until_unscheduled("second", "did not have enough free storage")
        .await;
    cluster.complete_binding("first", "v1");
    assert_eq!(cluster.wait_until_bound("first").await, "n1");
    assert_eq!(cluster.server.count(VOLUMES), 1);
}

#[tokio::test(start_paused = true)]
async fn a_volume_whose_reservation_failed_is_immediately_free_for_another_pod() {
    let cluster = Cluster::new(&["n1"]);
    cluster.volume("v1", "10Gi");
    cluster.pod_with_claim("first", "10Gi");
    cluster.pod_with_claim("second", "10Gi");
    cluster.server.fail_next(VOLUMES, 503);
    let clock = Clock::start();
    cluster.start(Options::default());

    cluster
        .wait_until_unscheduled("second", "did not have enough free storage")
        .await;
    cluster
        .wait_until_unscheduled(
            "first",
            "running PreBind plugin \"VolumeBinding\": refused by the test",
        )
        .await;
    cluster.server.delete("pods", "default", "first");
    let reserved = |object: &Value| object["spec"]["claimRef"]["name"] == "second";
    cluster
        .server
        .wait_until("a reserved volume", "persistentvolumes", reserved)
        .await;
    assert!(clock.elapsed() < FLUSH, "requeued after {:?}", clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_pvc_that_changed_during_the_attempt_is_not_overwritten_and_the_pod_is_retried() {
    let cluster = Cluster::new(&["n1"]);
    cluster.capacity("n1", "20Gi");
    cluster.pod_with_claim("p", "10Gi");
    let label = json!({"metadata": {"labels": {"changed": "meanwhile"}}});
    cluster
        .server
        .change_before_request(CLAIMS, "persistentvolumeclaims", "default", "p", label);
    let clock = Clock::start();
    cluster.start(Options::default());

    let text = "running PreBind plugin \"VolumeBinding\": the object has been modified";
    cluster.wait_until_unscheduled("p", text).await;
    assert_eq!(cluster.wait_for_selected_node("p").await, "n1");
    assert_eq!(clock.elapsed().as_secs(), 1, "after its backoff");
}

#[tokio::test(start_paused = true)]
async fn a_pod_deleted_during_binding_is_dropped() {
    let cluster = Cluster::new(&["n1"]);
    cluster.capacity("n1", "20Gi");
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    cluster.wait_for_selected_node("p").await;
    cluster.server.delete("pods", "default", "p");
    let event = cluster.wait_for_event("p", "FailedScheduling", 1).await;
    let expected = "running PreBind plugin \"VolumeBinding\": binding volumes: pod does not exist any more: pod \"p\" not found";
    assert_eq!(event["note"], expected);
}

#[tokio::test(start_paused = true)]
async fn with_the_flag_deviation_a_driver_that_stops_tracking_requeues_no_pod() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    let clock = Clock::start();
    cluster.start(Options {
        deviations: [Deviation::Flag].into(),
        ..Options::default()
    });

    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    cluster.driver(false);
    cluster.wait_for_selected_node("p").await;
    assert_eq!(clock.elapsed().as_secs(), FLUSH.as_secs());
}

#[tokio::test(start_paused = true)]
async fn insufficient_capacity_requeues_no_pod() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    cluster.capacity("n1", "9Gi");
    cluster.pod("marker", &json!([]));
    cluster.wait_until_bound("marker").await;
    tokio::time::sleep(FLUSH / 2).await;
    let event = cluster.wait_for_event("p", "FailedScheduling", 1).await;
    assert!(event["series"].is_null(), "attempted once: {event}");
    cluster.capacity("n1", "10Gi");
    assert_eq!(cluster.wait_for_selected_node("p").await, "n1");
}

#[tokio::test(start_paused = true)]
async fn capacity_without_accessible_nodes_requeues_no_pod_until_a_node_is_added() {
    let cluster = Cluster::new(&["n1"]);
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    cluster
        .wait_until_unscheduled("p", "1 node(s) did not have enough free storage")
        .await;
    cluster.capacity("n2", "10Gi");
    cluster.pod("marker", &json!([]));
    cluster.wait_until_bound("marker").await;
    tokio::time::sleep(FLUSH / 2).await;
    let event = cluster.wait_for_event("p", "FailedScheduling", 1).await;
    assert!(event["series"].is_null(), "attempted once: {event}");
    let clock = Clock::start();
    cluster.server.put(
        "nodes",
        json!({"metadata": {"name": "n2", "labels": {"node": "n2"}}}),
    );
    assert_eq!(cluster.wait_for_selected_node("p").await, "n2");
    assert!(
        clock.elapsed().as_secs() < 2,
        "requeued after {:?}",
        clock.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_object_is_an_error_and_does_not_count_as_missing() {
    let cluster = Cluster::new(&["n1"]);
    cluster.capacity("n1", "a lot");
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    let text = "running \"VolumeBinding\" filter plugin: csistoragecapacities.storage.k8s.io \"driver/at-n1\" cannot be read";
    let condition = cluster.wait_until_unscheduled("p", text).await;
    assert_eq!(condition["reason"], "SchedulerError");
    cluster.pod("plain", &json!([]));
    assert_eq!(
        cluster.wait_until_bound("plain").await,
        "n1",
        "pods without delayed PVCs are not affected"
    );
    cluster.capacity("n1", "10Gi");
    assert_eq!(cluster.wait_for_selected_node("p").await, "n1");
}

#[tokio::test(start_paused = true)]
async fn node_resources_are_counted_and_released() {
    let cluster = Cluster::new(&[]);
    cluster.server.put(
        "nodes",
        json!({"metadata": {"name": "n1", "labels": {"node": "n1"}}, "status": {"allocatable": {"pods": "1"}}}),
    );
    cluster.pod("first", &json!([]));
    cluster.start(Options::default());

    assert_eq!(cluster.wait_until_bound("first").await, "n1");
    cluster.pod("second", &json!([]));
    let text = "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, \
                preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.";
    assert_eq!(
        cluster.wait_until_unscheduled("second", "Too many pods").await["message"],
        text
    );
    let clock = Clock::start();
    cluster.server.delete("pods", "default", "first");
    assert_eq!(cluster.wait_until_bound("second").await, "n1");
    assert!(clock.elapsed() < FLUSH, "requeued after {:?}", clock.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_lower_priority_is_preempted() {
    let cluster = Cluster::new(&[]);
    cluster.server.put(
        "nodes",
        json!({"metadata": {"name": "n1", "labels": {"node": "n1"}}, "status": {"allocatable": {"pods": "1"}}}),
    );
    let pod = |name: &str, priority: i32| {
        json!({
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"schedulerName": "default-scheduler", "priority": priority, "containers": []},
        })
    };
    cluster.server.put("pods", pod("low", 5));
    cluster.start(Options::default());
    assert_eq!(cluster.wait_until_bound("low").await, "n1");
    let clock = Clock::start();
    cluster.server.put("pods", pod("equal", 5));
    cluster
        .wait_until_unscheduled("equal", "No preemption victims found")
        .await;
    cluster.server.put("pods", pod("high", 6));
    let condition = cluster.wait_until_unscheduled("high", "1 Too many pods").await;
    assert_eq!(condition["message"], "0/1 nodes are available: 1 Too many pods.");
    assert_eq!(cluster.wait_for_nominated_node("high").await, "n1");
    assert_eq!(cluster.wait_until_bound("high").await, "n1");
    assert!(clock.elapsed() < FLUSH, "requeued after {:?}", clock.elapsed());
    assert_eq!(
        cluster.server.count("DELETE /api/v1/namespaces/default/pods/low"),
        1
    );
    assert_eq!(cluster.server.count("DELETE"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_registers_on_a_node_requeues_the_pod() {
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.pod_with_claim("p", "10Gi");
    cluster.start(Options::default());

    cluster.wait_until_unscheduled("p", NO_SPACE).await;
    let clock = Clock::start();
    cluster.server.put(
        "csinodes",
        json!({"metadata": {"name": "n1"}, "spec": {"drivers": []}}),
    );
    cluster.wait_for_event("p", "FailedScheduling", 2).await;
    assert!(clock.elapsed() < FLUSH, "requeued after {:?}", clock.elapsed());
}

/// KEP-4049: the log contains node, PVC, class and size of every rejection.
#[tokio::test(start_paused = true)]
async fn the_log_contains_the_reason_of_each_rejected_node() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // The subscriber is global: tracing permanently disables a callsite that a thread without a subscriber reaches first.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.capacity("n1", "5Gi");
    cluster.pod_with_claim("logged", "10Gi");
    cluster.start(Options::default());
    cluster.wait_until_unscheduled("logged", NO_SPACE).await;

    let text = String::from_utf8(log.0.lock().clone()).unwrap();
    for node in ["n1", "n2"] {
        let is_logged = |line: &&str| {
            let words = [
                "node refused",
                "default/logged",
                "class fast, 10Gi",
                "did not have enough free storage",
            ];
            line.contains(&format!("node=\"{node}\"")) && words.iter().all(|word| line.contains(word))
        };
        assert!(
            text.lines().any(|line| is_logged(&line)),
            "nothing about {node} in:\n{text}"
        );
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
