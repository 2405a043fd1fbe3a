//! Options of a server. Does not know how they are implemented.

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
    /// Number of events retained over all resources, from which watches and paged lists can continue. Older events are
    /// compacted: a watch from before gets a `410 Expired` event, a list a 410 response.
    pub history: usize,
    /// Bytes of JSON for which the most recently written objects are also held parsed. Other objects are parsed again
    /// whenever more than their serialized form is needed.
    pub parsed_bytes: usize,
    /// Undelivered events that one watch may have before it is closed. Writers never wait for watchers.
    pub watch_queue: usize,
    /// Behave as a cluster without kubelets: pods bound to a node are deleted at once instead of after the kubelet confirmed
    /// their termination, and new nodes do not get the `node.kubernetes.io/not-ready` taint.
    pub kubelet_less: bool,
    /// Allow privileged containers (`--allow-privileged`).
    pub allow_privileged: bool,
    /// The enabled admission plugins. With `kubelet_less`, nodes are not tainted and service accounts are not required,
    /// whatever is set here.
    pub admission: Admission,
    /// How long event objects are retained after their last write (`--event-ttl`).
    pub event_ttl: Duration,
    /// Interval of compaction: states older than one interval become unreadable, so paged lists end with `410 Expired`
    /// after one to two intervals. Watches continue as far back as `history` reaches.
    pub compaction: Duration,
    /// Authorization mode.
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
    /// Limits on clients.
    pub limits: Limits,
    /// The Kubernetes release whose API is served. Everything outside KEP-1472 is always as in 1.36.
    pub release: Release,
    /// Feature gates by name. Only `CSIStorageCapacity` has an effect: it exists from 1.19, is on by default from 1.21 and is
    /// locked from 1.24 on.
    pub gates: BTreeMap<String, bool>,
    /// Also serve versions that only earlier releases served, for clients older than the server. Reset by
    /// [`crate::ApiServer::set_release`].
    pub removed_versions: bool,
    /// Seed of generated names and UIDs, for reproducible runs. Unset: random. Tokens are always random.
    pub seed: Option<u64>,
    /// Latency added to every request over a connection. In simulated time it makes the clock advance even if a client retries
    /// without a pause.
    pub latency: Duration,
    /// Addresses of webhook services by `namespace/name`; the service port is ignored. Services not listed here are resolved by their
    /// endpoints and endpoint slices.
    pub services: BTreeMap<String, SocketAddr>,
    /// Allow webhooks at non-loopback addresses. Those in `services` are always allowed.
    pub remote_webhooks: bool,
    /// The clock for `creationTimestamp`, `deletionTimestamp` and managed fields.
    pub clock: fn() -> Timestamp,
}

/// Authorization of requests over connections. In-process clients may do everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Authenticated users may do everything; anonymous ones may read health, version and `/.well-known`.
    #[default]
    AlwaysAllow,
    /// RBAC objects decide. The default roles and bindings exist from the start, and members of `system:masters` may do
    /// everything.
    Rbac,
}

/// Limits on the connections, requests and time of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections; further ones are closed at once.
    pub connections: usize,
    /// Maximum number of read requests in flight, watches excepted; further ones are answered 429. 0: unlimited.
    /// (`--max-requests-inflight`)
    pub requests_inflight: usize,
    /// Maximum number of mutating requests in flight (`--max-mutating-requests-inflight`). 0: unlimited.
    pub mutating_requests_inflight: usize,
    /// Bytes of responses that clients may leave unread, over all connections, before lists are answered 429. kube-apiserver has
    /// no such limit: its requests count as in flight until their responses are written.
    pub unread_bytes: usize,
    /// Timeout of the TLS handshake.
    pub handshake: Duration,
    /// Timeout for receiving the headers of a request, including the first of a connection.
    pub headers: Duration,
    /// Timeout of a request, watches excepted, from the end of its headers and including its body; then it is answered 504.
    /// Clients can set a shorter one (`timeout`).
    pub request: Duration,
    /// Timeout for a client that reads nothing of what is being sent, or takes no part of a pending response (up to twice as
    /// long); then its connection is closed.
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
