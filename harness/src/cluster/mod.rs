//! The cluster of one case: API server, driver, controllers and programs under test, all recorded in one journal.
//!
//! Starts, changes and stops components. Does not know what a case expects of them.

mod act;
mod api;
mod attach;
mod controllers;
mod discover;
mod driver;
mod driver_spec;
mod driver_state;
pub(crate) mod extender;
mod external_driver;
mod kubelet;
mod metrics;
mod object_ref;
mod observe;
mod owner;
mod quiet;
mod ready;
mod resizer;
mod snapshots;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;
use capacity_types::capacity_api::RESOURCE;
use fake_apiserver::{ApiServer, ResourceRef, RuleId};
use fake_csi::{FakeDriver, Pool, Storage};
use futures::FutureExt;
use futures::future::{OptionFuture, join};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::activity_limit::ActivityLimit;
use crate::api_server::StatusError;
use crate::client_name::{HARNESS, file_stem};
use crate::clock;
use crate::cluster_state::ClusterState;
use crate::fact_sink::{Commits, FactSink};
use crate::journal::Journal;
use crate::killer::Killer;
use crate::log_lines::LogLines;
use crate::network::{Folder, Network};
use crate::plan::{NAMESPACE, Plan, objects};
use crate::record;
use crate::run_options::RunOptions;
use crate::scenario::Role;
use crate::settings::Settings;
use crate::start_error::StartError;
use crate::system::{ChildAccess, Fleet, ProgramInputs, Systems};
use api::{Api, Client};
use driver::Endpoint;
use driver_spec::{cost_factor, driver_spec};
use driver_state::DriverState;
use external_driver::ExternalDriver;
use metrics::Metrics;
use object_ref::object_ref;
use observe::CsiObserver;

pub(crate) struct Cluster {
    api: Api,
    /// Client with which the harness sends its own requests.
    local: Client,
    driver: FakeDriver,
    /// The external driver of the case; `None` if the case runs with the fake driver.
    external: Option<ExternalDriver>,
    /// The API objects from which the driver reads its storage, if the manifest defines any.
    driver_state: Option<DriverState>,
    /// API objects that programs other than the driver need.
    program_objects: Vec<Arc<dyn crate::driver_state::ProgramObjects>>,
    /// The first node on which the driver runs.
    first_node: Option<String>,
    /// Factor by which the start timeout of a driver is multiplied.
    patience: f64,
    /// Number of sockets opened so far, so that no socket path is used twice.
    sockets: usize,
    /// The driver's sockets, to which the resizer sends ControllerExpandVolume calls.
    sockets_of_driver: resizer::Sockets,
    /// The driver's endpoints by node. The key `None` is the endpoint of the central driver.
    endpoints: BTreeMap<Option<String>, Endpoint>,
    network: Network,
    /// Seed of all random choices in simulated time; `None` in real time.
    seed: Option<u64>,
    /// The folder of the sockets; removed last.
    folder: Folder,
    controllers: JoinHandle<()>,
    fleet: Fleet,
    journal: Journal,
    sink: FactSink,
    /// Resources that the harness has changed since it last waited for the delivery of watch events.
    undelivered: BTreeSet<String>,
    /// Cluster state that the actions of the harness read.
    state: ClusterState,
    state_seq: u64,
    /// Roles that were started and that the case has not stopped since.
    active: Vec<Role>,
    settings: Settings,
    /// Texts that the expectations of the case search for in log lines.
    log_words: Vec<String>,
    metrics: Metrics,
    /// The running scheduler extenders, which stop on drop.
    _extenders: extender::Extenders,
    /// Interval at which publishers call GetCapacity again.
    refresh: Duration,
    /// The publisher's pods by node, if the case sets `ownerLevel`. The key `None` is the pod of a central publisher.
    pods: BTreeMap<Option<String>, String>,
    /// Deleted nodes whose publisher pod (distributed mode) is not deleted yet.
    deleted_nodes: Vec<String>,
    /// Whether the case has deleted the publisher's namespace, or an object in it, since the publisher's pods were last created.
    has_deleted_owner: bool,
    /// Active fault rules of the API server, by their `id` in the case.
    faults: BTreeMap<String, RuleId>,
    /// Active fault rules of the driver, by their `id` in the case.
    scripts: BTreeMap<String, fake_csi::RuleId>,
}

impl Cluster {
    /// Starts the servers and creates the objects of the case. Starts no program under test.
    pub(crate) async fn start(
        plan: &Plan,
        systems: &Systems,
        journal: &Journal,
        RunOptions {
            refresh,
            patience,
            seed,
            observer,
            ..
        }: RunOptions,
    ) -> Result<Self, StartError> {
        let io = |what| move |source| StartError::Io { what, source };
        let network = match seed {
            Some(_) => Network::in_memory(),
            None => Network::Host,
        };
        let folder = network.folder().map_err(io("make a temporary folder"))?;
        let killer = Killer::default();
        let fleet = Fleet::new(systems.clone(), journal.clone(), killer.clone());
        let mut state = ClusterState::default();
        if observer.is_some() {
            state.drop_events();
        }
        let activity = observer.is_none().then(|| ActivityLimit::of(plan));
        let sink = FactSink::new(journal.clone(), killer, activity);
        let commits = sink.commits();
        let api = Api::start(plan, systems, &sink, fleet.has_children(), (&network, seed)).await?;
        let observer = CsiObserver {
            sink: sink.clone(),
            segments: plan.segments.clone(),
        };
        let external = ExternalDriver::of(plan, systems, observer.clone()).await;
        let driver = FakeDriver::new(
            driver_spec(plan, seed.map(|_| clock::LATENCY)),
            Some(Arc::new(observer)),
        );
        for cost in &plan.driver.costs {
            driver
                .add_cost(cost_factor(cost))
                .map_err(|error| StartError::Driver(error.to_string()))?;
        }
        let client = api.client(extender::CLIENT);
        let extenders = extender::Extenders::start(plan, journal, &client, &driver, &network)
            .await
            .map_err(io("start the extenders"))?;
        let local = api.client(HARNESS);
        let has_publisher = plan.roles.contains(&Role::Publisher);
        let sockets = resizer::Sockets::default();
        let run = controllers::run(commits, api.client(controllers::CLIENT), !has_publisher);
        // Without a publisher, the driver provisions no volumes, so there are no volumes to expand.
        let resize = has_publisher.then(|| {
            let client = api.client(resizer::CLIENT);
            let driver = plan.driver.name.clone();
            resizer::run(sink.commits(), client, driver, network.clone(), sockets.clone())
        });
        let run = join(run, OptionFuture::from(resize));
        let mut cluster = Cluster {
            controllers: tokio::spawn(run.map(drop)),
            sockets_of_driver: sockets,
            api,
            local,
            driver,
            external,
            driver_state: DriverState::of(plan, systems),
            program_objects: driver_state::program_objects(plan, systems),
            patience,
            first_node: plan.driver_nodes.first().map(|(node, _)| node.clone()),
            sockets: 0,
            endpoints: BTreeMap::new(),
            network,
            seed,
            folder,
            fleet,
            journal: journal.clone(),
            sink,
            undelivered: BTreeSet::new(),
            state,
            state_seq: 0,
            active: Vec::new(),
            settings: Settings {
                extenders: extenders.settings(),
                ..plan.settings(refresh)
            },
            log_words: plan.expected_log_texts(),
            metrics: Metrics::of(plan),
            _extenders: extenders,
            refresh,
            pods: BTreeMap::new(),
            deleted_nodes: Vec::new(),
            has_deleted_owner: false,
            faults: BTreeMap::new(),
            scripts: BTreeMap::new(),
        };
        cluster.create_initial_objects(plan).await?;
        cluster.prepare_programs(plan).await?;
        cluster.prepare_driver(plan).await?;
        cluster.start_driver(plan).await?;
        Ok(cluster)
    }

    async fn create_initial_objects(&mut self, plan: &Plan) -> Result<(), StartError> {
        let refused = |action: String, message: String| StartError::Refused {
            source_file: plan.source.clone(),
            step: "cluster".to_owned(),
            action,
            message,
        };
        for object in &plan.objects {
            let answer = self.create(object).await;
            // Namespaces that every cluster has, such as `default`, may exist already.
            if let Err(status) = answer
                && !(status.code == 409 && object["kind"] == "Namespace")
            {
                let name = format!("create {} {}", object["kind"], object["metadata"]["name"]);
                return Err(refused(name, status.to_string()));
            }
        }
        let created = self.create_snapshots(plan).await;
        created.map_err(|status| refused("create the snapshots".to_owned(), status.to_string()))?;
        let nodes = plan.driver_nodes.iter().map(|(node, _)| node.clone());
        let owners = self.create_owners(plan, nodes.collect()).await;
        owners.map_err(|status| refused("create the owners".to_owned(), status.to_string()))
    }

    async fn create_snapshots(&self, plan: &Plan) -> Result<(), StatusError> {
        let snapshots = &plan.driver.snapshots;
        if !snapshots.is_empty() {
            snapshots::create_definitions(&self.local).await?;
            // The API server serves the new resources shortly after the CRDs are created.
            self.api.quiet().await;
        }
        for (handle, snapshot) in snapshots {
            snapshots::create(&self.local, &plan.driver.name, handle, snapshot).await?;
        }
        Ok(())
    }

    /// Creates the publisher's namespace and, with `ownerLevel`, the publisher's pods and their owners. Skips objects that exist. Central
    /// mode has one pod, distributed mode one pod per node of `nodes`.
    async fn create_owners(&mut self, plan: &Plan, nodes: Vec<String>) -> Result<(), StatusError> {
        if std::mem::take(&mut self.has_deleted_owner) {
            // The garbage collector may still delete the dependents of deleted owners.
            self.api.quiet().await;
        }
        self.update_state();
        if self.state.object("namespaces", None, NAMESPACE).is_none() {
            let created = self.local.create(objects::namespace(NAMESPACE)).await;
            // On a real API server, the namespace may remain from another case.
            created.map(drop).or_else(|refused| match refused.code {
                409 => Ok(()),
                _ => Err(refused),
            })?;
        }
        if self.settings.publisher.owner_level.is_none() {
            return Ok(());
        }
        let nodes = match plan.is_distributed() {
            true => nodes.into_iter().map(Some).collect(),
            false => vec![None],
        };
        for node in nodes {
            let pod = match &node {
                Some(node) => owner::create_on_node(&self.local, node).await?,
                None => owner::create_central_pod(&self.local).await?,
            };
            self.pods.insert(node, pod);
        }
        Ok(())
    }

    /// Deletes the publisher's pods on deleted nodes, as the pod garbage collector of kube-controller-manager does. Called after the
    /// actions of a step, because the real collector runs later than these actions.
    async fn collect_pods(&mut self) {
        for node in std::mem::take(&mut self.deleted_nodes) {
            if let Some(pod) = self.pods.remove(&Some(node)) {
                let pod = object_ref("pods", Some(NAMESPACE), &pod);
                // The case may already have deleted the pod.
                self.api.client(controllers::CLIENT).delete(&pod).await.ok();
            }
        }
    }

    /// Creates an object; a CSIStorageCapacity object in the API version that the server serves. Then deletes an object that has a
    /// deletionTimestamp, so that it is terminating until its finalizer is removed.
    async fn create(&self, object: &Value) -> Result<Arc<Value>, StatusError> {
        let mut object = object.clone();
        if object["kind"] == "CSIStorageCapacity"
            && let Some(version) = self.api.served_version("storage.k8s.io", RESOURCE)
        {
            object["apiVersion"] = format!("storage.k8s.io/{version}").into();
        }
        let is_deleted = object["metadata"]["deletionTimestamp"].is_string();
        let created = self.local.create(object).await?;
        if is_deleted && let Some(collection) = ResourceRef::plural_of(&created) {
            let text = |field: &str| created["metadata"][field].as_str();
            let at = object_ref(collection, text("namespace"), text("name").unwrap_or_default());
            self.local.delete(&at).await?;
        }
        Ok(created)
    }

    async fn start_driver(&mut self, plan: &Plan) -> Result<(), StartError> {
        for (segment, pool) in &plan.driver.pools {
            self.set_pool(segment, pool);
        }
        if plan.is_distributed() {
            for (node, segment) in &plan.driver_nodes {
                self.open_endpoint(Some((node, segment))).await?;
            }
            return Ok(());
        }
        self.open_endpoint(None).await
    }

    fn set_pool(&self, segment: &Segment, storage: &Storage) {
        self.driver.set_pool(Pool {
            segment: segment.clone(),
            parameters: BTreeMap::new(),
            storage: storage.clone(),
        });
    }

    pub(crate) fn start_role(&mut self, role: Role) -> Result<(), StartError> {
        if !self.active.contains(&role) {
            self.active.push(role);
        }
        if role == Role::Driver {
            // `open_endpoint` has already started the driver.
            return Ok(());
        }
        if role != Role::Publisher {
            let access = self.program_access(role, role.as_str(), (None, None))?;
            return self
                .fleet
                .start(role, role.as_str(), access)
                .map_err(StartError::NoSystem);
        }
        let nodes: Vec<Option<String>> = self.endpoints.keys().cloned().collect();
        for node in nodes {
            self.start_publisher(node.as_ref())?;
        }
        Ok(())
    }

    /// Starts the publisher on a node; without a node, all replicas of the central publisher.
    fn start_publisher(&mut self, node: Option<&String>) -> Result<(), StartError> {
        let clients = match (node, self.settings.publisher.replicas) {
            (None, Some(replicas)) => (1..=replicas)
                .map(|number| Role::Publisher.client_name(Some(&number.to_string())))
                .collect(),
            _ => vec![Role::Publisher.client_name(node.map(String::as_str))],
        };
        let node = node.cloned();
        let socket = self.endpoints.get(&node).map(|endpoint| endpoint.socket.clone());
        for client in clients {
            let access = self.program_access(Role::Publisher, &client, (node.clone(), socket.clone()))?;
            self.fleet
                .start(Role::Publisher, &client, access)
                .map_err(StartError::NoSystem)?;
        }
        Ok(())
    }

    fn program_access(
        &mut self,
        role: Role,
        client: &str,
        (node, csi_socket): (Option<String>, Option<PathBuf>),
    ) -> Result<ProgramInputs, StartError> {
        let metrics_address = self.metrics_address(role, client)?;
        let token = self.api.add_client(client);
        let child = self.child_access(client, &token)?;
        let starts = self.fleet.starts;
        let pod = self.pods.get(&node).cloned();
        Ok(ProgramInputs {
            network: self.network.clone(),
            api_url: self.api.url(),
            token,
            csi_socket,
            node,
            namespace: match role == Role::Publisher && !self.settings.publisher.namespace {
                true => String::new(),
                false => NAMESPACE.to_owned(),
            },
            pod,
            metrics_address,
            settings: self.settings.clone(),
            clock: clock::time_of_day,
            seed: self.seed.map(|seed| clock::derive_seed(seed, client, starts)),
            log: LogLines::new(client, self.log_words.clone(), &self.journal),
            child,
        })
    }

    fn child_access(&self, client: &str, token: &str) -> Result<Option<ChildAccess>, StartError> {
        if !self.fleet.has_children() {
            return Ok(None);
        }
        let stem = file_stem(client);
        let kubeconfig = self.folder.path().join(format!("{stem}.kubeconfig"));
        let state = self.folder.path().join(format!("{stem}.state"));
        std::fs::create_dir_all(&state).map_err(|source| StartError::Io {
            what: "make a folder for a program",
            source,
        })?;
        let secure = self.api.tls_endpoint(&kubeconfig, token);
        let secure = secure.map_err(|source| StartError::Io {
            what: "write a kubeconfig",
            source,
        })?;
        Ok(secure.map(|secure| ChildAccess {
            kubeconfig,
            api_url: secure.api_url,
            authority_pem: secure.authority_pem,
            log: self.folder.path().join(format!("{stem}.log")),
            state,
        }))
    }

    /// The in-memory API server; `None` if a real one is used.
    pub(crate) fn api(&self) -> Option<&ApiServer> {
        match &self.api {
            Api::Fake { api, .. } => Some(api),
            Api::Real { .. } => None,
        }
    }

    /// Limits the journal to this number of facts and removes the activity limits of programs. For a cluster that no expectation checks
    /// any more.
    pub(crate) fn limit_facts(&self, count: usize) {
        self.journal.limit_facts(count);
        self.sink.lift_limit();
    }

    /// Drops the facts with a sequence number below `before`, which are no longer needed.
    pub(crate) fn drop_facts(&mut self, before: u64) {
        self.update_state();
        self.journal.drop_facts(before);
    }

    /// Subscribes to object changes from now on.
    pub(crate) fn commits(&self) -> Commits {
        self.sink.commits()
    }

    /// The driver's sockets, each with its node; `None`: the socket of the central driver.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (Option<&str>, &Path)> {
        self.endpoints
            .iter()
            .map(|(node, endpoint)| (node.as_deref(), endpoint.socket.as_path()))
    }

    /// An error if the task that runs the controllers has panicked; `None` otherwise.
    pub(crate) async fn controller_panic(&mut self) -> Option<StartError> {
        let ended = self.controllers.is_finished().then_some(&mut self.controllers)?;
        let error = ended.await.err()?;
        error.is_panic().then(|| StartError::Panicked {
            part: "the controllers of the cluster panicked".to_owned(),
        })
    }

    /// Stops the programs under test, then the servers. Returns the logs of child processes by client name.
    pub(crate) async fn stop(mut self) -> Vec<(String, Vec<u8>)> {
        self.fleet.stop_all().await;
        self.controllers.abort();
        self.api.stop().await;
        match &self.folder {
            Folder::Temporary(folder) => record::read_logs(folder.path()),
            Folder::Name(_) => Vec::new(),
        }
    }
}
