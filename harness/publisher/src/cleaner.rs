//! The cleaner: deletes CSIStorageCapacity objects of distributed instances whose node no longer runs the driver. Neither garbage
//! collection nor the instances on other nodes delete them (KEP-1472, "without central controller"). Needs no driver socket, and publishes
//! nothing.
//!
//! An instance is identified by the value of its managed-by label. It counts as absent from the time at which this process first observed
//! its absence, and its objects are deleted after an uninterrupted absence of `--orphan-after`. Watch events may be delayed, so the nodes
//! are listed again before a deletion.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    time::Duration,
};

use capacity_client::ExponentialBackoff;
use capacity_types::{DRIVER_LABEL, Labels, MANAGED_BY_LABEL, segment};
use futures::future::FutureExt;
use k8s_openapi::api::{
    core::v1::Node,
    storage::v1::{CSINode, CSIStorageCapacity},
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Preconditions},
    runtime::watcher,
};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::{
    Dialect, Options,
    capacity::{CapacityClient, ManagedBy, segment_of},
    cluster::registration,
    http::Health,
    status::{brief, is_not_found},
    topology::Registration,
    watch::{Change, InitialSync, list_and_watch},
};

/// Minimum number of lists of CSIStorageCapacity objects per `--orphan-after` period.
const LISTS_PER_ABSENCE: u32 = 5;

/// Maximum time between two lists of CSIStorageCapacity objects.
const LIST_PERIOD_MAX: Duration = Duration::from_secs(60);

/// Deletes the orphaned objects of one driver.
struct Cleaner {
    client: Client,
    driver: String,
    orphan_after: Duration,
    capacities: CapacityClient,
    nodes: Mutex<Nodes>,
    changed: Notify,
    initial_sync: InitialSync,
    dialect: Dialect,
}

#[derive(Debug, Default)]
struct Nodes {
    /// Nodes whose CSINode lists the driver.
    registered: BTreeSet<String>,
    /// Labels of the existing Node objects, by name.
    existing: BTreeMap<String, Labels>,
    /// Whether Node objects could be listed. False without RBAC permission; then only CSINodes are used.
    listed: bool,
}

/// Publisher instances without the driver on their node, each with the time of the first such observation.
#[derive(Debug, Default)]
struct Absences(BTreeMap<String, Instant>);

pub(crate) async fn run(
    options: &Options,
    client: &Client,
    publishing: &Client,
    health: &Health,
) -> Infallible {
    let cleaner = Cleaner {
        client: client.clone(),
        driver: options.cleaner.driver_name.clone().unwrap_or_default(),
        orphan_after: options.cleaner.orphan_after,
        capacities: CapacityClient::new(
            publishing.clone(),
            options.namespace.as_deref().unwrap_or_default(),
            options,
        ),
        nodes: Mutex::default(),
        changed: Notify::new(),
        initial_sync: InitialSync::new(1),
        dialect: options.dialect,
    };
    tracing::info!(driver = cleaner.driver, orphan_after = ?cleaner.orphan_after, "deleting objects of instances whose node no longer runs the driver");
    let backoff = options.backoff();
    let nodes_sync = InitialSync::new(1);
    let csi_nodes = list_and_watch(
        Api::all(client.clone()),
        watcher::Config::default(),
        backoff,
        &cleaner.initial_sync,
        |change| cleaner.csi_node_changed(&change),
    );
    let nodes = list_and_watch(
        Api::all(client.clone()),
        watcher::Config::default(),
        backoff,
        &nodes_sync,
        |change| cleaner.node_changed(&change),
    );
    let has_nodes = !cleaner.dialect.csi_nodes_alone;
    tokio::select! {
        biased;
        never = csi_nodes => never,
        never = nodes, if has_nodes => never,
        never = cleaner.clean(backoff, health).boxed() => never,
    }
}

impl Cleaner {
    fn csi_node_changed(&self, change: &Change<CSINode>) {
        let mut nodes = self.nodes.lock();
        match change {
            Change::Applied(node) if matches!(registration(node, &self.driver), Registration::Keys(_)) => {
                nodes.registered.insert(node.name_any());
            }
            Change::Applied(node) | Change::Deleted(node) => {
                nodes.registered.remove(&node.name_any());
            }
            Change::Listed => {}
        }
        drop(nodes);
        self.changed.notify_one();
    }

    fn node_changed(&self, change: &Change<Node>) {
        let mut nodes = self.nodes.lock();
        match change {
            Change::Applied(node) => {
                nodes.existing.insert(node.name_any(), node.labels().clone());
            }
            Change::Deleted(node) => {
                nodes.existing.remove(&node.name_any());
            }
            Change::Listed => nodes.listed = true,
        }
        drop(nodes);
        self.changed.notify_one();
    }

    async fn clean(&self, backoff: ExponentialBackoff, health: &Health) -> Infallible {
        self.initial_sync.wait().await;
        health.set_ready();
        let period = (self.orphan_after / LISTS_PER_ABSENCE).min(LIST_PERIOD_MAX);
        let (mut absences, mut failures) = (Absences::default(), 0);
        loop {
            let changed = self.changed.notified();
            let wake = match self.clean_once(&mut absences).await {
                Ok(due) => {
                    failures = 0;
                    let regular = Instant::now() + period;
                    due.map_or(regular, |due| due.min(regular))
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(
                        error = brief(&error),
                        "orphaned objects could not be deleted; retrying with backoff"
                    );
                    sleep_until(Instant::now() + backoff.delay(failures)).await;
                    continue;
                }
            };
            let is_regular = self.dialect.regular_checks;
            let wake = if is_regular { Instant::now() + period } else { wake };
            tokio::select! {
                biased;
                () = changed, if !is_regular => {}
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Lists the objects and deletes those that have been orphaned long enough. Returns the time at which the next objects can be deleted.
    async fn clean_once(&self, absences: &mut Absences) -> kube::Result<Option<Instant>> {
        let selector = format!("{DRIVER_LABEL}={}", self.driver);
        let objects = self
            .capacities
            .list(&ListParams::default().labels(&selector))
            .await?;
        let mut by_instance: HashMap<String, Vec<CSIStorageCapacity>> = HashMap::new();
        for object in objects {
            if let Some(instance) = object
                .labels()
                .get(MANAGED_BY_LABEL)
                .filter(|name| ManagedBy::is_distributed_instance(name))
            {
                by_instance.entry(instance.clone()).or_default().push(object);
            }
        }
        let absent = {
            let nodes = self.nodes.lock();
            let alive = nodes.instances(&self.driver);
            let absent = by_instance.iter().filter(|(instance, objects)| {
                !alive.contains(*instance) && !objects.iter().any(|object| nodes.may_publish(object))
            });
            absent.map(|(instance, _)| instance.clone()).collect()
        };
        absences.replace_absent(absent, Instant::now());
        let due = absences.orphaned_instances(self.orphan_after, Instant::now());
        let present = match due.is_empty() {
            true => BTreeSet::new(),
            false => self.list_instances().await?,
        };
        for instance in due.into_iter().filter(|instance| !present.contains(instance)) {
            let objects = by_instance.get(&instance).map(Vec::as_slice).unwrap_or_default();
            self.delete_instance_objects(&instance, objects).await?;
        }
        Ok(absences.next_due_time(self.orphan_after, Instant::now()))
    }

    /// Lists CSINodes and Nodes, because watch events may be delayed, and returns the instances on nodes that run the driver.
    async fn list_instances(&self) -> kube::Result<BTreeSet<String>> {
        let listed = self.nodes.lock().listed;
        let mut nodes = Nodes {
            listed,
            ..Nodes::default()
        };
        let csi_nodes: Api<CSINode> = Api::all(self.client.clone());
        for node in csi_nodes.list(&ListParams::default()).await? {
            if matches!(registration(&node, &self.driver), Registration::Keys(_)) {
                nodes.registered.insert(node.name_any());
            }
        }
        if listed {
            let existing: Api<Node> = Api::all(self.client.clone());
            let existing = existing.list_metadata(&ListParams::default()).await?;
            nodes.existing = existing
                .iter()
                .map(|node| (node.name_any(), node.labels().clone()))
                .collect();
        }
        Ok(nodes.instances(&self.driver))
    }

    /// Deletes the objects of an instance. Each deletion may take long, so the loop stops if the node runs the driver again.
    async fn delete_instance_objects(
        &self,
        instance: &str,
        objects: &[CSIStorageCapacity],
    ) -> kube::Result<()> {
        tracing::info!(
            instance,
            "the node no longer runs the driver; deleting the objects of this instance"
        );
        for object in objects {
            if self.runs_driver_again(instance) {
                tracing::info!(
                    instance,
                    "the node runs the driver again; the remaining objects are not deleted"
                );
                break;
            }
            self.delete(object).await?;
        }
        Ok(())
    }

    fn runs_driver_again(&self, instance: &str) -> bool {
        let alive = self.nodes.lock().instances(&self.driver);
        alive.contains(instance)
    }

    /// Deletes an object with UID and resource version as preconditions, so that a recreated or modified object is not deleted.
    async fn delete(&self, object: &CSIStorageCapacity) -> kube::Result<()> {
        let preconditions = Preconditions {
            uid: object.uid(),
            resource_version: object.resource_version(),
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        match self.capacities.delete(&object.name_any(), &parameters).await {
            Err(error) if is_not_found(&error) => Ok(()),
            result => result,
        }
    }
}

impl Nodes {
    /// The managed-by values of the instances on nodes that run the driver.
    fn instances(&self, driver: &str) -> BTreeSet<String> {
        let exists = |node: &&String| !self.listed || self.existing.contains_key(*node);
        let registered = self.registered.iter().filter(exists);
        registered
            .map(|node| ManagedBy::new(driver, Some(node)).instance)
            .collect()
    }

    /// Whether the object may belong to a registered node whose name is too long for a label. KEP-1472 does not define how a publisher
    /// shortens the managed-by value of such a node, so the object's topology is compared with the labels of these nodes.
    fn may_publish(&self, object: &CSIStorageCapacity) -> bool {
        let Some(segment) = segment_of(object) else {
            return false;
        };
        let long = self
            .registered
            .iter()
            .filter(|node| ManagedBy::is_shortened(node));
        let mut labels = long.filter_map(|node| self.existing.get(node));
        labels.any(|labels| segment::contains(labels, &segment))
    }
}

impl Absences {
    /// Replaces the set of absent instances. An instance that was present for a while starts a new period of absence.
    fn replace_absent(&mut self, absent: BTreeSet<String>, now: Instant) {
        self.0.retain(|instance, _| absent.contains(instance));
        for instance in absent {
            self.0.entry(instance).or_insert(now);
        }
    }

    /// The instances that have been absent for at least `after`, so that their objects may be deleted.
    fn orphaned_instances(&self, after: Duration, now: Instant) -> Vec<String> {
        let due = self.0.iter().filter(|(_, since)| now >= **since + after);
        due.map(|(instance, _)| instance.clone()).collect()
    }

    /// The earliest time after `now` at which an instance will have been absent for `after`.
    fn next_due_time(&self, after: Duration, now: Instant) -> Option<Instant> {
        let times = self.0.values().map(|since| *since + after);
        times.filter(|time| *time > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::TestServer;

    const T: Duration = Duration::from_secs(30);

    fn absent(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn seconds_after(begin: Instant, seconds: u64) -> Instant {
        begin + Duration::from_secs(seconds)
    }

    #[test]
    fn objects_are_due_after_orphan_after_and_not_before() {
        let (mut absences, begin) = (Absences::default(), Instant::now());
        absences.replace_absent(absent(&["a"]), begin);
        absences.replace_absent(absent(&["a"]), seconds_after(begin, 29));
        assert_eq!(
            absences.orphaned_instances(T, seconds_after(begin, 29)),
            Vec::<String>::new()
        );
        assert_eq!(
            absences.next_due_time(T, seconds_after(begin, 29)),
            Some(seconds_after(begin, 30))
        );
        assert_eq!(absences.orphaned_instances(T, seconds_after(begin, 31)), ["a"]);
    }

    #[test]
    fn a_returned_instance_starts_a_new_absence() {
        let (mut absences, begin) = (Absences::default(), Instant::now());
        absences.replace_absent(absent(&["a", "b"]), begin);
        absences.replace_absent(absent(&["b"]), seconds_after(begin, 20));
        absences.replace_absent(absent(&["a", "b"]), seconds_after(begin, 25));
        assert_eq!(absences.orphaned_instances(T, seconds_after(begin, 40)), ["b"]);
        assert_eq!(
            absences.orphaned_instances(T, seconds_after(begin, 55)),
            ["a", "b"]
        );
    }

    #[test]
    fn a_node_runs_the_driver_if_it_exists_and_its_csinode_lists_the_driver() {
        let mut nodes = Nodes {
            registered: absent(&["n1", "n2"]),
            ..Nodes::default()
        };
        let of = |node: &str| ManagedBy::new("d", Some(node)).instance;
        assert_eq!(
            nodes.instances("d"),
            [of("n1"), of("n2")].into(),
            "nodes were not listed"
        );
        let existing = ["n1", "n3"].map(|node| (node.to_owned(), Labels::new()));
        (nodes.existing, nodes.listed) = (existing.into(), true);
        assert_eq!(nodes.instances("d"), [of("n1")].into());
    }

    fn cleaner(server: &TestServer) -> Cleaner {
        Cleaner {
            client: server.client(),
            driver: "d".to_owned(),
            orphan_after: T,
            capacities: CapacityClient::new(server.client(), "default", &Options::default()),
            nodes: Mutex::default(),
            changed: Notify::new(),
            initial_sync: InitialSync::new(1),
            dialect: Dialect::default(),
        }
    }

    fn object(name: &str) -> CSIStorageCapacity {
        let mut object = CSIStorageCapacity::default();
        object.metadata.name = Some(name.to_owned());
        object.metadata.uid = Some("1".to_owned());
        object.metadata.resource_version = Some("7".to_owned());
        object
    }

    #[tokio::test]
    async fn deleting_a_missing_object_succeeds_and_deleting_a_changed_one_fails() {
        let server = TestServer::default();
        let cleaner = cleaner(&server);
        let types = serde_json::json!([{"name": "csistoragecapacities", "kind": "CSIStorageCapacity", "singularName": "", "namespaced": true, "verbs": []}]);
        server.respond_with(serde_json::json!({"groupVersion": "storage.k8s.io/v1", "resources": types}));
        server.respond_with_error(404, "NotFound");
        server.respond_with_error(409, "Conflict");
        server.respond_with_error(403, "Forbidden");
        assert!(cleaner.delete(&object("a")).await.is_ok());
        assert!(cleaner.delete(&object("b")).await.is_err());
        assert!(cleaner.delete(&object("c")).await.is_err());
        let received = server.received();
        assert_eq!(
            received[1].1["preconditions"],
            serde_json::json!({"uid": "1", "resourceVersion": "7"})
        );
    }

    #[tokio::test]
    async fn objects_of_a_returned_instance_are_not_deleted() {
        let server = TestServer::default();
        let cleaner = cleaner(&server);
        cleaner.nodes.lock().registered = absent(&["n1"]);
        let instance = ManagedBy::new("d", Some("n1")).instance;
        assert!(
            cleaner
                .delete_instance_objects(&instance, &[object("a")])
                .await
                .is_ok()
        );
        assert_eq!(server.requests(), Vec::<String>::new());
    }
}
