//! Puts everything together: asks the driver, finds the owner, starts the watches, and lets the work begin when all have listed.
//! Holds no policy.

use std::{convert::Infallible, sync::Arc};

use futures::future::{self, BoxFuture, FutureExt};
use k8s_openapi::api::{
    core::v1::{Node, PersistentVolume, PersistentVolumeClaim},
    storage::v1::{CSINode, StorageClass},
};
use kube::{Api, Client, ResourceExt, runtime::watcher};
use parking_lot::Mutex;

use crate::{
    Defect, DriverError, Options, OptionsError, OwnerError,
    capacity::{Capacities, ManagedBy, Publisher},
    cluster::{Cluster, registration},
    csi::Driver,
    owner,
    provision::Provisioner,
    topology::{self, Registration, Topology},
    watch::{Change, Gate, follow, follow_events},
};

/// Why the publisher could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Options contradict each other.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The driver does not tell what it is.
    #[error("the driver cannot be used: {0}; fix the driver or --csi-address")]
    Driver(#[from] DriverError),
    /// The owner of the objects cannot be found.
    #[error(transparent)]
    Owner(#[from] OwnerError),
}

/// Publishes and provisions until `shutdown` resolves.
///
/// Fails only at the start, for a reason that waiting does not cure: contradicting options, a driver that answers nonsense, an owner that
/// cannot be found. A driver or an API server that is not there (any more) is waited for.
pub async fn run(
    options: Options,
    client: Client,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    options.check()?;
    tokio::select! {
        never = Box::pin(serve(options, client)) => never.map(|never| match never {}),
        () = shutdown => Ok(()),
    }
}

/// What the watches tell, and whom.
struct Parts {
    driver: Arc<Driver>,
    cluster: Arc<Mutex<Cluster>>,
    publisher: Option<Arc<Publisher>>,
    provisioner: Provisioner,
    /// Opens when everything but the published objects was listed.
    gate: Gate,
    /// Opens when the published objects were listed: volumes are provisioned even where the server does not have their type.
    published: Gate,
    options: Options,
}

async fn serve(options: Options, client: Client) -> Result<Infallible, Error> {
    let driver = Arc::new(Driver::connect(&options).await?);
    tracing::info!(driver = driver.name, abilities = ?driver.abilities, "driver found");
    let cluster = Arc::new(Mutex::new(Cluster::default()));
    let publisher = publisher(&options, &client, &driver).await?.map(Arc::new);
    if let Some(node) = options.own_node() {
        let topology = Topology::fixed(node, driver.node_segment().await?);
        let added = topology.segments().next().cloned();
        cluster.lock().topology = topology;
        tell_segments(publisher.as_deref(), topology::Change { added, removed: None });
    }
    let provisioner = Provisioner::new(
        options.clone(),
        Arc::clone(&driver),
        client.clone(),
        Arc::clone(&cluster),
        publisher.clone(),
    );
    let watches_nodes = options.own_node().is_none() && (driver.abilities.topology || publisher.is_some());
    let watches = 3 + 2 * usize::from(watches_nodes);
    let parts = Parts {
        driver,
        cluster,
        publisher,
        provisioner,
        gate: Gate::new(watches),
        published: Gate::new(1),
        options,
    };
    let mut tasks = parts.storage_watches(&client);
    tasks.extend(
        watches_nodes
            .then(|| parts.node_watches(&client))
            .into_iter()
            .flatten(),
    );
    tasks.extend(parts.publishing());
    tasks.extend(parts.provisioning());
    future::join_all(tasks).await;
    future::pending().await
}

/// The publisher, if there is anything to publish.
async fn publisher(
    options: &Options,
    client: &Client,
    driver: &Arc<Driver>,
) -> Result<Option<Publisher>, Error> {
    let Some(namespace) = options.namespace.as_deref().filter(|_| options.enable_capacity) else {
        return Ok(None);
    };
    if !driver.abilities.capacity {
        tracing::error!(
            driver = driver.name,
            "the driver does not advertise GET_CAPACITY: nothing is published"
        );
        return Ok(None);
    }
    let pod = options.pod_name.as_deref().unwrap_or_default();
    let owner = owner::find(client, namespace, pod, options.capacity_ownerref_level).await?;
    let by = ManagedBy::new(&driver.name, options.own_node());
    let capacities = Arc::new(Capacities::new(client.clone(), namespace));
    Ok(Some(Publisher::new(
        options.clone(),
        by,
        owner,
        Arc::clone(driver),
        capacities,
    )))
}

fn tell_segments(publisher: Option<&Publisher>, change: topology::Change) {
    if let Some(publisher) = publisher {
        publisher.segments_changed(change);
    }
}

impl Parts {
    fn storage_watches(&self, client: &Client) -> Vec<BoxFuture<'_, Infallible>> {
        let (pace, gate, provisioner) = (self.options.pace(), &self.gate, &self.provisioner);
        let config = watcher::Config::default;
        let classes = move |change: Change<StorageClass>| {
            provisioner.class_changed(&change);
            if let Some(publisher) = &self.publisher {
                publisher.class_changed(&change);
            }
        };
        let claims = move |change: Change<PersistentVolumeClaim>| provisioner.claim_changed(change);
        let volumes = move |change: Change<PersistentVolume>| provisioner.volume_changed(change);
        vec![
            follow(Api::all(client.clone()), config(), pace, gate, classes).boxed(),
            follow(Api::all(client.clone()), config(), pace, gate, claims).boxed(),
            follow(Api::all(client.clone()), config(), pace, gate, volumes).boxed(),
        ]
    }

    fn node_watches(&self, client: &Client) -> Vec<BoxFuture<'_, Infallible>> {
        let (pace, gate) = (self.options.pace(), &self.gate);
        let nodes = move |change: Change<Node>| self.node_changed(&change);
        let csi_nodes = move |change: Change<CSINode>| self.csi_node_changed(&change);
        vec![
            follow(
                Api::all(client.clone()),
                watcher::Config::default(),
                pace,
                gate,
                nodes,
            )
            .boxed(),
            follow(
                Api::all(client.clone()),
                watcher::Config::default(),
                pace,
                gate,
                csi_nodes,
            )
            .boxed(),
        ]
    }

    fn publishing(&self) -> Vec<BoxFuture<'_, Infallible>> {
        let Some(publisher) = &self.publisher else {
            return Vec::new();
        };
        let config = watcher::Config {
            label_selector: publisher.selector(),
            ..Default::default()
        };
        let objects = move |change| publisher.object_changed(change);
        let work = async {
            self.gate.opened().await;
            self.published.opened().await;
            tokio::join!(publisher.work(), publisher.poll());
            future::pending().await
        };
        let events = publisher.capacities().events(config, self.options.pace());
        let followed = follow_events("CSIStorageCapacity".into(), events, &self.published, objects);
        vec![followed.boxed(), work.boxed()]
    }

    fn provisioning(&self) -> Vec<BoxFuture<'_, Infallible>> {
        let claims = async {
            self.gate.opened().await;
            tracing::info!(
                driver = self.driver.name,
                "everything was listed, the work begins"
            );
            self.provisioner.work_on_claims().await;
            future::pending().await
        };
        let volumes = async {
            self.gate.opened().await;
            self.provisioner.work_on_volumes().await;
            future::pending().await
        };
        vec![claims.boxed(), volumes.boxed()]
    }

    fn node_changed(&self, change: &Change<Node>) {
        let (node, labels) = match change {
            Change::Set(node) => (node, Some(node.labels().clone())),
            Change::Gone(node) => (node, None),
            Change::Listed => return,
        };
        let change = self.cluster.lock().topology.set_labels(&node.name_any(), labels);
        self.segments_changed(change);
    }

    fn csi_node_changed(&self, change: &Change<CSINode>) {
        let (node, registration) = match change {
            Change::Set(node) => (node, registration(node, &self.driver.name)),
            Change::Gone(node) => (node, Registration::NoCsiNode),
            Change::Listed => return,
        };
        let change = self
            .cluster
            .lock()
            .topology
            .set_registration(&node.name_any(), registration);
        self.segments_changed(change);
    }

    fn segments_changed(&self, change: topology::Change) {
        if !self.options.has(Defect::IgnoresNewNodes) || !self.gate.is_open() {
            tell_segments(self.publisher.as_deref(), change);
        }
    }
}
