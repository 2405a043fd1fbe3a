//! Tests with interrupted, delayed, expired and repeated watches: the scheduler converges to the current state and loses no pod.

use std::time::Duration;

use capacity_scheduler::Options;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::cluster::Cluster;
use super::server::WatchFault;

/// One step between the creation of the pods and the creation of the capacity object, which all pods need.
#[derive(Clone, Debug)]
enum Step {
    Capacity(&'static str, &'static str),
    Driver(bool),
    Fault(&'static str, WatchFault),
    Sleep(Duration),
}

const RESOURCES: [&str; 9] = [
    "pods",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "csidrivers",
    "csistoragecapacities",
    "csinodes",
    "volumeattachments",
    "namespaces",
];
const SIZES: [&str; 4] = ["1Gi", "5Gi", "10Gi", "20Gi"];

fn step() -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        Just(WatchFault::Cut),
        Just(WatchFault::Expire),
        Just(WatchFault::Repeat),
        (1_u64..30).prop_map(|seconds| WatchFault::Delay(Duration::from_secs(seconds))),
    ];
    prop_oneof![
        (select(&["n1", "n2"][..]), select(&SIZES[..])).prop_map(|(node, size)| Step::Capacity(node, size)),
        any::<bool>().prop_map(Step::Driver),
        (select(&RESOURCES[..]), fault).prop_map(|(resource, fault)| Step::Fault(resource, fault)),
        (0_u64..40).prop_map(|seconds| Step::Sleep(Duration::from_secs(seconds))),
    ]
}

/// Runs the steps. The flush is due only after the timeout of the test, so that only a watch event can requeue a pod.
async fn run_steps(steps: Vec<Step>) {
    const PODS: [&str; 3] = ["p", "q", "r"];
    let cluster = Cluster::new(&["n1", "n2"]);
    cluster.start(Options {
        unschedulable_flush: Duration::from_secs(10 * 24 * 3600),
        ..Options::default()
    });
    for pod in PODS {
        cluster.pod_with_claim(pod, "10Gi");
    }
    for step in steps {
        match step {
            Step::Capacity(node, size) => cluster.capacity(node, size),
            Step::Driver(tracks) => cluster.driver(tracks),
            Step::Fault(resource, fault) => cluster.server.inject(resource, fault),
            Step::Sleep(time) => tokio::time::sleep(time).await,
        }
    }
    cluster.driver(true);
    cluster.capacity("n1", "10Gi");
    cluster.capacity("n2", "10Gi");
    for pod in PODS {
        cluster.provision(pod).await;
        cluster.wait_until_bound(pod).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn no_pod_is_lost_under_watch_faults(steps in vec(step(), 0..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run_steps(steps));
    }
}
