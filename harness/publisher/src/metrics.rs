//! Metrics with the names and labels of external-provisioner. Gauges that depend on time are updated by registered functions before each
//! scrape.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use tonic::Code;

pub(crate) type Seconds = Gauge<f64, std::sync::atomic::AtomicU64>;

type HistogramFamily<L> = Family<L, Histogram, fn() -> Histogram>;

/// Value of the label `driver_name` before the driver's name is known.
const UNKNOWN_DRIVER: &str = "unknown-driver";

/// Buckets of csi-lib-utils for CSI calls, in seconds.
const CALL_BUCKETS: [f64; 13] = [
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0,
];

/// Buckets of client-go's workqueue metrics, in seconds.
const QUEUE_BUCKETS: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

/// Default buckets of the Prometheus client, in seconds.
const VOLUME_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Labels of object metrics that are known only at run time: driver and node, or none.
pub(crate) type ExtraLabels = Vec<(&'static str, String)>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    driver_name: String,
    method_name: &'static str,
    grpc_status_code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    class: String,
}

#[derive(Clone, Default)]
pub(crate) struct ObjectMetrics {
    pub(crate) goal: Family<ExtraLabels, Gauge>,
    pub(crate) current: Family<ExtraLabels, Gauge>,
    pub(crate) obsolete: Family<ExtraLabels, Gauge>,
    pub(crate) age: Family<ExtraLabels, Seconds>,
}

#[derive(Clone)]
pub(crate) struct QueueMetrics {
    pub(crate) depth: Gauge,
    pub(crate) adds: Counter,
    pub(crate) retries: Counter,
    pub(crate) queue_duration: Histogram,
    pub(crate) work_duration: Histogram,
    pub(crate) unfinished_work: Seconds,
    pub(crate) longest_running: Seconds,
}

/// Metrics of creating, or deleting, volumes by StorageClass.
pub(crate) struct VolumeMetrics {
    done: HistogramFamily<ClassLabels>,
    total: Family<ClassLabels, Counter>,
    failed: Family<ClassLabels, Counter>,
}

pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    /// Functions that update time-dependent gauges before each scrape.
    updates: Mutex<Vec<Box<dyn Fn() + Send>>>,
    calls: HistogramFamily<CallLabels>,
    queues: Queues,
    leader: Family<ExtraLabels, Gauge>,
    pub(crate) objects: ObjectMetrics,
    pub(crate) provisioned: VolumeMetrics,
    pub(crate) deleted: VolumeMetrics,
}

struct Queues {
    depth: Family<QueueLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    queue_duration: HistogramFamily<QueueLabels>,
    work_duration: HistogramFamily<QueueLabels>,
    unfinished_work: Family<QueueLabels, Seconds>,
    longest_running: Family<QueueLabels, Seconds>,
}

impl Metrics {
    pub(crate) fn new() -> Arc<Metrics> {
        let mut registry = Registry::default();
        let calls: HistogramFamily<CallLabels> =
            Family::new_with_constructor(|| Histogram::new(CALL_BUCKETS));
        registry.register(
            "csi_sidecar_operations_seconds",
            "Container Storage Interface operation duration with gRPC error code status total",
            calls.clone(),
        );
        let leader: Family<ExtraLabels, Gauge> = Family::default();
        registry.register(
            "leader_election_master_status",
            "Whether this process holds its Lease",
            leader.clone(),
        );
        let queues = Queues::register(&mut registry);
        let objects = ObjectMetrics::register(&mut registry);
        let provisioned =
            VolumeMetrics::register(&mut registry, "controller_persistentvolumeclaim_provision");
        let deleted = VolumeMetrics::register(&mut registry, "controller_persistentvolume_delete");
        Arc::new(Metrics {
            registry: Mutex::new(registry),
            updates: Mutex::default(),
            calls,
            queues,
            leader,
            objects,
            provisioned,
            deleted,
        })
    }

    pub(crate) fn before_scrape(&self, update: impl Fn() + Send + 'static) {
        self.updates.lock().push(Box::new(update));
    }

    /// Records a finished CSI call. `driver` is empty if the driver's name is not known yet.
    pub(crate) fn record_call(&self, driver: &str, method: &'static str, code: Code, took: Duration) {
        let driver = if driver.is_empty() { UNKNOWN_DRIVER } else { driver };
        let labels = CallLabels {
            driver_name: driver.to_owned(),
            method_name: method,
            grpc_status_code: crate::status::code_text(code),
        };
        self.calls.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn queue(&self, name: &'static str) -> QueueMetrics {
        let labels = QueueLabels { name };
        let queues = &self.queues;
        QueueMetrics {
            depth: queues.depth.get_or_create_owned(&labels),
            adds: queues.adds.get_or_create_owned(&labels),
            retries: queues.retries.get_or_create_owned(&labels),
            queue_duration: queues.queue_duration.get_or_create_owned(&labels),
            work_duration: queues.work_duration.get_or_create_owned(&labels),
            unfinished_work: queues.unfinished_work.get_or_create_owned(&labels),
            longest_running: queues.longest_running.get_or_create_owned(&labels),
        }
    }

    pub(crate) fn set_leader(&self, is_leader: bool) {
        let labels = vec![("name", String::new())];
        self.leader.get_or_create(&labels).set(i64::from(is_leader));
    }

    /// All metrics in OpenMetrics text format.
    pub(crate) fn text(&self) -> String {
        // The lock allows only one scrape at a time: a concurrent scrape would clear the updated gauges.
        let registry = self.registry.lock();
        self.updates.lock().iter().for_each(|update| update());
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &registry);
        // Prometheus clients in Go write a series without labels as `name value`, this library as `name{} value`. No metric name or label
        // value of this program contains braces.
        text.replace("{} ", " ")
    }
}

impl ObjectMetrics {
    fn register(registry: &mut Registry) -> ObjectMetrics {
        let objects = ObjectMetrics::default();
        let gauges = [
            (
                "csistoragecapacities_desired_goal",
                "Number of CSIStorageCapacity objects that are supposed to be managed automatically",
                &objects.goal,
            ),
            (
                "csistoragecapacities_desired_current",
                "Number of CSIStorageCapacity objects that exist and are supposed to be managed automatically",
                &objects.current,
            ),
            (
                "csistoragecapacities_obsolete",
                "Number of CSIStorageCapacity objects that exist and will be deleted automatically",
                &objects.obsolete,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        registry.register(
            "csistoragecapacities_age_seconds",
            "Time since GetCapacity last returned the capacity of a CSIStorageCapacity object, or else since the object was first observed",
            objects.age.clone(),
        );
        objects
    }
}

impl Queues {
    fn register(registry: &mut Registry) -> Queues {
        let queues = Queues {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            queue_duration: Family::new_with_constructor(|| Histogram::new(QUEUE_BUCKETS)),
            work_duration: Family::new_with_constructor(|| Histogram::new(QUEUE_BUCKETS)),
            unfinished_work: Family::default(),
            longest_running: Family::default(),
        };
        registry.register(
            "workqueue_depth",
            "Workqueue keys that wait for a worker",
            queues.depth.clone(),
        );
        registry.register("workqueue_adds", "Keys that became ready", queues.adds.clone());
        registry.register("workqueue_retries", "Keys that failed", queues.retries.clone());
        registry.register(
            "workqueue_queue_duration_seconds",
            "Time from when a workqueue key became ready until a worker started to process the key",
            queues.queue_duration.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "Time that a worker took to process a workqueue key",
            queues.work_duration.clone(),
        );
        registry.register(
            "workqueue_unfinished_work_seconds",
            "Sum of the time that workers have spent so far on the workqueue keys in progress",
            queues.unfinished_work.clone(),
        );
        registry.register(
            "workqueue_longest_running_processor_seconds",
            "Longest time that a worker has spent so far on a workqueue key in progress",
            queues.longest_running.clone(),
        );
        queues
    }
}

impl VolumeMetrics {
    fn register(registry: &mut Registry, name: &str) -> VolumeMetrics {
        let metrics = VolumeMetrics {
            done: Family::new_with_constructor(|| Histogram::new(VOLUME_BUCKETS)),
            total: Family::default(),
            failed: Family::default(),
        };
        registry.register(name, "Successes", metrics.total.clone());
        registry.register(format!("{name}_failed"), "Failures", metrics.failed.clone());
        registry.register(
            format!("{name}_duration_seconds"),
            "Duration of a successful volume operation",
            metrics.done.clone(),
        );
        metrics
    }

    pub(crate) fn record_success(&self, class: &str, took: Duration) {
        let labels = ClassLabels {
            class: class.to_owned(),
        };
        self.total.get_or_create(&labels).inc();
        self.done.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn record_failure(&self, class: &str) {
        let labels = ClassLabels {
            class: class.to_owned(),
        };
        self.failed.get_or_create(&labels).inc();
    }
}
