//! The handle of a server: its clients, its state and its listeners.
//!
//! Does not know requests: `http` and `local` carry them to `verbs`.

mod kubeconfig;
mod snapshot;

pub use kubeconfig::Kubeconfig;
pub use snapshot::SnapshotError;

use crate::access::auth::{TokenFileError, User};
use crate::access::usage::Usage;
use crate::config::options::ServerOptions;
use crate::config::release::{Profile, Release};
use crate::controllers;
use crate::http::tls::Tls;
use crate::http::{self, Listening, Service};
use crate::kinds::Catalogue;
use crate::local::LocalClient;
use crate::observe::Observer;
use crate::perturb::RuleId;
use crate::perturb::{Perturbation, Rule, RuleError};
use crate::plugin::AdmissionPlugin;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A Kubernetes API server in memory. Clones are handles of the same server.
#[derive(Clone)]
pub struct ApiServer(Arc<Service>);

/// A server that listens on a loopback port; dropping it, or `stop`, ends that.
pub struct Running {
    address: SocketAddr,
    tls: Option<Tls>,
    stop: DropGuard,
    task: JoinHandle<std::io::Result<()>>,
}

impl ApiServer {
    /// A server with what kube-apiserver makes when it starts: namespaces, priority classes and its record of tokens.
    pub fn new(options: ServerOptions, observer: Option<Arc<dyn Observer>>) -> Self {
        Self::with_plugins(options, observer, Vec::new())
    }

    /// Like [`ApiServer::new`], with admission plugins of other crates, which run after those of the core.
    pub fn with_plugins(
        options: ServerOptions,
        observer: Option<Arc<dyn Observer>>,
        plugins: Vec<Arc<dyn AdmissionPlugin>>,
    ) -> Self {
        let service = Service::new(options, observer, plugins);
        controllers::bootstrap(&service.store);
        Self(Arc::new(service))
    }

    /// Makes a random bearer token for a client of that name, which is the name that events carry. Several tokens may
    /// share a name. The client is in no group but `system:authenticated`.
    pub fn add_client(&self, name: &str) -> String {
        self.add_user(User::new(name))
    }

    /// Makes a random bearer token for a user.
    pub fn add_user(&self, user: User) -> String {
        self.0.store.authenticator().add(user)
    }

    /// Takes the tokens of a token file (`token,user,uid,"group1,group2"`, as `kube-apiserver --token-auth-file` has it)
    /// and returns how many there are.
    ///
    /// Fails when a line is wrong; then no token of the text is taken.
    pub fn add_token_file(&self, text: &str) -> Result<usize, TokenFileError> {
        self.0.store.authenticator().add_file(text)
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
        http::serve(&self.0, listener, Listening::plain(None), shutdown).await
    }

    /// Like `serve`, with TLS: HTTP/1.1 or HTTP/2, whichever the peer prefers by ALPN.
    pub async fn serve_tls(
        &self,
        tls: &Tls,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        http::serve(&self.0, listener, Listening::tls(tls), shutdown).await
    }

    /// Like `serve`, but requests without a token count as those of the client of that name, who may do everything.
    ///
    /// kubectl and everything else made with client-go does not send its token over a connection without TLS: it
    /// gets a listener of its own instead.
    pub async fn serve_as(
        &self,
        client: &str,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        http::serve(&self.0, listener, Listening::plain(Some(client)), shutdown).await
    }

    /// Serves one connection, whatever carries it, until it ends or `shutdown` is cancelled: for clients in the server's own process.
    pub async fn serve_connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        shutdown: CancellationToken,
    ) {
        http::serve_connection(&self.0, stream, shutdown).await;
    }

    /// Binds a free port of 127.0.0.1 and serves it in a background task.
    ///
    /// Fails when no port can be bound.
    pub async fn start(&self) -> std::io::Result<Running> {
        self.start_listener(Listening::plain(None), None).await
    }

    /// Like `start`, but requests without a token count as those of the client of that name (see `serve_as`).
    pub async fn start_as(&self, client: &str) -> std::io::Result<Running> {
        self.start_listener(Listening::plain(Some(client)), None).await
    }

    /// Like `start`, with TLS. `Running::write_kubeconfig` writes what clients need.
    ///
    /// Fails when no port can be bound or no certificate can be made.
    pub async fn start_tls(&self) -> std::io::Result<Running> {
        let tls = Tls::generate(Ipv4Addr::LOCALHOST.into()).map_err(std::io::Error::other)?;
        self.start_listener(Listening::tls(&tls), Some(tls)).await
    }

    async fn start_listener(&self, listening: Listening, tls: Option<Tls>) -> std::io::Result<Running> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let (service, stopped) = (self.0.clone(), stop.clone());
        let task = tokio::spawn(async move {
            http::serve(&service, listener, listening, stopped.cancelled_owned()).await
        });
        Ok(Running {
            address,
            tls,
            stop: stop.drop_guard(),
            task,
        })
    }

    /// All objects as one document, for `restore`. It holds secrets.
    pub fn snapshot(&self) -> String {
        snapshot::taken(&self.0.store)
    }

    /// Puts the objects of a snapshot in the places of those that are there; returns how many. They keep their uids and
    /// times, and get new revisions.
    ///
    /// Fails where the document is no snapshot, or has objects of a kind that is not there; objects before that one stay.
    pub fn restore(&self, snapshot: &str) -> Result<usize, SnapshotError> {
        snapshot::restore(&self.0.store, snapshot)
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
        controllers::collect_garbage(&self.0.store);
    }

    /// The release that is served.
    pub fn release(&self) -> Release {
        self.0.store.profile().release
    }

    /// The version of a resource that is served, the preferred one where there are several.
    pub fn served_version(&self, group: &str, resource: &str) -> Option<&'static str> {
        let api = self.0.store.api();
        let kind = api.catalogue.find_served(group, resource, api.profile);
        kind.map(|kind| kind.version)
    }

    /// Whether a release serves a version of a resource, with its gates as they are by default. What is not known here
    /// is taken for
    /// served.
    pub fn serves(release: Release, group: &str, version: &str, plural: &str) -> bool {
        let profile = Profile::new(release, &BTreeMap::new());
        let catalogue = Catalogue::built_in();
        let found = catalogue.find(group, version, plural);
        found.is_none_or(|kind| catalogue.served(kind, profile).is_some())
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

    /// Who has used which permission so far, sorted; at most some thousand different ones are remembered. Clients in
    /// the server's own process are left out: they need no permission. See also `minimal_roles`.
    pub fn usage(&self) -> Vec<Usage> {
        self.0.usage.list()
    }
}

impl Running {
    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URL without a path.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of the authority that clients have to trust, in PEM; none without TLS.
    pub fn authority_pem(&self) -> Option<&str> {
        self.tls.as_ref().map(Tls::authority_pem)
    }

    /// Writes a kubeconfig file for the client with that token. Only the owner can read it (mode 0600), from its first
    /// byte on; folders are made as needed, and a file that was there is replaced.
    ///
    /// kubectl sends no token without TLS: the file is of use to it only for a server with TLS.
    pub fn write_kubeconfig(&self, path: &Path, token: &str) -> std::io::Result<()> {
        let config = Kubeconfig {
            server: &self.url(),
            authority_pem: self.authority_pem(),
            token,
        };
        config.write(path)
    }

    /// Ends all watches and connections and waits until they have ended.
    pub async fn stop(self) {
        drop(self.stop);
        if let Ok(Err(error)) = self.task.await {
            tracing::warn!(%error, "the listener failed before it was stopped");
        }
    }
}
