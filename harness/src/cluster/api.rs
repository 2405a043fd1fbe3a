//! The API server of a cluster, behind one interface: the in-memory server, or a real one behind the harness's proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::{
    ApiServer, Authorization, Limits, LocalClient, Release, ResourceRef, Rule, RuleId, Running,
    ServerOptions, User,
};
use hyper::Method;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::observe::ApiObserver;
use crate::api_server::{RealApiCase, StatusError};
use crate::clock;
use crate::fact_sink::FactSink;
use crate::listening::HttpListener;
use crate::machine;
use crate::network::Network;
use crate::plan::{Plan, WORKLOADS, group_of};
use crate::scenario::{ApplySpec, Role};
use crate::standalone::api_server;
use crate::start_error::StartError;
use crate::system::Systems;

/// User group that has all permissions in a Kubernetes cluster.
const MASTERS: &str = "system:masters";

/// Minimum connection limit of the API server of one case: client-go opens a few connections per program.
const CONNECTIONS: usize = 64;

/// The connection limit of one case is the file descriptor limit of this process divided by this number.
const CASES_AT_ONCE: usize = 16;

/// The API server of a case.
pub(super) enum Api {
    /// In-memory API server. Its second listener uses TLS and serves child processes.
    Fake {
        api: ApiServer,
        plain: PlainListener,
        tls: Option<Running>,
        /// Roles whose permissions are restricted by RBAC.
        granted: BTreeSet<Role>,
    },
    /// A real API server, which clients reach through the harness's proxy.
    Real {
        case: Arc<dyn RealApiCase>,
        plain: HttpListener,
        tls: Option<HttpListener>,
    },
}

/// Listener without TLS of the in-memory server, for programs that run in this process.
pub(super) enum PlainListener {
    Port(Running),
    /// URL of a listener in memory, and a guard that closes the listener's connections on drop.
    Memory(String, DropGuard),
}

impl PlainListener {
    async fn open(api: &ApiServer, network: &Network) -> std::io::Result<Self> {
        if let Network::Host = network {
            return Ok(PlainListener::Port(api.start().await?));
        }
        let (address, mut connections) = network.listen().await?;
        let (api, stop) = (api.clone(), CancellationToken::new());
        let stopped = stop.clone();
        let serving = async move {
            while let Some(Ok(stream)) = connections.next().await {
                let (api, stop) = (api.clone(), stopped.clone());
                tokio::spawn(async move { api.serve_connection(stream, stop).await });
            }
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(serving));
        Ok(PlainListener::Memory(
            format!("http://{address}"),
            stop.drop_guard(),
        ))
    }

    fn url(&self) -> String {
        match self {
            PlainListener::Port(running) => running.url(),
            PlainListener::Memory(url, _) => url.clone(),
        }
    }

    async fn stop(self) {
        match self {
            PlainListener::Port(running) => running.stop().await,
            PlainListener::Memory(_, stop) => drop(stop),
        }
    }
}

/// URL and CA certificate of the server, for child processes.
pub(super) struct TlsEndpoint {
    pub(super) api_url: String,
    pub(super) authority_pem: String,
}

impl Api {
    /// Starts the API server of a plan and its listeners. `with_tls` adds a listener for child processes.
    pub(super) async fn start(
        plan: &Plan,
        systems: &Systems,
        sink: &FactSink,
        with_tls: bool,
        (network, seed): (&Network, Option<u64>),
    ) -> Result<Self, StartError> {
        let io = |what| move |source| StartError::Io { what, source };
        if let Some(server) = &systems.api_server {
            let case = server.start_case(sink).map_err(StartError::ApiServer)?;
            let plain = case
                .clone()
                .listen(false)
                .await
                .map_err(io("open the proxy of the API server"))?;
            let tls = match with_tls {
                true => Some(
                    case.clone()
                        .listen(true)
                        .await
                        .map_err(io("open the TLS proxy of the API server"))?,
                ),
                false => None,
            };
            return Ok(Api::Real { case, plain, tls });
        }
        let mut limits = Limits::default();
        if let Some((descriptors, _)) = machine::descriptor_limit_and_free() {
            // Without this limit, a program with thousands of connections would use up the file descriptors of other cases.
            limits.connections = (descriptors / CASES_AT_ONCE).clamp(CONNECTIONS, limits.connections);
        }
        let options = ServerOptions {
            limits,
            kubelet_less: true,
            // A watch history with more events would need 1 GiB of memory in a cluster with 10,000 pods.
            history: 10_000,
            parsed_bytes: 4 << 20,
            release: plan.release,
            gates: plan.gates.clone(),
            // Serves API versions that the emulated release has removed, because an older program would otherwise fail in every case.
            removed_versions: with_tls && plan.has_default_release(),
            authorization: match plan.grants.is_empty() {
                true => Authorization::AlwaysAllow,
                false => Authorization::Rbac,
            },
            seed: seed.map(|seed| clock::derive_seed(seed, "apiserver", 0)),
            latency: seed.map_or(Duration::ZERO, |_| clock::LATENCY),
            clock: clock::time_of_day,
            ..ServerOptions::default()
        };
        let observer = ApiObserver(sink.clone());
        let api = api_server(options, Some(Arc::new(observer)));
        let plain = PlainListener::open(&api, network)
            .await
            .map_err(io("start the API server"))?;
        let tls = match with_tls {
            true => Some(
                api.start_tls()
                    .await
                    .map_err(io("start the API server with TLS"))?,
            ),
            false => None,
        };
        let granted = plan.grants.keys().copied().collect();
        Ok(Api::Fake {
            api,
            plain,
            tls,
            granted,
        })
    }

    /// Creates an API client. The journal records its requests under this client name.
    pub(super) fn client(&self, name: &str) -> Client {
        match self {
            Api::Fake { api, .. } => Client::Local(api.client(name)),
            Api::Real { case, .. } => Client::Proxied(Proxied(case.clone(), name.into())),
        }
    }

    /// Creates a bearer token for a client.
    pub(super) fn add_client(&self, name: &str) -> String {
        match self {
            Api::Fake { api, granted, .. } => {
                let role = Role::of_client(name).filter(|role| granted.contains(role));
                let group = role.map_or(MASTERS, group_of);
                api.add_user(User::new(name).in_group(group))
            }
            Api::Real { case, .. } => case.add_client(name),
        }
    }

    /// Server URL for programs in this process.
    pub(super) fn url(&self) -> String {
        match self {
            Api::Fake { plain, .. } => plain.url(),
            Api::Real { plain, .. } => plain.url(),
        }
    }

    /// URL and credentials for child processes, also written to `kubeconfig`. `None` if there are no child processes.
    pub(super) fn tls_endpoint(
        &self,
        kubeconfig: &Path,
        token: &str,
    ) -> std::io::Result<Option<TlsEndpoint>> {
        let (api_url, authority_pem) = match self {
            Api::Fake { tls: Some(tls), .. } => {
                tls.write_kubeconfig(kubeconfig, token)?;
                (tls.url(), tls.authority_pem().unwrap_or_default().to_owned())
            }
            Api::Real { tls: Some(tls), .. } => {
                tls.write_kubeconfig(kubeconfig, token)?;
                (tls.url(), tls.authority_pem().to_owned())
            }
            _ => return Ok(None),
        };
        Ok(Some(TlsEndpoint {
            api_url,
            authority_pem,
        }))
    }

    pub(super) fn served_version(&self, group: &str, resource: &str) -> Option<&'static str> {
        match self {
            Api::Fake { api, .. } => api.served_version(group, resource),
            // Objects retain the API version of the plan: cases that need an older version are skipped on a real server.
            Api::Real { .. } => None,
        }
    }

    pub(super) fn add_fault_rule(&self, rule: Rule) -> Result<RuleId, String> {
        let installed = match self {
            Api::Fake { api, .. } => api.add_fault_rule(rule),
            Api::Real { case, .. } => case.add_fault_rule(rule),
        };
        installed.map_err(|error| error.to_string())
    }

    pub(super) fn remove_fault_rule(&self, id: RuleId) {
        match self {
            Api::Fake { api, .. } => drop(api.remove_fault_rule(id)),
            Api::Real { case, .. } => case.remove_fault_rule(id),
        }
    }

    pub(super) fn set_release(&self, release: Release, gates: &BTreeMap<String, bool>) -> Result<(), String> {
        match self {
            Api::Fake { api, .. } => {
                api.set_release(release, gates);
                Ok(())
            }
            Api::Real { .. } => {
                Err("the release and gates of a real API server cannot be changed".to_owned())
            }
        }
    }

    /// Resolves when no API request is in flight.
    pub(super) async fn quiet(&self) {
        match self {
            Api::Fake { api, .. } => api.quiet().await,
            Api::Real { case, .. } => case.quiet().await,
        }
    }

    pub(super) fn is_real(&self) -> bool {
        matches!(self, Api::Real { .. })
    }

    /// Stops the in-memory server, or deletes the objects of the case from a real server. Objects that cannot be deleted remain; the run
    /// lists them at its end.
    pub(super) async fn stop(self) {
        match self {
            Api::Fake { plain, tls, .. } => {
                plain.stop().await;
                if let Some(tls) = tls {
                    tls.stop().await;
                }
            }
            Api::Real { case, .. } => {
                for remaining in case.end().await {
                    tracing::debug!(remaining, "object not deleted at the end of the case");
                }
            }
        }
    }
}

/// An API client of the harness. Fault rules do not apply to its requests.
#[derive(Clone)]
pub(super) enum Client {
    Local(LocalClient),
    Proxied(Proxied),
}

/// A client of a real API server, with its name.
#[derive(Clone)]
pub(super) struct Proxied(Arc<dyn RealApiCase>, Arc<str>);

impl Proxied {
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Arc<Value>, StatusError> {
        let Proxied(case, name) = self;
        Ok(Arc::new(case.clone().call(name, method, path, body).await?))
    }
}

impl Client {
    /// Creates an object in the collection given by the object's apiVersion, kind and namespace.
    pub(super) async fn create(&self, object: Value) -> Result<Arc<Value>, StatusError> {
        match self {
            Client::Local(local) => Ok(local.create(object)?),
            Client::Proxied(Proxied(case, name)) => {
                let group_version = object["apiVersion"].as_str().unwrap_or_default();
                let path = collection_of(&object).and_then(|collection| collection.path_in(group_version));
                let path = path.ok_or_else(|| not_found(&object["kind"].to_string()))?;
                let created = case
                    .clone()
                    .call(name, Method::POST, &path, Some(object.clone()))
                    .await?;
                Ok(Arc::new(case.clone().finish_create(&object, created).await?))
            }
        }
    }

    pub(super) async fn get(&self, at: &ResourceRef) -> Result<Arc<Value>, StatusError> {
        match self {
            Client::Local(local) => Ok(local.get(at)?),
            Client::Proxied(proxied) => proxied.call(Method::GET, &path(at)?, None).await,
        }
    }

    /// Sends a POST request to a subresource, such as a pod's `binding`.
    pub(super) async fn create_subresource(
        &self,
        at: &ResourceRef,
        subresource: &str,
        body: Value,
    ) -> Result<(), StatusError> {
        match self {
            Client::Local(local) => Ok(local.create_subresource(at, subresource, body)?),
            Client::Proxied(proxied) => {
                let path = format!("{}/{subresource}", path(at)?);
                proxied.call(Method::POST, &path, Some(body)).await.map(drop)
            }
        }
    }

    pub(super) async fn patch_merge(
        &self,
        at: &ResourceRef,
        patch: Value,
    ) -> Result<Arc<Value>, StatusError> {
        match self {
            Client::Local(local) => Ok(local.patch_merge(at, patch)?),
            Client::Proxied(proxied) => proxied.call(Method::PATCH, &path(at)?, Some(patch)).await,
        }
    }

    /// Applies a JSON merge patch to a subresource.
    pub(super) async fn patch_subresource(
        &self,
        at: &ResourceRef,
        subresource: &str,
        patch: Value,
    ) -> Result<Arc<Value>, StatusError> {
        match self {
            Client::Local(local) => Ok(local.patch_subresource(at, subresource, patch)?),
            Client::Proxied(proxied) => {
                let path = format!("{}/{subresource}", path(at)?);
                proxied.call(Method::PATCH, &path, Some(patch)).await
            }
        }
    }

    /// Replaces the object with the same apiVersion, kind, namespace and name.
    pub(super) async fn update(&self, object: Value) -> Result<Arc<Value>, StatusError> {
        match self {
            Client::Local(local) => Ok(local.update(object)?),
            Client::Proxied(proxied) => proxied.call(Method::PUT, &path_of(&object)?, Some(object)).await,
        }
    }

    /// Sends a server-side apply request as a field manager.
    pub(super) async fn apply(&self, spec: &ApplySpec) -> Result<Arc<Value>, StatusError> {
        match self {
            Client::Local(local) => Ok(local.apply(spec.object.clone(), &spec.manager, spec.force)?),
            Client::Proxied(Proxied(case, name)) => {
                let path = format!("{}?{}", path_of(&spec.object)?, apply_options(spec));
                let object = spec.object.clone();
                Ok(Arc::new(case.clone().apply(name, &path, object).await?))
            }
        }
    }

    pub(super) async fn delete(&self, at: &ResourceRef) -> Result<(), StatusError> {
        match self {
            Client::Local(local) => Ok(local.delete(at)?),
            Client::Proxied(proxied) => proxied.call(Method::DELETE, &path(at)?, None).await.map(drop),
        }
    }
}

/// Query parameters of a server-side apply request.
fn apply_options(spec: &ApplySpec) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("fieldManager", &spec.manager);
    query.append_pair("force", if spec.force { "true" } else { "false" });
    query.finish()
}

/// The collection for a new object. A namespaced object without a namespace gets the default namespace of workloads, because the path must
/// contain one.
fn collection_of(object: &Value) -> Option<ResourceRef> {
    let collection = ResourceRef::of(object)?.collection();
    let (_, is_namespaced) = ResourceRef::by_plural(ResourceRef::plural_of(object)?)?;
    let has_namespace = object["metadata"]["namespace"].is_string();
    Some(match is_namespaced && !has_namespace {
        true => collection.namespace(WORKLOADS),
        false => collection,
    })
}

fn path_of(object: &Value) -> Result<String, StatusError> {
    let group_version = object["apiVersion"].as_str().unwrap_or_default();
    let path = ResourceRef::of(object).and_then(|reference| reference.path_in(group_version));
    path.ok_or_else(|| not_found(&object["kind"].to_string()))
}

fn path(at: &ResourceRef) -> Result<String, StatusError> {
    at.path().ok_or_else(|| not_found(&format!("{at:?}")))
}

fn not_found(what: &str) -> StatusError {
    StatusError {
        code: 404,
        message: format!("the server could not find the requested resource: {what}"),
    }
}
