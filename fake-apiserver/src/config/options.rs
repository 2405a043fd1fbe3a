//! What may be chosen about a server. Does not know how the choices are carried out.

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
    /// How many events are kept for watches and paged lists to go on from, over all resources. Older ones are
    /// compacted: a watch from before gets an `410 Expired` event, a list a 410 answer.
    pub history: usize,
    /// How many bytes of JSON are kept parsed as well, of the objects that were written last. Others are parsed again
    /// whenever more is asked of them than their bytes.
    pub parsed_bytes: usize,
    /// How many undelivered events one watch may have before it is dropped. Writers never wait for watchers.
    pub watch_queue: usize,
    /// There are no kubelets: pods that are bound to a node are deleted at once instead of waiting for a grace
    /// period to be confirmed, and new nodes do not get the `node.kubernetes.io/not-ready` taint.
    pub kubelet_less: bool,
    /// Pods may have privileged containers.
    pub allow_privileged: bool,
    /// The admission plugins that are on. Where there are no kubelets, nodes are not tainted and service accounts are not
    /// looked for whatever is set.
    pub admission: Admission,
    /// How long events are kept after they were last written.
    pub event_ttl: Duration,
    /// How often states that are older than that become unreadable: lists that are cut into pages end with `410 Expired`
    /// after one to two of these. Watches go on for as long as `history` reaches back.
    pub compaction: Duration,
    /// Who decides what users may do.
    pub authorization: Authorization,
    /// Give every namespace its service account `default`, as the controller manager does.
    pub default_service_accounts: bool,
    /// How tokens of service accounts are signed.
    pub account_tokens: AccountTokens,
    /// Which addresses and ports services get, and where the server says that it is.
    pub network: Network,
    /// The authority that has signed the certificates of clients, in PEM: extension servers read it from the config map
    /// `kube-system/extension-apiserver-authentication`.
    pub client_authority: Option<String>,
    /// What peers are granted.
    pub limits: Limits,
    /// The release of Kubernetes whose API is served. Where KEP-1472 is not concerned, 1.36 is served whatever is set.
    pub release: Release,
    /// Feature gates by name. Only `CSIStorageCapacity` changes anything: it exists from 1.19, is on from 1.21, and
    /// cannot be set any more from 1.24 on.
    pub gates: BTreeMap<String, bool>,
    /// Serve the versions that earlier releases served, too: for clients that are older than the server. Ends with
    /// [`crate::ApiServer::set_release`].
    pub removed_versions: bool,
    /// What all generated names and uids follow from, for runs that can be repeated; unset: chance. Tokens are always random.
    pub seed: Option<u64>,
    /// How long every request over a connection is on its way before the server sees it. In simulated time it keeps a client that repeats
    /// itself without a pause from keeping the clock where it is.
    pub latency: Duration,
    /// The flags that the server was started with, by name, which `/flagz` tells to those who may read it; where there are none, it is
    /// not served.
    pub flags: Option<BTreeMap<String, String>>,
    /// Where webhooks are that are named by a service: addresses by `namespace/name`, whatever the port of the service is. Services that
    /// are not here are looked for in their endpoints and endpoint slices.
    pub services: BTreeMap<String, SocketAddr>,
    /// Webhooks are dialled at any address, and not on loopback only; those in `services` always are.
    pub remote_webhooks: bool,
    /// The time of day that `creationTimestamp`, `deletionTimestamp` and managed fields are written with.
    pub clock: fn() -> Timestamp,
}

/// How requests over the wire are authorized. Clients in the server's own process may always do everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Everyone with a token may do everything; everyone else may read health, version and `/.well-known`.
    #[default]
    AlwaysAllow,
    /// The objects of rbac.authorization.k8s.io decide. The default roles and bindings exist from the start, and
    /// members of `system:masters` may do everything.
    Rbac,
}

/// Bounds on what peers may take: connections and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time; further ones are closed at once.
    pub connections: usize,
    /// Reading requests that are answered at the same time, watches excepted; further ones are answered 429. 0 is no
    /// limit.
    pub reading: usize,
    /// The same for requests that change something.
    pub changing: usize,
    /// Bytes of responses that clients may leave unread, over all connections, before lists are answered 429. kube-apiserver has no such
    /// number: its requests count as in flight until their responses are written.
    pub unread_bytes: usize,
    /// How long a peer may take for the TLS handshake.
    pub handshake: Duration,
    /// How long a peer may take to send the headers of a request, the first one included.
    pub headers: Duration,
    /// How long a request may take, watches excepted, from the end of its headers and with its body; it is answered 504
    /// then. Clients can ask for less (`timeout`).
    pub request: Duration,
    /// How long a peer may go without reading anything of what is being sent to it, and without taking a piece of an
    /// answer (up to twice as long); then its connection is closed.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            reading: 400,
            changing: 200,
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
            flags: None,
            services: BTreeMap::new(),
            remote_webhooks: false,
            clock: Timestamp::now,
            limits: Limits::default(),
            release: Release::default(),
            gates: BTreeMap::new(),
        }
    }
}
