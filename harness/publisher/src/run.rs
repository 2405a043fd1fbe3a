//! Assembles the publisher: reads the driver's capabilities, finds the owner, starts the watches, and starts the workers after the initial
//! lists. Does not decide what is published or provisioned.

use std::{convert::Infallible, sync::Arc};

use capacity_client::{Connections, connections};
use futures::{
    StreamExt,
    future::{self, BoxFuture, FutureExt},
};
use k8s_openapi::api::{
    core::v1::{Node, PersistentVolume, PersistentVolumeClaim},
    storage::v1::{CSINode, StorageClass},
};
use kube::{Api, Client, ResourceExt, runtime::watcher};
use parking_lot::Mutex;
use tokio::time::Instant;
use tonic::transport::Channel;

use crate::{
    DriverError, LostLease, Options, OptionsError, OwnerError, RecognizeBy,
    capacity::{CapacityClient, ManagedBy, Publisher},
    cleaner,
    cluster::{Cluster, registration},
    csi::{Driver, driver_channel},
    http::{self, Endpoint, Health},
    lease::{LeaderElector, while_leading},
    metrics::Metrics,
    owner,
    provision::Provisioner,
    queue::Queue,
    topology::{self, Registration, Topology},
    watch::{Change, InitialSync, handle_events, list_and_watch, watching_client},
};

/// Why the publisher could not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The driver returned an error to a call for its name or capabilities.
    #[error("the driver cannot be used: {0}; fix the driver or --csi-address")]
    Driver(#[from] DriverError),
    /// The owner of the objects was not found.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The Lease was lost: another instance may be the leader.
    #[error(transparent)]
    Lease(#[from] LostLease),
    /// The address for metrics and health cannot be bound.
    #[error("cannot listen for metrics and health: {0}; choose another --http-endpoint")]
    Listen(#[from] std::io::Error),
}

/// Publishes and provisions, or cleans up orphaned objects, until `shutdown` resolves.
///
/// Fails at the start for reasons that a retry cannot fix: contradictory options, invalid responses of the driver, an owner that does not
/// exist, an address in use. Waits while the driver or the API server is unavailable. After the start it fails only if leader election is
/// enabled and the Lease is lost.
pub async fn run(
    options: Options,
    client: Client,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let driver = driver_channel(&options.csi_address)?;
    let (main, publishing) = (client.clone(), client);
    let clients = Clients {
        main,
        publishing,
        driver,
        metrics: None,
    };
    run_with(options, clients, shutdown).await
}

/// Clients for the API server, the channel to the driver, and connections of metrics clients. The two API clients may have different rate
/// limits.
pub struct Clients {
    /// Client for all objects except CSIStorageCapacity.
    pub main: Client,
    /// Client for CSIStorageCapacity objects. The publisher limits its request rate as set in the options.
    pub publishing: Client,
    /// Channel to the driver; see [`driver_channel`].
    pub driver: Channel,
    /// Connections of metrics clients. Replaces the address in the options.
    pub metrics: Option<Connections>,
}

/// Like [`run`], with a separate client for publishing, and a channel to the driver instead of `csi_address`.
pub async fn run_with(
    options: Options,
    clients: Clients,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    options.check()?;
    let connections = match clients.metrics {
        Some(connections) => Some(connections),
        None => http::bind(&options.http).await?.map(connections),
    };
    let (metrics, health) = (Metrics::new(), Arc::new(Health::default()));
    let endpoint = Endpoint {
        metrics: Arc::clone(&metrics),
        health: Arc::clone(&health),
        metrics_path: options.http.metrics_path.clone(),
    };
    let backoff = options.backoff();
    let start = StartupContext {
        options,
        watching: watching_client(&clients.main, backoff),
        client: clients.main,
        publishing: watching_client(&clients.publishing, backoff),
        driver: clients.driver,
        metrics,
        health,
        election: Mutex::default(),
    };
    let ended = tokio::select! {
        // `shutdown` is polled first, so that no request is sent once it has resolved.
        biased;
        () = shutdown => Ok(()),
        never = Box::pin(start.serve()) => never.map(|never| match never {}),
        never = http::serve(connections, endpoint) => match never {},
    };
    let election = start.election.lock().take();
    let releases = start.options.feature_gates.release_on_exit;
    if let (Ok(()), Some(election)) = (&ended, election.filter(|_| releases)) {
        election.release().await;
    }
    ended
}

/// Everything that the publisher needs before it knows the driver's capabilities.
struct StartupContext {
    options: Options,
    client: Client,
    /// Client for watches, which backs off between watches that end immediately.
    watching: Client,
    publishing: Client,
    driver: Channel,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    /// Stored outside of the workers, because the Lease is released only after the workers have stopped.
    election: Mutex<Option<Arc<LeaderElector>>>,
}

impl StartupContext {
    async fn serve(&self) -> Result<Infallible, Error> {
        if !self.options.dialect.start_delay.is_zero() {
            tokio::time::sleep(self.options.dialect.start_delay).await;
        }
        if self.options.cleaner.clean_orphans {
            let driver = self.options.cleaner.driver_name.as_deref().unwrap_or_default();
            let election = self.election(&format!("{driver}-cleaner"));
            let work = async {
                let cleaned = cleaner::run(&self.options, &self.watching, &self.publishing, &self.health);
                Ok(Box::pin(cleaned).await)
            };
            return while_leading(election.as_deref(), work).await;
        }
        let driver = Arc::new(Driver::connect(self.driver.clone(), &self.options, &self.metrics).await?);
        tracing::info!(driver = &*driver.name, capabilities = ?driver.capabilities, "connected to the driver");
        let publisher = self.publisher(&driver).await?;
        let election = self.election(&driver.name);
        while_leading(
            election.as_deref(),
            self.run_watches_and_workers(driver, publisher),
        )
        .await
    }

    fn election(&self, name: &str) -> Option<Arc<LeaderElector>> {
        let is_enabled = self.options.election.enabled;
        let (metrics, health) = (Arc::clone(&self.metrics), Arc::clone(&self.health));
        let election = is_enabled.then(|| {
            Arc::new(LeaderElector::new(
                &self.options,
                &self.client,
                name,
                metrics,
                health,
            ))
        });
        self.election.lock().clone_from(&election);
        election
    }

    /// Creates the publisher. `None` if publishing is disabled or the driver does not support it.
    async fn publisher(&self, driver: &Arc<Driver>) -> Result<Option<Arc<Publisher>>, Error> {
        let (options, client) = (&self.options, &self.client);
        let Some(namespace) = options.namespace.as_deref().filter(|_| options.enable_capacity) else {
            return Ok(None);
        };
        if !driver.capabilities.capacity {
            tracing::error!(
                driver = &*driver.name,
                "the driver does not advertise GET_CAPACITY: nothing is published"
            );
            return Ok(None);
        }
        let pod = options.pod_name.as_deref().unwrap_or_default();
        let level = options.capacity_ownerref_level;
        let owner = owner::find_owner(client, namespace, pod, level, options.backoff()).await?;
        let owner = owner.map(|owner| options.dialect.convert_owner(owner));
        let recognized = owner
            .as_ref()
            .filter(|_| options.recognize_by == RecognizeBy::Owner);
        let by = ManagedBy::new(&driver.name, options.own_node()).owned_by(recognized);
        let by = match options.dialect.hashed_instance {
            true => by.with_hashed_instance(options.own_node()),
            false => by,
        };
        let capacities = Arc::new(CapacityClient::new(self.publishing.clone(), namespace, options));
        Ok(Some(Publisher::new(
            options.clone(),
            by,
            owner,
            Arc::clone(driver),
            capacities,
            &self.metrics,
        )))
    }

    async fn run_watches_and_workers(
        &self,
        driver: Arc<Driver>,
        publisher: Option<Arc<Publisher>>,
    ) -> Result<Infallible, Error> {
        let (options, client) = (self.options.clone(), &self.client);
        let cluster = Arc::new(Mutex::new(Cluster::default()));
        let reads_csi_node = options.dialect.topology_of_csi_node;
        if let Some(node) = options.own_node().filter(|_| !reads_csi_node) {
            let topology = Topology::single_node(node, driver.node_segment(options.backoff()).await?);
            let added = topology.segments().next().cloned();
            cluster.lock().topology = topology;
            deliver_segments(
                publisher.as_deref(),
                topology::SegmentChange { added, removed: None },
            );
        }
        let provisioner = Provisioner::new(
            options.clone(),
            Arc::clone(&driver),
            client.clone(),
            Arc::clone(&cluster),
            publisher.clone(),
            &self.metrics,
        );
        let watches_nodes = (options.own_node().is_none() || reads_csi_node)
            && (driver.capabilities.topology || publisher.is_some());
        let parts = Components {
            driver,
            cluster,
            publisher,
            provisioner,
            initial_sync: InitialSync::new(3 + 2 * usize::from(watches_nodes)),
            published_sync: InitialSync::new(1),
            unregistrations: Queue::new(options.backoff(), self.metrics.queue("csitopology")),
            health: Arc::clone(&self.health),
            options,
        };
        let mut tasks = parts.storage_watches(&self.watching);
        if watches_nodes {
            tasks.extend(parts.node_watches(&self.watching));
        }
        tasks.extend(parts.publishing_tasks());
        tasks.extend(parts.provisioning_tasks());
        future::join_all(tasks).await;
        future::pending().await
    }
}

/// The watches, and the components that receive their events.
struct Components {
    driver: Arc<Driver>,
    cluster: Arc<Mutex<Cluster>>,
    publisher: Option<Arc<Publisher>>,
    provisioner: Arc<Provisioner>,
    /// Completes after the initial lists of all watched kinds except CSIStorageCapacity.
    initial_sync: InitialSync,
    /// Completes after the initial list of CSIStorageCapacity. Provisioning does not wait for it, because the server may not serve
    /// CSIStorageCapacity.
    published_sync: InitialSync,
    /// Nodes whose driver unregistered, during the grace period.
    unregistrations: Queue<String>,
    health: Arc<Health>,
    options: Options,
}

fn deliver_segments(publisher: Option<&Publisher>, change: topology::SegmentChange) {
    if let Some(publisher) = publisher {
        publisher.segments_changed(change);
    }
}

impl Components {
    fn storage_watches(&self, client: &Client) -> Vec<BoxFuture<'_, Infallible>> {
        let (backoff, initial_sync, provisioner) =
            (self.options.backoff(), &self.initial_sync, &*self.provisioner);
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
            list_and_watch(Api::all(client.clone()), config(), backoff, initial_sync, classes).boxed(),
            list_and_watch(Api::all(client.clone()), config(), backoff, initial_sync, claims).boxed(),
            list_and_watch(Api::all(client.clone()), config(), backoff, initial_sync, volumes).boxed(),
        ]
    }

    fn node_watches(&self, client: &Client) -> Vec<BoxFuture<'_, Infallible>> {
        let (backoff, initial_sync) = (self.options.backoff(), &self.initial_sync);
        // A distributed instance only watches its own node.
        let own = self
            .options
            .own_node()
            .map(|node| format!("metadata.name={node}"));
        let config = || watcher::Config {
            field_selector: own.clone(),
            ..Default::default()
        };
        let nodes = move |change: Change<Node>| self.node_changed(&change);
        let csi_nodes = move |change: Change<CSINode>| self.csi_node_changed(&change);
        let unregistrations = self.unregistrations.ready().for_each(move |node| {
            self.register(&node, Registration::NotListed);
            self.unregistrations.done(&node);
            future::ready(())
        });
        vec![
            unregistrations.then(|()| future::pending()).boxed(),
            list_and_watch(Api::all(client.clone()), config(), backoff, initial_sync, nodes).boxed(),
            list_and_watch(
                Api::all(client.clone()),
                config(),
                backoff,
                initial_sync,
                csi_nodes,
            )
            .boxed(),
        ]
    }

    fn publishing_tasks(&self) -> Vec<BoxFuture<'_, Infallible>> {
        let Some(publisher) = &self.publisher else {
            return Vec::new();
        };
        let config = watcher::Config {
            label_selector: publisher.selector(),
            ..Default::default()
        };
        let objects = move |change| publisher.object_changed(change);
        let work = async {
            self.initial_sync.wait().await;
            self.published_sync.wait().await;
            tokio::join!(publisher.run_workers(), publisher.poll());
            future::pending().await
        };
        let events = publisher
            .capacities()
            .watch_objects(config, self.options.backoff());
        let object_watch = handle_events("CSIStorageCapacity".into(), events, &self.published_sync, objects);
        vec![object_watch.boxed(), work.boxed()]
    }

    fn provisioning_tasks(&self) -> Vec<BoxFuture<'_, Infallible>> {
        let claims = async {
            self.initial_sync.wait().await;
            tracing::info!(
                driver = &*self.driver.name,
                "the initial lists are complete; starting the workers"
            );
            self.health.set_ready();
            self.provisioner.work_on_claims().await;
            future::pending().await
        };
        let volumes = async {
            self.initial_sync.wait().await;
            self.provisioner.work_on_volumes().await;
            future::pending().await
        };
        let node_selection = async {
            self.initial_sync.wait().await;
            self.provisioner.work_on_node_selection().await;
            future::pending().await
        };
        let clone_sources = async {
            self.initial_sync.wait().await;
            self.provisioner.work_on_clone_sources().await;
            future::pending().await
        };
        vec![
            claims.boxed(),
            volumes.boxed(),
            node_selection.boxed(),
            clone_sources.boxed(),
        ]
    }

    fn node_changed(&self, change: &Change<Node>) {
        let (node, labels) = match change {
            Change::Applied(node) => (node, Some(node.labels().clone())),
            Change::Deleted(node) => (node, None),
            Change::Listed => return,
        };
        let change = self.cluster.lock().topology.set_labels(&node.name_any(), labels);
        self.segments_changed(change);
    }

    fn csi_node_changed(&self, change: &Change<CSINode>) {
        let (node, registration) = match change {
            Change::Applied(node) => (node, registration(node, &self.driver.name)),
            Change::Deleted(node) => (node, Registration::NoCsiNode),
            Change::Listed => return,
        };
        let name = node.name_any();
        let grace = self.options.unregistration_grace();
        let unregisters =
            registration == Registration::NotListed && self.cluster.lock().topology.is_registered(&name);
        if unregisters && !grace.is_zero() {
            // A restarting driver unregisters and registers again. Without the grace period its objects would be deleted and recreated.
            return self.unregistrations.add_at(name, Instant::now() + grace);
        }
        self.unregistrations.cancel(&name);
        self.register(&name, registration);
    }

    fn register(&self, node: &str, registration: Registration) {
        let change = self.cluster.lock().topology.set_registration(node, registration);
        self.segments_changed(change);
    }

    fn segments_changed(&self, change: topology::SegmentChange) {
        deliver_segments(self.publisher.as_deref(), change);
    }
}
