//! The publisher alone between the fakes, for what no case can ask: its metrics, how often exactly it asks, and which permissions it
//! uses. Everything that a foreign publisher could be asked as well is a case.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use capacity_publisher::{CleanerOptions, Error, HttpOptions, LeaderElectionOptions, Options, Profile};
use fake_apiserver::{ApiServer, Authorization, LocalClient, ResourceRef, ServerOptions, User};
use fake_csi::{Code, DriverSpec, Effect, FakeDriver, Method, Rule};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

const DRIVER: &str = "disk.example.com";
const KEY: &str = "disk.example.com/node";
const NAMESPACE: &str = "csi";

/// What came by: commits as `<change> <resource>`, calls by method and code.
#[derive(Default)]
struct Seen {
    counts: Mutex<BTreeMap<String, usize>>,
    moved: Notify,
}

struct Watched(Arc<Seen>);

impl Watched {
    fn note(&self, what: String) {
        *self.0.counts.lock().entry(what).or_default() += 1;
        self.0.moved.notify_waiters();
    }
}

impl fake_apiserver::Observer for Watched {
    fn observe(&self, event: fake_apiserver::Event) {
        if let fake_apiserver::Event::Commit { change, resource, .. } = event {
            self.note(format!("{} {resource}", change.as_str()));
        }
    }
}

impl fake_csi::Observer for Watched {
    fn observe(&self, event: fake_csi::Event) {
        let code = event.outcome.err().map_or("OK", |failure| failure.code);
        self.note(format!("{} {code}", event.method.as_str()));
    }
}

/// A cluster with nodes and classes, and no publisher yet.
struct Cluster {
    seen: Arc<Seen>,
    api: ApiServer,
    admin: LocalClient,
    driver: FakeDriver,
    folder: tempfile::TempDir,
    server: fake_apiserver::Running,
    _driver: fake_csi::Running,
}

struct Publisher {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), Error>>,
}

impl Cluster {
    async fn start(nodes: usize, classes: usize, authorization: Authorization) -> Cluster {
        let seen = Arc::new(Seen::default());
        let options = ServerOptions {
            authorization,
            ..ServerOptions::default()
        };
        let api = ApiServer::new(options, Some(Arc::new(Watched(seen.clone()))));
        let spec = DriverSpec {
            topology_keys: vec![KEY.to_owned()],
            ..DriverSpec::new(DRIVER)
        };
        let driver = FakeDriver::new(spec, Some(Arc::new(Watched(seen.clone()))));
        let folder = tempfile::tempdir().unwrap();
        let listening = driver
            .listen(&folder.path().join("csi.sock"), None)
            .await
            .unwrap();
        let cluster = Cluster {
            seen,
            admin: api.client("administrator"),
            server: api.start().await.unwrap(),
            api,
            driver,
            folder,
            _driver: listening,
        };
        cluster.answer(
            Effect::Capacity {
                available: 1 << 30,
                maximum: None,
                minimum: None,
            },
            None,
        );
        cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
        (0..nodes).for_each(|node| cluster.create_node(node));
        (0..classes).for_each(|class| cluster.create_class(class));
        cluster
    }

    fn create(&self, object: Value) {
        self.admin.create(object).unwrap();
    }

    fn create_node(&self, number: usize) {
        let name = format!("n{number}");
        let driver = json!({"name": DRIVER, "nodeID": name, "topologyKeys": [KEY]});
        let metadata = json!({"name": name, "labels": {KEY: name}});
        self.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata}));
        self.create(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
            "metadata": {"name": name}, "spec": {"drivers": [driver]},
        }));
    }

    fn create_class(&self, number: usize) {
        self.create(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": format!("c{number}")},
            "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
        }));
    }

    fn answer(&self, effect: Effect, times: Option<u32>) {
        let rule = Rule {
            method: Method::GetCapacity,
            segment: None,
            parameters: BTreeMap::new(),
            skip: 0,
            times,
            effect,
        };
        self.driver.script(rule).unwrap();
    }

    fn options(&self) -> Options {
        Options {
            csi_address: self.folder.path().join("csi.sock"),
            enable_capacity: true,
            capacity_poll_interval: Duration::from_secs(3600),
            capacity_threads: 10,
            kube_api_capacity_qps: 0.0,
            retry_interval_start: Duration::from_millis(10),
            namespace: Some(NAMESPACE.to_owned()),
            ..Options::default()
        }
    }

    fn publish(&self, user: &str, options: Options) -> Publisher {
        let mut config = kube::Config::new(self.server.url().parse().unwrap());
        config.auth_info.token = Some(self.api.add_user(User::new(user)).into());
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(capacity_publisher::run(options, client, async {
            // A dropped sender stops it as well.
            let _ = stopped.await;
        }));
        Publisher { stop, task }
    }

    fn count(&self, what: &str) -> usize {
        self.seen.counts.lock().get(what).copied().unwrap_or(0)
    }

    async fn until(&self, done: impl Fn(&Cluster) -> bool) {
        let waiting = async {
            loop {
                let moved = self.seen.moved.notified();
                if done(self) {
                    return;
                }
                moved.await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        waited.unwrap_or_else(|_| panic!("it never came: {:?}", self.seen.counts.lock()));
    }

    async fn until_published(&self, objects: usize) {
        self.until(|cluster| cluster.count("ADDED csistoragecapacities") >= objects)
            .await;
        self.api.quiet().await;
        self.driver.quiet().await;
    }

    fn capacities(&self) -> ResourceRef {
        ResourceRef::new("storage.k8s.io", "csistoragecapacities").namespace(NAMESPACE)
    }
}

impl Publisher {
    async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap().unwrap();
    }
}

/// An address that was free a moment ago.
async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
}

fn served_at(address: SocketAddr) -> HttpOptions {
    HttpOptions {
        http_endpoint: Some(address),
        ..HttpOptions::default()
    }
}

/// Status line and body of a GET; the endpoint is waited for.
async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = loop {
        match TcpStream::connect(address).await {
            Ok(stream) => break stream,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (
        head.lines().next().unwrap_or_default().to_owned(),
        body.to_owned(),
    )
}

/// Waits until a series has that value: what was done a moment ago may not be counted yet.
async fn reads(address: SocketAddr, series: &str, expected: f64) {
    let reading = async { while value(&get(address, "/metrics").await.1, series) != Some(expected) {} };
    if tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .is_err()
    {
        panic!(
            "{series} is not {expected} in {}",
            get(address, "/metrics").await.1
        );
    }
}

/// The value of a series, by the text before the value.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    line.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_class_and_segment_is_asked_for_and_written_exactly_once_at_the_start() {
    let cluster = Cluster::start(5, 2, Authorization::AlwaysAllow).await;
    let publisher = cluster.publish("publisher", cluster.options());
    cluster.until_published(10).await;
    // Whatever was queued twice shows before this one, which comes after it.
    cluster.create_class(9);
    cluster.until_published(15).await;
    assert_eq!(cluster.count("GetCapacity OK"), 15);
    assert_eq!(cluster.count("ADDED csistoragecapacities"), 15);
    assert_eq!(cluster.count("DELETED csistoragecapacities"), 0);
    publisher.stop().await;
}

/// The series of GetCapacity calls that ended with a code.
fn calls(code: &str) -> String {
    let method = "/csi.v1.Controller/GetCapacity";
    format!(
        "csi_sidecar_operations_seconds_count{{driver_name=\"{DRIVER}\",method_name=\"{method}\",grpc_status_code=\"{code}\"}}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_tell_objects_calls_queues_and_ages_of_a_driver() {
    let cluster = Cluster::start(3, 2, Authorization::AlwaysAllow).await;
    cluster.answer(
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
        reads(
            address,
            &format!("csistoragecapacities_{name}{of_driver}"),
            expected,
        )
        .await;
    }
    reads(address, &calls("OK"), 6.0).await;
    reads(address, "workqueue_adds_total{name=\"csistoragecapacity\"}", 6.0).await;
    reads(address, "workqueue_depth{name=\"csistoragecapacity\"}", 0.0).await;
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
async fn failures_are_counted_by_their_code_and_the_upstream_profile_has_no_labels() {
    let cluster = Cluster::start(1, 1, Authorization::AlwaysAllow).await;
    cluster.driver.clear_script();
    cluster.answer(Effect::Code(Code::Unavailable, "scripted".to_owned()), Some(3));
    cluster.answer(
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
    reads(address, &calls("Unavailable"), 3.0).await;
    reads(
        address,
        "workqueue_retries_total{name=\"csistoragecapacity\"}",
        3.0,
    )
    .await;
    reads(address, "csistoragecapacities_desired_goal", 1.0).await;
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
    let refusal = fake_apiserver::Rule::new(
        fake_apiserver::Match {
            verbs: vec![fake_apiserver::Verb::Delete],
            ..Default::default()
        },
        fake_apiserver::Effect::Status {
            code: 500,
            retry_after_seconds: 0,
        },
    );
    let refused = cluster.api.perturb(refusal).unwrap();
    cluster
        .admin
        .delete(&ResourceRef::new("storage.k8s.io", "storageclasses").name("c0"))
        .unwrap();
    let of_driver = format!("{{driver_name=\"{DRIVER}\"}}");
    let obsolete = format!("csistoragecapacities_obsolete{of_driver}");
    reads(address, &obsolete, 3.0).await;
    cluster.api.unperturb(refused);
    cluster
        .until(|cluster| cluster.count("DELETED csistoragecapacities") == 3)
        .await;
    reads(address, &obsolete, 0.0).await;
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_gives_its_lease_back_and_the_next_one_adopts() {
    let cluster = Cluster::start(1, 1, Authorization::AlwaysAllow).await;
    let address = free_address().await;
    let elected = || Options {
        election: LeaderElectionOptions {
            enabled: true,
            namespace: Some(NAMESPACE.to_owned()),
            ..LeaderElectionOptions::default()
        },
        ..cluster.options()
    };
    let first = cluster.publish(
        "first",
        Options {
            http: served_at(address),
            ..elected()
        },
    );
    cluster.until_published(1).await;
    let (status, body) = get(address, "/healthz/leader-election").await;
    assert!(status.contains("200") && body.contains("ok"), "{status} {body}");
    let (_, text) = get(address, "/metrics").await;
    assert_eq!(
        value(&text, "leader_election_master_status{name=\"\"}"),
        Some(1.0),
        "{text}"
    );
    let place = ResourceRef::new("coordination.k8s.io", "leases")
        .namespace(NAMESPACE)
        .name("disk-example-com");
    let lease = cluster.admin.get(&place).unwrap();
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
    first.stop().await;
    assert_eq!(cluster.admin.get(&place).unwrap()["spec"]["holderIdentity"], "");
    // The lease lasts 15 s: only because it was given back, the next one need not wait for that.
    let second = cluster.publish("second", elected());
    cluster.create_class(1);
    cluster.until_published(2).await;
    assert_eq!(cluster.admin.get(&place).unwrap()["spec"]["leaseTransitions"], 1);
    assert_eq!(cluster.count("ADDED csistoragecapacities"), 2);
    second.stop().await;
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

/// Grants a user rules everywhere and rules in the publisher's namespace.
fn grant(cluster: &Cluster, user: &str, everywhere: Vec<Value>, here: Vec<Value>) {
    let subjects = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]);
    let version = "rbac.authorization.k8s.io/v1";
    for (kind, rules, namespace) in [("ClusterRole", everywhere, None), ("Role", here, Some(NAMESPACE))] {
        let metadata = json!({"name": user, "namespace": namespace});
        let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user});
        cluster.create(json!({"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules}));
        cluster.create(json!({
            "apiVersion": version, "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": reference, "subjects": subjects,
        }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_rules_are_enough_to_publish() {
    let cluster = Cluster::start(2, 1, Authorization::Rbac).await;
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let read = ["get", "list", "watch"];
    let everywhere = vec![
        rule("storage.k8s.io", "storageclasses", &read),
        rule("storage.k8s.io", "csinodes", &read),
        rule("", "nodes", &read),
        rule("", "persistentvolumeclaims", &["get", "list", "watch", "update"]),
        rule(
            "",
            "persistentvolumes",
            &["get", "list", "watch", "create", "patch", "delete"],
        ),
        rule("", "events", &["list", "watch", "create", "update", "patch"]),
    ];
    grant(
        &cluster,
        "publisher",
        everywhere,
        vec![rule("storage.k8s.io", "csistoragecapacities", &all)],
    );
    let publisher = cluster.publish("publisher", cluster.options());
    cluster.until_published(2).await;
    cluster
        .admin
        .delete(&ResourceRef::new("storage.k8s.io", "storageclasses").name("c0"))
        .unwrap();
    cluster
        .until(|cluster| cluster.count("DELETED csistoragecapacities") == 2)
        .await;
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cleaner_needs_csinodes_and_objects_and_no_socket() {
    let cluster = Cluster::start(1, 1, Authorization::Rbac).await;
    let object = |node: &str| {
        let labels = json!({
            "csi.storage.k8s.io/drivername": DRIVER,
            "csi.storage.k8s.io/managed-by": format!("external-provisioner-{node}"),
        });
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": format!("of-{node}"), "namespace": NAMESPACE, "labels": labels},
            "storageClassName": "c0", "capacity": "1Gi", "nodeTopology": {"matchLabels": {KEY: node}},
        })
    };
    cluster.create(object("n0"));
    cluster.create(object("gone"));
    let csi_nodes = rule("storage.k8s.io", "csinodes", &["list", "watch"]);
    let objects = rule("storage.k8s.io", "csistoragecapacities", &["list", "delete"]);
    grant(&cluster, "cleaner", vec![csi_nodes], vec![objects]);
    let options = Options {
        kube_api_capacity_qps: 0.0,
        namespace: Some(NAMESPACE.to_owned()),
        cleaner: CleanerOptions {
            clean_orphans: true,
            driver_name: Some(DRIVER.to_owned()),
            orphan_after: Duration::from_millis(50),
        },
        ..Options::default()
    };
    let cleaner = cluster.publish("cleaner", options);
    cluster
        .until(|cluster| cluster.count("DELETED csistoragecapacities") == 1)
        .await;
    let left = cluster.admin.list(&cluster.capacities()).unwrap().items;
    let names: BTreeSet<&str> = left
        .iter()
        .filter_map(|object| object["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, BTreeSet::from(["of-n0"]), "the driver is on n0");
    cleaner.stop().await;
}
