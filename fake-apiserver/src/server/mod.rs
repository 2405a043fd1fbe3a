//! The API of a server: clients, state and listeners.
//!
//! Does not handle requests: `http` and `local` pass them to `verbs`.

mod kubeconfig;
mod snapshot;

pub use kubeconfig::Kubeconfig;
pub use snapshot::SnapshotError;

use crate::access::auth::{TokenFileError, User};
use crate::access::usage::Usage;
use crate::config::options::ServerOptions;
use crate::config::release::{Profile, Release};
use crate::controllers;
use crate::fault_injection::RuleId;
use crate::fault_injection::{InstalledRule, Rule, RuleError};
use crate::http::tls::Tls;
use crate::http::{self, ListenerConfig, Service};
use crate::kinds::Catalogue;
use crate::local::LocalClient;
use crate::observe::Observer;
use crate::store::Extension;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A Kubernetes API server in memory. Clones are handles to the same server.
#[derive(Clone)]
pub struct ApiServer(Arc<Service>);

/// A server that listens on a loopback port, until it is dropped or stopped with `stop`.
pub struct Running {
    address: SocketAddr,
    tls: Option<Tls>,
    stop: DropGuard,
    task: JoinHandle<std::io::Result<()>>,
}

impl ApiServer {
    /// Creates a server with the objects that kube-apiserver creates at startup, such as namespaces and priority classes.
    pub fn new(options: ServerOptions, observer: Option<Arc<dyn Observer>>) -> Self {
        Self::with_extensions(options, observer, Vec::new())
    }

    /// Like [`ApiServer::new`], with resources, admission plugins, webhooks, policies and controllers of other crates.
    pub fn with_extensions(
        options: ServerOptions,
        observer: Option<Arc<dyn Observer>>,
        extensions: Vec<Extension>,
    ) -> Self {
        let service = Service::new(options, observer, extensions);
        controllers::bootstrap(&service.store);
        Self(Arc::new(service))
    }

    /// Creates a random bearer token for a client. `name` is the user name, and the client name that observers receive; several tokens may
    /// have the same name. The only group of the user is `system:authenticated`.
    pub fn add_client(&self, name: &str) -> String {
        self.add_user(User::new(name))
    }

    /// Creates a random bearer token for a user.
    pub fn add_user(&self, user: User) -> String {
        self.0.store.authenticator().create_token(user)
    }

    /// Adds the tokens of a token file (`token,user,uid,"group1,group2"`, the format of `kube-apiserver --token-auth-file`) and returns the
    /// number of tokens.
    ///
    /// Errors if a line is invalid; no token is added then.
    pub fn add_token_file(&self, text: &str) -> Result<usize, TokenFileError> {
        self.0.store.authenticator().add_file(text)
    }

    /// Serves HTTP/1.1 and HTTP/2 without TLS until `shutdown` resolves. On shutdown, watches end and connections finish before this call
    /// returns.
    ///
    /// Errors if the listener fails.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        http::serve(&self.0, listener, ListenerConfig::plain(None), shutdown).await
    }

    /// Like `serve`, with TLS. HTTP/1.1 or HTTP/2 is negotiated by ALPN.
    pub async fn serve_tls(
        &self,
        tls: &Tls,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        http::serve(&self.0, listener, ListenerConfig::tls(tls), shutdown).await
    }

    /// Like `serve`, but requests without a token belong to the client `client`, who has all permissions.
    ///
    /// For kubectl and other client-go programs, which do not send tokens over connections without TLS. Each client needs its own listener.
    pub async fn serve_as(
        &self,
        client: &str,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        http::serve(&self.0, listener, ListenerConfig::plain(Some(client)), shutdown).await
    }

    /// Serves one connection on any stream until it ends or `shutdown` is cancelled, for clients in the same process.
    pub async fn serve_connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        shutdown: CancellationToken,
    ) {
        http::serve_connection(&self.0, stream, shutdown).await;
    }

    /// Binds a free port on 127.0.0.1 and serves it in a background task.
    ///
    /// Errors if no port can be bound.
    pub async fn start(&self) -> std::io::Result<Running> {
        self.start_listener(ListenerConfig::plain(None), None).await
    }

    /// Like `start`, but requests without a token belong to the client `client` (see `serve_as`).
    pub async fn start_as(&self, client: &str) -> std::io::Result<Running> {
        self.start_listener(ListenerConfig::plain(Some(client)), None)
            .await
    }

    /// Like `start`, with TLS. `Running::write_kubeconfig` writes a kubeconfig for clients.
    ///
    /// Errors if no port can be bound or no certificate can be created.
    pub async fn start_tls(&self) -> std::io::Result<Running> {
        let tls = Tls::generate(Ipv4Addr::LOCALHOST.into()).map_err(std::io::Error::other)?;
        self.start_listener(ListenerConfig::tls(&tls), Some(tls)).await
    }

    async fn start_listener(&self, listening: ListenerConfig, tls: Option<Tls>) -> std::io::Result<Running> {
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

    /// All objects, including secrets, as one document that `restore` accepts.
    pub fn snapshot(&self) -> String {
        snapshot::create(&self.0.store)
    }

    /// Restores the objects of a snapshot, replaces existing objects, and returns the number of restored objects. UIDs and timestamps are
    /// preserved; resourceVersions are new.
    ///
    /// Errors if the document is not a snapshot or has objects of an unknown kind; objects restored before the error remain.
    pub fn restore(&self, snapshot: &str) -> Result<usize, SnapshotError> {
        snapshot::restore(&self.0.store, snapshot)
    }

    /// The newest revision: the resourceVersion of a list that starts now.
    pub fn revision(&self) -> u64 {
        self.0.store.revision()
    }

    /// Resolves as soon as no request except watches is in flight and all open watches have sent the events up to the newest revision.
    ///
    /// A request is in flight from its first byte until the last byte of its response is handed to the connection. A client
    /// that does not read its watch delays `quiet` until the watch is closed.
    pub async fn quiet(&self) {
        self.0.store.activity().idle().await;
    }

    /// Creates an in-process client with this name. Validation, write path and events are the same as for requests over connections.
    pub fn client(&self, name: &str) -> LocalClient {
        LocalClient::new(self.0.store.clone(), name)
    }

    /// Switches to another Kubernetes release, or to other gates (see [`ServerOptions::gates`]), as a restart of the server would. All
    /// stored objects remain. If a resource is no longer served, its watches end, and requests for it return 404.
    pub fn set_release(&self, release: Release, gates: &BTreeMap<String, bool>) {
        self.0.store.set_profile(Profile::new(release, gates));
        controllers::collect_garbage(&self.0.store);
    }

    /// The Kubernetes release whose API the server serves now.
    pub fn release(&self) -> Release {
        self.0.store.profile().release
    }

    /// The served version of a resource; if it has several, the preferred one.
    pub fn served_version(&self, group: &str, resource: &str) -> Option<&'static str> {
        let api = self.0.store.api();
        let kind = api.catalogue.find_served(group, resource, api.profile);
        kind.map(|kind| kind.version)
    }

    /// Whether a release serves a version of a resource, with the default values of its gates. Returns true for resources that this server
    /// does not know.
    pub fn serves(release: Release, group: &str, version: &str, plural: &str) -> bool {
        let profile = Profile::new(release, &BTreeMap::new());
        let catalogue = Catalogue::all_built_in();
        let found = catalogue.find(group, version, plural);
        found.is_none_or(|kind| catalogue.served_definition(kind, profile).is_some())
    }

    /// Installs a fault rule for requests over connections. Requests of in-process clients are not affected. Rules are evaluated in the
    /// order of their installation.
    ///
    /// Errors if the rule is invalid, or if too many rules are installed.
    pub fn add_fault_rule(&self, rule: Rule) -> Result<RuleId, RuleError> {
        self.0.store.add_fault_rule(rule)
    }

    /// Removes a fault rule and resumes the watches that it holds; returns whether the rule existed.
    pub fn remove_fault_rule(&self, id: RuleId) -> bool {
        self.0.store.remove_fault_rule(id)
    }

    /// The installed fault rules in the order of installation, including rules that have been applied as often as their `times` permits.
    pub fn fault_rules(&self) -> Vec<InstalledRule> {
        self.0.store.fault_rules()
    }

    /// The permissions that users have used so far, sorted; at most some thousand different permissions are recorded. In-process clients
    /// are not included, because they need no permissions. See also `minimal_roles`.
    pub fn usage(&self) -> Vec<Usage> {
        self.0.usage.list()
    }
}

impl Running {
    /// The loopback address and port on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a URL without a path.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate authority that clients must trust, in PEM; `None` without TLS.
    pub fn authority_pem(&self) -> Option<&str> {
        self.tls.as_ref().map(Tls::authority_pem)
    }

    /// Writes a kubeconfig file with mode 0600 for the client with this token. Creates missing folders and replaces an existing file.
    ///
    /// kubectl sends tokens only over TLS, so the file works only with a server that was started with TLS.
    pub fn write_kubeconfig(&self, path: &Path, token: &str) -> std::io::Result<()> {
        let config = Kubeconfig {
            server: &self.url(),
            authority_pem: self.authority_pem(),
            token,
        };
        config.write(path)
    }

    /// Ends all watches and connections, and waits until they have ended.
    pub async fn stop(self) {
        drop(self.stop);
        if let Ok(Err(error)) = self.task.await {
            tracing::warn!(%error, "the listener failed before it was stopped");
        }
    }
}
