//! Options of a server. Does not know how the options are implemented.

use crate::config::account_tokens::AccountTokens;
use crate::config::admission::Admission;
use crate::config::network::Network;
use crate::config::release::Release;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Options of an [`ApiServer`](crate::ApiServer).
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Number of changes that the log retains over all resources, so that watches and paged lists can continue. Older changes are
    /// compacted: a watch that starts at an older revision gets a `410 Expired` event, a list a 410 response.
    pub history: usize,
    /// Size, in bytes of JSON, up to which the most recently written objects are also cached in parsed form. Other objects are parsed
    /// whenever their content is read.
    pub parsed_bytes: usize,
    /// Maximum number of undelivered events of a watch; if a watch has more, it is closed. Writers never wait for watches.
    pub watch_queue: usize,
    /// Behave like a cluster without kubelets: pods bound to a node are deleted at once, without waiting for a kubelet to confirm their
    /// termination, and new nodes do not get the `node.kubernetes.io/not-ready` taint.
    pub kubelet_less: bool,
    /// Allow privileged containers (`--allow-privileged`).
    pub allow_privileged: bool,
    /// The enabled admission plugins. With `kubelet_less`, nodes are not tainted and service accounts are not required even if the plugins
    /// are enabled.
    pub admission: Admission,
    /// How long Event objects are retained after their last write (`--event-ttl`).
    pub event_ttl: Duration,
    /// Interval of compaction. Paged lists can continue at an old revision for one to two intervals; afterwards, such lists fail with
    /// `410 Expired`. Watches can resume as far back as `history` reaches.
    pub compaction: Duration,
    /// Authorization of requests over connections: AlwaysAllow or RBAC.
    pub authorization: Authorization,
    /// Create the service account `default` in each namespace, as kube-controller-manager does.
    pub default_service_accounts: bool,
    /// Signing and verification of service account tokens.
    pub account_tokens: AccountTokens,
    /// Service CIDR, node ports and advertised address.
    pub network: Network,
    /// The certificate authority of client certificates, in PEM. Extension API servers read it from the config map
    /// `kube-system/extension-apiserver-authentication`.
    pub client_authority: Option<String>,
    /// Maximum numbers of connections and requests, and timeouts.
    pub limits: Limits,
    /// The Kubernetes release whose API is served. Except for storage capacity and a few other parts, all releases have the API of 1.36.
    pub release: Release,
    /// Feature gates by name. Only `CSIStorageCapacity` has an effect: it exists from 1.19, is on by default from 1.21 and is
    /// locked from 1.24 on.
    pub gates: BTreeMap<String, bool>,
    /// Also serve API versions that only earlier releases served, for clients older than the release. [`crate::ApiServer::set_release`]
    /// resets this option.
    pub removed_versions: bool,
    /// Seed for generated names and UIDs, for reproducible runs. Unset: random. Tokens are always random.
    pub seed: Option<u64>,
    /// Latency added to every request over a connection. In simulated time, this makes the clock advance even if a client retries without a
    /// pause.
    pub latency: Duration,
    /// Addresses of webhook services by `namespace/name`; the service port is ignored. Addresses of other services are read from their
    /// Endpoints and EndpointSlices.
    pub services: BTreeMap<String, SocketAddr>,
    /// Allow webhooks at addresses other than loopback. Addresses in `services` are always allowed.
    pub remote_webhooks: bool,
    /// The clock for `creationTimestamp`, `deletionTimestamp` and managed fields.
    pub clock: fn() -> Timestamp,
}

/// Authorization of requests over connections. In-process clients have all permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Authenticated users have all permissions; anonymous users may read health, version and `/.well-known`.
    #[default]
    AlwaysAllow,
    /// Authorization by RBAC objects. The default roles and bindings exist from the start. Members of `system:masters` have all
    /// permissions.
    Rbac,
}

/// Limits on connections, requests and response times of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections; additional connections are closed at once.
    pub connections: usize,
    /// Maximum number of read requests in flight, except watches; additional requests fail with 429. 0: unlimited.
    /// (`--max-requests-inflight`)
    pub requests_inflight: usize,
    /// Maximum number of mutating requests in flight (`--max-mutating-requests-inflight`). 0: unlimited.
    pub mutating_requests_inflight: usize,
    /// Maximum size, in bytes, of responses that clients have not read yet, over all connections. Beyond it, lists fail with 429.
    /// kube-apiserver has no such limit: there, a request counts as in flight until its response is written.
    pub unread_bytes: usize,
    /// Time after which a connection without complete TLS handshake is closed.
    pub handshake: Duration,
    /// Timeout for receiving the headers of a request, also of the first request on a new connection.
    pub headers: Duration,
    /// Time after which a request other than a watch fails with 504. The time starts after the headers and includes reading the body.
    /// Clients can set a shorter timeout (parameter `timeout`).
    pub request: Duration,
    /// Time without progress of a write, after which the connection is closed. A connection is also closed if, for at most twice this time,
    /// its client has read nothing more of one of its responses.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            requests_inflight: 400,
            mutating_requests_inflight: 200,
            unread_bytes: 1 << 30,
            handshake: Duration::from_secs(10),
            headers: Duration::from_secs(30),
            request: Duration::from_secs(60),
            stalled: Duration::from_secs(60),
        }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            history: 100_000,
            parsed_bytes: 64 << 20,
            watch_queue: 16_384,
            kubelet_less: true,
            allow_privileged: true,
            admission: Admission::default(),
            event_ttl: Duration::from_secs(60 * 60),
            compaction: Duration::from_secs(5 * 60),
            authorization: Authorization::default(),
            default_service_accounts: false,
            account_tokens: AccountTokens::default(),
            network: Network::default(),
            client_authority: None,
            removed_versions: false,
            seed: None,
            latency: Duration::ZERO,
            services: BTreeMap::new(),
            remote_webhooks: false,
            clock: Timestamp::now,
            limits: Limits::default(),
            release: Release::default(),
            gates: BTreeMap::new(),
        }
    }
}
