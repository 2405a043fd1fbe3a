//! Replays recordings of external-provisioner in small random clusters: the reference publisher with the profile `upstream` must leave the
//! same objects.
//!
//! The recordings in `fixtures/worlds` were made with external-provisioner (after v6.3.0) and kube-apiserver 1.36. Replays them, and every
//! `worlds.json` below the folder in the variable `WORLDS`. A recording contains the initial objects, the driver's responses, and one
//! change while the publisher runs; `after` contains all objects of the namespace, once the publisher is idle before and after the change.
//! Generated names are recorded as `csisc-`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use capacity_publisher::{Options, Profile};
use capacity_types::{Segment, segment};
use fake_apiserver::{ApiServer, LocalClient, ResourceRef, ServerOptions};
use fake_csi::{DriverSpec, Effect, FakeDriver, Method, NodeIdentity, Rule};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::recorded_worlds::{Node, RecordedCapacity, RecordedCluster, Recording, Step};
use crate::recordings;

/// Number of concurrent clusters; may exceed the cores, because clusters mostly wait.
const CONCURRENCY: usize = 16;

/// Timeout for reaching the recorded state of the capacity objects.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Duration without any observed fact after which the cluster counts as idle.
const IDLE_TIME: Duration = Duration::from_millis(50);

/// Counts the facts that fake API server and driver observe, and records the GetCapacity calls.
#[derive(Default)]
struct ObservedFacts {
    moves: AtomicU64,
    get_capacity_calls: parking_lot::Mutex<BTreeSet<String>>,
}

struct ApiCounter(Arc<ObservedFacts>);

impl fake_apiserver::Observer for ApiCounter {
    fn observe(&self, _: fake_apiserver::Event) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
    }
}

struct CsiCounter(Arc<ObservedFacts>);

impl fake_csi::Observer for CsiCounter {
    fn observe(&self, event: fake_csi::Event) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
        if event.method == Method::GetCapacity {
            let segment = event.segment.unwrap_or_default();
            self.0
                .get_capacity_calls
                .lock()
                .insert(format(&segment, &event.parameters));
        }
    }
}

struct Replay<'w> {
    world: &'w RecordedCluster,
    recording: &'w Recording,
    seen: Arc<ObservedFacts>,
    api: ApiServer,
    admin: LocalClient,
    driver: FakeDriver,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_profile_leaves_the_same_objects_as_external_provisioner() {
    for (path, recording) in recordings::read::<Recording>("worlds", "WORLDS", "worlds.json") {
        assert!(
            !recording.worlds.is_empty(),
            "{} contains no recording",
            path.display()
        );
        let total = recording.worlds.len();
        let differences = replay_all(Arc::new(recording)).await;
        let (wrong, differences) = (differences.len(), differences.join("\n"));
        assert!(
            wrong == 0,
            "{}: {wrong} of {total} differ:\n{differences}",
            path.display()
        );
    }
}

/// Replays all clusters of a recording, and returns the differences, each with the name of its cluster.
async fn replay_all(recording: Arc<Recording>) -> Vec<String> {
    let permits = Arc::new(Semaphore::new(CONCURRENCY));
    let replays: Vec<_> = (0..recording.worlds.len())
        .map(|index| {
            let (recording, permits) = (Arc::clone(&recording), Arc::clone(&permits));
            tokio::spawn(async move {
                let _permit = permits.acquire_owned().await.unwrap();
                let world = &recording.worlds[index];
                let difference = replay(&recording, world).await;
                difference.map(|difference| format!("{} ({}): {difference}", world.name, world.mode))
            })
        })
        .collect();
    let mut differences = Vec::new();
    for replay in replays {
        differences.extend(replay.await.unwrap());
    }
    differences
}

/// Replays one recorded cluster. Returns the first difference between replay and recording; `None` if they are equal.
async fn replay(recording: &Recording, world: &RecordedCluster) -> Option<String> {
    assert_eq!(
        world.after.len(),
        world.steps.len() + 1,
        "{} is incomplete",
        world.name
    );
    let replay = Replay::new(recording, world);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("csi.sock");
    let identity = world.node.as_ref().map(|node| NodeIdentity {
        node_id: node.clone(),
        segment: world.segment.clone().unwrap_or_default(),
    });
    let _driver = replay.driver.listen(&socket, identity).await.unwrap();
    let server = replay.api.start().await.unwrap();
    let mut config = kube::Config::new(server.url().parse().unwrap());
    config.auth_info.token = Some(replay.api.add_client("publisher").into());
    config.default_retry = false;
    let client = kube::Client::try_from(config).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let publisher = tokio::spawn(capacity_publisher::run(replay.options(socket), client, async {
        // The publisher stops when the sender is dropped: `stopped.await` then returns an error.
        let _ = stopped.await;
    }));
    let mut difference = replay
        .difference_once_idle(&world.after[0])
        .await
        .map(|text| format!("at first, {text}"));
    for (step, after) in world.steps.iter().zip(&world.after[1..]) {
        if difference.is_none() {
            replay.act(step);
            difference = replay
                .difference_once_idle(after)
                .await
                .map(|text| format!("after the change, {text}"));
        }
    }
    drop(stop);
    let alive = publisher.await.is_ok_and(|ended| ended.is_ok());
    server.stop().await;
    let calls = replay.seen.get_capacity_calls.lock().clone();
    difference
        .or_else(|| {
            (alive != world.alive).then(|| format!("the publisher is alive: {alive}, not {}", world.alive))
        })
        .or_else(|| {
            (calls != world.get_capacity_calls)
                .then(|| format!("GetCapacity calls: {calls:?}, not {:?}", world.get_capacity_calls))
        })
}

impl RecordedCluster {
    /// Every segment that a node has at the start or after a step.
    fn segments(&self) -> BTreeSet<Segment> {
        let mut nodes: Vec<(BTreeMap<String, String>, Vec<String>)> = Vec::new();
        let created = self.steps.iter().filter_map(|step| match step {
            Step::CreateNode(node) => Some(node),
            _ => None,
        });
        for node in self.nodes.iter().chain(created) {
            let keys = node.topology_keys.clone().unwrap_or_default();
            nodes.push((node.labels.clone(), keys.clone()));
            for step in &self.steps {
                if let Step::Relabel { node: name, labels } = step
                    && *name == node.name
                {
                    let labels = node.labels.clone().into_iter().chain(labels.clone()).collect();
                    nodes.push((labels, keys.clone()));
                }
            }
        }
        let segment = |(labels, keys): &(BTreeMap<String, String>, Vec<String>)| {
            keys.iter()
                .map(|key| Some((key.clone(), labels.get(key)?.clone())))
                .collect::<Option<Segment>>()
        };
        nodes
            .iter()
            .filter_map(segment)
            .chain(self.segment.clone())
            .collect()
    }
}

impl<'w> Replay<'w> {
    fn new(recording: &'w Recording, world: &'w RecordedCluster) -> Self {
        let seen = Arc::new(ObservedFacts::default());
        let api = ApiServer::new(ServerOptions::default(), Some(Arc::new(ApiCounter(seen.clone()))));
        let spec = DriverSpec {
            // Any topology key suffices: each node registers its own keys. Without keys, the publisher would omit the topology in calls.
            topology_keys: vec!["topology.example.com/zone".to_owned()],
            ..DriverSpec::new(recording.driver.clone())
        };
        let driver = FakeDriver::new(spec, Some(Arc::new(CsiCounter(seen.clone()))));
        let admin = api.client("administrator");
        let replay = Replay {
            world,
            recording,
            seen,
            api,
            admin,
            driver,
        };
        replay.add_rules();
        for node in &world.nodes {
            replay.create_node(node);
        }
        for class in &world.classes {
            replay.create("StorageClass", None, class.clone());
        }
        for object in &world.objects {
            replay.create("CSIStorageCapacity", Some(&recording.namespace), object.clone());
        }
        replay
    }

    fn options(&self, socket: PathBuf) -> Options {
        Options {
            csi_address: socket,
            enable_capacity: true,
            profile: Profile::Upstream,
            node_deployment: self.world.mode == "distributed",
            node_name: self.world.node.clone(),
            namespace: Some(self.recording.namespace.clone()),
            // The publisher does not poll during the run, as in the recordings.
            capacity_poll_interval: Duration::from_secs(3600),
            kube_api_capacity_qps: 0.0,
            ..Options::default()
        }
    }

    /// Adds a driver rule for every possible segment. Each segment needs its own rule: a rule for a coarser segment also matches finer
    /// segments.
    fn add_rules(&self) {
        let nothing = RecordedCapacity {
            available: 0,
            maximum: None,
        };
        let kinds: BTreeSet<&str> = self
            .world
            .answers
            .keys()
            .filter_map(|key| Some(key.split_once('|')?.1))
            .collect();
        let mut answers = self.world.answers.clone();
        for segment in self.world.segments() {
            for kind in &kinds {
                let parameters = [("kind".to_owned(), (*kind).to_owned())].into();
                answers.entry(format(&segment, &parameters)).or_insert(nothing);
            }
        }
        let mut rules: Vec<Rule> = answers
            .iter()
            .map(|(key, capacity)| rule(key, *capacity))
            .collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.segment.as_ref().map_or(0, BTreeMap::len)));
        rules.push(Rule {
            segment: None,
            parameters: BTreeMap::new(),
            ..rule("|", nothing)
        });
        for rule in rules {
            self.driver.add_rule(rule).unwrap();
        }
    }

    fn act(&self, step: &Step) {
        let storage = |resource: &str| ResourceRef::new("storage.k8s.io", resource);
        match step {
            Step::CreateNode(node) => self.create_node(node),
            Step::CreateClass(class) => self.create("StorageClass", None, class.clone()),
            Step::DeleteClass(name) => self.admin.delete(&storage("storageclasses").name(name)).unwrap(),
            Step::DeleteObjects(all) => {
                assert!(all, "the recording does not list the selected objects");
                self.admin.delete_collection(&self.capacities()).unwrap();
            }
            Step::Relabel { node, labels } => {
                let merge = json!({"metadata": {"labels": labels}});
                self.admin
                    .patch_merge(&ResourceRef::core("nodes").name(node), merge)
                    .unwrap();
            }
            Step::Unregister(node) => {
                let merge = json!({"spec": {"drivers": []}});
                self.admin
                    .patch_merge(&storage("csinodes").name(node), merge)
                    .unwrap();
            }
        }
    }

    fn create_node(&self, node: &Node) {
        self.create("Node", None, json!({"name": node.name, "labels": node.labels}));
        let drivers: Vec<Value> = node
            .topology_keys
            .iter()
            .map(|keys| json!({"name": self.recording.driver, "nodeID": node.name, "topologyKeys": keys}))
            .collect();
        self.create(
            "CSINode",
            None,
            json!({"name": node.name, "spec": {"drivers": drivers}}),
        );
    }

    /// Creates an API object. Recordings contain name and labels at the top level, instead of in `metadata`.
    fn create(&self, kind: &str, namespace: Option<&str>, mut object: Value) {
        let mut metadata = json!({"name": object["name"]});
        if let Some(namespace) = namespace {
            metadata["namespace"] = namespace.into();
        }
        let fields = object.as_object_mut().unwrap();
        fields.remove("name");
        if let Some(labels) = fields.remove("labels") {
            metadata["labels"] = labels;
        }
        fields.insert("metadata".to_owned(), metadata);
        fields.insert("kind".to_owned(), kind.into());
        let version = if kind == "Node" { "v1" } else { "storage.k8s.io/v1" };
        fields.insert("apiVersion".to_owned(), version.into());
        self.admin.create(object).unwrap();
    }

    fn capacities(&self) -> ResourceRef {
        ResourceRef::new("storage.k8s.io", "csistoragecapacities").namespace(&self.recording.namespace)
    }

    /// The difference between the expected objects and the capacity objects once the publisher is idle; `None` if they are equal.
    async fn difference_once_idle(&self, expected: &[Value]) -> Option<String> {
        let deadline = Instant::now() + TIMEOUT;
        let expected = sorted(expected.to_vec());
        loop {
            self.settle().await;
            let objects = self.admin.list(&self.capacities()).unwrap().items;
            let found = sorted(objects.iter().map(|object| as_recorded(object)).collect());
            if found == expected {
                return None;
            }
            if Instant::now() > deadline {
                let rows = |objects: &[Value]| {
                    objects
                        .iter()
                        .map(|row| format!("\n    {row}"))
                        .collect::<String>()
                };
                return Some(format!("there is{}\n  and not{}", rows(&found), rows(&expected)));
            }
        }
    }

    /// Waits until no request is in flight and no fact was recorded for `IDLE_TIME`.
    async fn settle(&self) {
        loop {
            self.api.quiet().await;
            self.driver.wait_until_idle().await;
            let before = self.seen.moves.load(Ordering::Relaxed);
            // Nothing signals that the publisher is idle, so the test waits for some time without facts.
            sleep(IDLE_TIME).await;
            if self.seen.moves.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}

/// A rule of the fake driver that returns the recorded capacity. `key`: segment and StorageClass parameter, as `key=value,…|kind`.
fn rule(key: &str, capacity: RecordedCapacity) -> Rule {
    let (segment, kind) = key.split_once('|').unwrap();
    Rule {
        method: Method::GetCapacity,
        segment: Some(segment::parse(segment).unwrap()),
        parameters: [("kind".to_owned(), kind.to_owned())].into(),
        skip: 0,
        times: None,
        effect: Effect::Capacity {
            available: capacity.available,
            maximum: capacity.maximum,
            minimum: None,
        },
    }
}

/// Formats a segment and StorageClass parameters as in the recordings: `key=value,…|kind`.
fn format(segment: &Segment, parameters: &BTreeMap<String, String>) -> String {
    let kind = parameters.get("kind").map_or("", String::as_str);
    format!("{}|{kind}", segment::format(segment))
}

/// Converts an API object to the form of the recordings, with name and labels at the top level.
fn as_recorded(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let generated = metadata.get("generateName").is_some();
    let name = if generated {
        &metadata["generateName"]
    } else {
        &metadata["name"]
    };
    let mut row = json!({"name": name, "labels": metadata.get("labels").unwrap_or(&json!({}))});
    for field in [
        "storageClassName",
        "nodeTopology",
        "capacity",
        "maximumVolumeSize",
    ] {
        if let Some(value) = object.get(field) {
            row[field] = value.clone();
        }
    }
    if let Some(owners) = metadata.get("ownerReferences") {
        row["ownerReferences"] = owners.clone();
    }
    row
}

/// Sorts objects by their JSON text, in which the keys of maps are sorted.
fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(Value::to_string);
    objects
}
