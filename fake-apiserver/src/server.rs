//! The handle of a server: its clients, its state and its listeners.
//!
//! Does not know requests: `http` and `local` carry them to `verbs`.

use crate::http;
use crate::kinds::Kind;
use crate::local::LocalClient;
use crate::observe::Observer;
use crate::options::ServerOptions;
use crate::perturb::{Perturbation, Rule, RuleError, RuleId};
use crate::release::{Profile, Release};
use crate::store::Store;
use crate::verbs;
use parking_lot::RwLock;
use rand::RngExt;
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A Kubernetes API server in memory. Clones are handles of the same server.
#[derive(Clone)]
pub struct ApiServer(Arc<Shared>);

struct Shared {
    store: Arc<Store>,
    /// Names of clients by their bearer tokens.
    tokens: RwLock<HashMap<String, Arc<str>>>,
}

/// A server that listens on a loopback port; dropping it, or `stop`, ends that.
pub struct Running {
    address: SocketAddr,
    stop: DropGuard,
    task: JoinHandle<std::io::Result<()>>,
}

impl ApiServer {
    /// A server with the namespaces that every cluster has, and nothing else.
    pub fn new(options: ServerOptions, observer: Option<Arc<dyn Observer>>) -> Self {
        let store = Arc::new(Store::new(options, observer));
        verbs::create_initial(&store);
        Self(Arc::new(Shared {
            store,
            tokens: RwLock::default(),
        }))
    }

    /// Makes a random bearer token for a client of that name, which is the name that events carry. Several tokens may
    /// share a name.
    pub fn add_client(&self, name: &str) -> String {
        let token = format!("{:032x}", rand::rng().random::<u128>());
        self.0.tokens.write().insert(token.clone(), name.into());
        token
    }

    /// Serves HTTP/1.1 and HTTP/2 without TLS until `shutdown` resolves; then watches end, connections finish and
    /// the call returns.
    ///
    /// Fails when the listener does.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        http::serve(self, listener, None, shutdown).await
    }

    /// Like `serve`, but requests without a token count as those of the client of that name.
    ///
    /// kubectl and everything else made with client-go does not send its token over a connection without TLS: it
    /// gets a listener of its own instead.
    pub async fn serve_as(
        &self,
        client: &str,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        http::serve(self, listener, Some(client.into()), shutdown).await
    }

    /// Binds a free port of 127.0.0.1 and serves it in a background task.
    ///
    /// Fails when no port can be bound.
    pub async fn start(&self) -> std::io::Result<Running> {
        self.start_listener(None).await
    }

    /// Like `start`, but requests without a token count as those of the client of that name (see `serve_as`).
    pub async fn start_as(&self, client: &str) -> std::io::Result<Running> {
        self.start_listener(Some(client.into())).await
    }

    async fn start_listener(&self, client: Option<Arc<str>>) -> std::io::Result<Running> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let (server, stopped) = (self.clone(), stop.clone());
        let task =
            tokio::spawn(
                async move { http::serve(&server, listener, client, stopped.cancelled_owned()).await },
            );
        Ok(Running {
            address,
            stop: stop.drop_guard(),
            task,
        })
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.0.store.revision()
    }

    /// Resolves at the next instant at which no request is in flight (watches excepted) and every open watch has been
    /// sent everything up to the newest revision.
    ///
    /// A request is in flight from its first byte to the last byte of its answer being handed to the connection. A
    /// client that does not read what it watches keeps the server from being quiet until it is dropped.
    pub async fn quiet(&self) {
        self.0.store.activity().idle().await;
    }

    /// Access without a socket, as the client of that name: same checks, same write path, same events.
    pub fn client(&self, name: &str) -> LocalClient {
        LocalClient::new(self.0.store.clone(), name)
    }

    /// Becomes another release of Kubernetes, or the same one with other gates (see [`ServerOptions::gates`]), as a
    /// restarted server would. Objects stay in storage, whether they are served or not; watches of what is no longer
    /// served end, and requests for it are answered 404.
    pub fn set_release(&self, release: Release, gates: &BTreeMap<String, bool>) {
        self.0.store.set_profile(Profile::new(release, gates));
    }

    /// The release that is served.
    pub fn release(&self) -> Release {
        self.0.store.profile().release
    }

    /// The version of a resource that is served, the preferred one where there are several.
    pub fn served_version(&self, group: &str, resource: &str) -> Option<&'static str> {
        Kind::find_served(group, resource, self.0.store.profile()).map(|kind| kind.version)
    }

    /// Installs a perturbation: from now on, matching requests that come over connections (never those of local
    /// clients) meet the rule. Rules count in the order of their installation.
    ///
    /// Fails when the rule makes no sense, or when too many are installed.
    pub fn perturb(&self, rule: Rule) -> Result<RuleId, RuleError> {
        self.0.store.perturb(rule)
    }

    /// Removes a perturbation and lets go of the watches that it holds; whether there was one.
    pub fn unperturb(&self, id: RuleId) -> bool {
        self.0.store.unperturb(id)
    }

    /// The installed perturbations, spent ones included, in the order of their installation.
    pub fn perturbations(&self) -> Vec<Perturbation> {
        self.0.store.perturbations()
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.0.store
    }

    /// The name of the client that a bearer token belongs to.
    pub(crate) fn authenticate(&self, token: &str) -> Option<Arc<str>> {
        self.0.tokens.read().get(token).cloned()
    }
}

impl Running {
    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URL without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends all watches and connections and waits until they have ended.
    pub async fn stop(self) {
        drop(self.stop);
        if let Ok(Err(error)) = self.task.await {
            tracing::warn!(%error, "the listener failed before it was stopped");
        }
    }
}
