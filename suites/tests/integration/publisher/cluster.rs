//! A cluster of fake API server and fake driver, in which tests start publishers. Checks nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use capacity_publisher::{Error, HttpOptions, Options};
use csi_proto::v1::controller_client::ControllerClient;
use fake_apiserver::{ApiServer, Authorization, LocalClient, ResourceRef, ServerOptions, User};
use fake_csi::{DriverSpec, Effect, FakeDriver, Method, NodeIdentity, Rule, Segment};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

pub(crate) const DRIVER: &str = "disk.example.com";
pub(crate) const KEY: &str = "disk.example.com/node";
pub(crate) const NAMESPACE: &str = "csi";

/// Number of observed facts of each kind, such as `ADDED csistoragecapacities` for a change of an object, or `GetCapacity OK` for a CSI
/// call.
#[derive(Default)]
pub(crate) struct ObservedFacts {
    pub(crate) counts: Mutex<BTreeMap<String, usize>>,
    /// Kinds of API requests by user, as `<verb> <group>/<resource>`.
    used: Mutex<BTreeSet<(Arc<str>, String)>>,
    pub(crate) moved: Notify,
}

impl ObservedFacts {
    /// All kinds of API requests that a user sent, as `<verb> <group>/<resource>`.
    pub(crate) fn used_by(&self, user: &str) -> BTreeSet<String> {
        let used = self.used.lock();
        let own = used.iter().filter(|(client, _)| **client == *user);
        own.map(|(_, kind)| kind.clone()).collect()
    }
}

pub(crate) struct CountingObserver(Arc<ObservedFacts>);

impl CountingObserver {
    fn note(&self, what: String) {
        *self.0.counts.lock().entry(what).or_default() += 1;
        self.0.moved.notify_waiters();
    }
}

impl fake_apiserver::Observer for CountingObserver {
    fn observe(&self, event: fake_apiserver::Event) {
        match event {
            fake_apiserver::Event::Commit { change, resource, .. } => {
                self.note(format!("{} {resource}", change.as_str()));
            }
            fake_apiserver::Event::Request {
                client,
                verb,
                code,
                resource: Some(path),
                ..
            } => {
                let kind = format!("{} {}/{}", verb.as_str(), path.group, path.resource);
                self.0.used.lock().insert((client, kind));
                if code == 403 {
                    self.note(format!("refused {}", path.resource));
                }
            }
            _ => {}
        }
    }
}

impl fake_csi::Observer for CountingObserver {
    fn observe(&self, event: fake_csi::Event) {
        let code = event.outcome.err().map_or("OK", |failure| failure.code);
        let method = event.method.as_str();
        if event.method == Method::GetCapacity && event.segment.is_none() {
            self.note(format!("{method} without topology"));
        }
        self.note(format!("{method} {code}"));
    }
}

/// A cluster with nodes and classes, without a publisher.
pub(crate) struct Cluster {
    pub(crate) seen: Arc<ObservedFacts>,
    pub(crate) api: ApiServer,
    pub(crate) admin: LocalClient,
    pub(crate) driver: FakeDriver,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: fake_apiserver::Running,
    _driver: fake_csi::Running,
}

pub(crate) struct Publisher {
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) task: JoinHandle<Result<(), Error>>,
}

impl Cluster {
    pub(crate) async fn start(nodes: usize, classes: usize, authorization: Authorization) -> Cluster {
        Cluster::with_keys(&[KEY], nodes, classes, authorization).await
    }

    /// Creates a cluster whose driver has these topology keys and runs on node `n0`.
    pub(crate) async fn with_keys(
        keys: &[&str],
        nodes: usize,
        classes: usize,
        authorization: Authorization,
    ) -> Cluster {
        let seen = Arc::new(ObservedFacts::default());
        let options = ServerOptions {
            authorization,
            ..ServerOptions::default()
        };
        let api = ApiServer::new(options, Some(Arc::new(CountingObserver(seen.clone()))));
        let spec = DriverSpec {
            topology_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            ..DriverSpec::new(DRIVER)
        };
        let driver = FakeDriver::new(spec, Some(Arc::new(CountingObserver(seen.clone()))));
        let folder = tempfile::tempdir().unwrap();
        let node = NodeIdentity {
            node_id: "n0".to_owned(),
            segment: segment(keys, "n0"),
        };
        let listening = driver
            .listen(&folder.path().join("csi.sock"), Some(node))
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
        cluster.script_get_capacity(
            Effect::Capacity {
                available: 1 << 30,
                maximum: None,
                minimum: None,
            },
            None,
        );
        cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
        (0..nodes).for_each(|node| cluster.create_node(keys, node));
        (0..classes).for_each(|class| cluster.create_class(class));
        cluster
    }

    pub(crate) fn create(&self, object: Value) {
        self.admin.create(object).unwrap();
    }

    pub(crate) fn create_node(&self, keys: &[&str], number: usize) {
        let name = format!("n{number}");
        let driver = json!({"name": DRIVER, "nodeID": name, "topologyKeys": keys});
        let metadata = json!({"name": name, "labels": segment(keys, &name)});
        self.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata}));
        self.create(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
            "metadata": {"name": name}, "spec": {"drivers": [driver]},
        }));
    }

    pub(crate) fn create_class(&self, number: usize) {
        self.create(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": format!("c{number}")},
            "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
        }));
    }

    pub(crate) fn script_get_capacity(&self, effect: Effect, times: Option<u32>) {
        let rule = Rule {
            method: Method::GetCapacity,
            segment: None,
            parameters: BTreeMap::new(),
            skip: 0,
            times,
            effect,
        };
        self.driver.add_rule(rule).unwrap();
    }

    pub(crate) fn options(&self) -> Options {
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

    pub(crate) fn publish(&self, user: &str, options: Options) -> Publisher {
        let client = self.client(user);
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(capacity_publisher::run(options, client, async {
            // The publisher stops when the sender is dropped: `stopped.await` then returns an error.
            let _ = stopped.await;
        }));
        Publisher { stop, task }
    }

    pub(crate) fn client(&self, user: &str) -> kube::Client {
        let mut config = kube::Config::new(self.server.url().parse().unwrap());
        config.auth_info.token = Some(self.api.add_user(User::new(user)).into());
        config.default_retry = false;
        // Without an empty list, the client would load the CA certificates of the system, which plain HTTP does not need.
        config.root_cert = Some(Vec::new());
        kube::Client::try_from(config).unwrap()
    }

    /// A CSI client of the driver, for calls by a client other than the publisher.
    pub(crate) async fn controller(&self) -> ControllerClient<Channel> {
        let address = format!("unix:{}", self.folder.path().join("csi.sock").display());
        let endpoint = Endpoint::from_shared(address).unwrap();
        ControllerClient::new(endpoint.connect().await.unwrap())
    }

    /// The resources of requests that RBAC denied, as `refused <resource>`.
    pub(crate) fn denied_requests(&self) -> Vec<String> {
        let counts = self.seen.counts.lock();
        counts
            .keys()
            .filter(|what| what.starts_with("refused "))
            .cloned()
            .collect()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.seen.counts.lock().get(what).copied().unwrap_or(0)
    }

    pub(crate) async fn until(&self, done: impl Fn(&Cluster) -> bool) {
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

    pub(crate) async fn until_published(&self, objects: usize) {
        self.until(|cluster| cluster.count("ADDED csistoragecapacities") >= objects)
            .await;
        self.api.quiet().await;
        self.driver.wait_until_idle().await;
    }

    pub(crate) fn capacities(&self) -> ResourceRef {
        ResourceRef::new("storage.k8s.io", "csistoragecapacities").namespace(NAMESPACE)
    }
}

impl Publisher {
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap().unwrap();
    }
}

pub(crate) fn segment(keys: &[&str], value: &str) -> Segment {
    let pair = |key: &&str| ((*key).to_owned(), value.to_owned());
    keys.iter().map(pair).collect()
}

pub(crate) async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
}

pub(crate) fn served_at(address: SocketAddr) -> HttpOptions {
    HttpOptions {
        http_endpoint: Some(address),
        ..HttpOptions::default()
    }
}

/// Sends a GET to an HTTP endpoint, and returns status line and body. Waits until the endpoint exists.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (String, String) {
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

/// Waits until a metrics series has this value. The publisher counts an event some time after the test observed it.
pub(crate) async fn wait_for_value(address: SocketAddr, series: &str, expected: f64) {
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

/// The value of a metrics series in the text format. `series`: the part of the line before the value.
pub(crate) fn value(text: &str, series: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    line.parse().ok()
}
