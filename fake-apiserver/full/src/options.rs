//! The flags of kube-apiserver and their mapping to server options.
//!
//! Flags whose effect this server does not need are accepted, so that existing command lines work. Flags that would change responses in an
//! unsupported way are rejected.

use super::flags::{Flag, FlagValues, boolean_flag, value_flag};
use fake_apiserver::{Admission, Authorization, Cidr, Limits, Network, ServerOptions, parse_duration};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

const fn ignored_flag(name: &'static str) -> Flag {
    value_flag(name, "")
}

/// Flags that change how the server behaves.
pub(super) const FLAGS: &[Flag] = &[
    boolean_flag("allow-privileged", "Allow privileged containers."),
    boolean_flag(
        "allow-remote-webhooks",
        "Call webhooks at any address, not only at loopback addresses.",
    ),
    value_flag(
        "advertise-address",
        "The address in the endpoints of the service default/kubernetes.",
    ),
    value_flag(
        "authorization-mode",
        "AlwaysAllow, RBAC, or Node,RBAC; the Node authorizer is not implemented, so nodes need RBAC roles.",
    ),
    value_flag(
        "bind-address",
        "The address to listen on, 127.0.0.1 by default; 0.0.0.0 listens on all interfaces.",
    ),
    value_flag(
        "cert-dir",
        "The folder with apiserver.crt and apiserver.key; missing files are created.",
    ),
    value_flag(
        "client-ca-file",
        "The CA certificates that verify client certificates.",
    ),
    value_flag(
        "api-audiences",
        "Accepted audiences of service account tokens; the issuers by default.",
    ),
    value_flag("disable-admission-plugins", "Admission plugins to disable."),
    value_flag("enable-admission-plugins", "Admission plugins to enable."),
    value_flag("event-ttl", "How long Event objects are retained, such as 1h."),
    value_flag(
        "max-mutating-requests-inflight",
        "Limit of concurrent mutating requests.",
    ),
    value_flag(
        "max-requests-inflight",
        "Limit of concurrent non-mutating requests.",
    ),
    value_flag(
        "request-timeout",
        "Timeout of requests other than watches, such as 60s.",
    ),
    value_flag("secure-port", "The port to listen on; 0 selects a free port."),
    value_flag(
        "service-account-issuer",
        "Issuer of service account tokens; further values are also accepted issuers.",
    ),
    value_flag(
        "service-account-key-file",
        "Public keys that verify service account tokens; can be repeated.",
    ),
    value_flag(
        "service-account-signing-key-file",
        "The private key that signs service account tokens.",
    ),
    value_flag("service-cluster-ip-range", "The CIDR of service cluster IPs."),
    value_flag("service-node-port-range", "The port range of NodePort services."),
    value_flag(
        "snapshot",
        "File from which objects are restored at start, and to which they are written at exit.",
    ),
    value_flag("tls-cert-file", "The serving certificate, in PEM."),
    value_flag("tls-private-key-file", "The private key of --tls-cert-file."),
    value_flag(
        "token-auth-file",
        "CSV file of tokens: token, user, UID and groups.",
    ),
    boolean_flag("version", "Print the version."),
];

/// Flags of kube-apiserver that are accepted without effect.
pub(super) const IDLE: &[Flag] = &[
    boolean_flag("anonymous-auth", ""),
    ignored_flag("audit-log-format"),
    ignored_flag("audit-log-maxage"),
    ignored_flag("audit-log-maxbackup"),
    ignored_flag("audit-log-maxsize"),
    ignored_flag("audit-log-path"),
    ignored_flag("audit-policy-file"),
    ignored_flag("cors-allowed-origins"),
    ignored_flag("default-not-ready-toleration-seconds"),
    ignored_flag("default-unreachable-toleration-seconds"),
    ignored_flag("default-watch-cache-size"),
    ignored_flag("emulated-version"),
    boolean_flag("enable-aggregator-routing", ""),
    boolean_flag("enable-bootstrap-token-auth", ""),
    boolean_flag("enable-garbage-collector", ""),
    boolean_flag("enable-priority-and-fairness", ""),
    ignored_flag("encryption-provider-config"),
    ignored_flag("endpoint-reconciler-type"),
    ignored_flag("etcd-cafile"),
    ignored_flag("etcd-certfile"),
    ignored_flag("etcd-compaction-interval"),
    ignored_flag("etcd-keyfile"),
    ignored_flag("etcd-prefix"),
    ignored_flag("etcd-servers"),
    ignored_flag("etcd-servers-overrides"),
    ignored_flag("external-hostname"),
    ignored_flag("feature-gates"),
    ignored_flag("goaway-chance"),
    ignored_flag("http2-max-streams-per-connection"),
    ignored_flag("kubelet-certificate-authority"),
    ignored_flag("kubelet-client-certificate"),
    ignored_flag("kubelet-client-key"),
    ignored_flag("kubelet-preferred-address-types"),
    ignored_flag("kubelet-timeout"),
    ignored_flag("livez-grace-period"),
    ignored_flag("log-flush-frequency"),
    ignored_flag("logging-format"),
    ignored_flag("min-request-timeout"),
    boolean_flag("profiling", ""),
    ignored_flag("proxy-client-cert-file"),
    ignored_flag("proxy-client-key-file"),
    ignored_flag("requestheader-allowed-names"),
    ignored_flag("requestheader-client-ca-file"),
    ignored_flag("requestheader-extra-headers-prefix"),
    ignored_flag("requestheader-group-headers"),
    ignored_flag("requestheader-username-headers"),
    ignored_flag("runtime-config"),
    ignored_flag("service-account-jwks-uri"),
    boolean_flag("service-account-lookup", ""),
    ignored_flag("service-account-max-token-expiration"),
    ignored_flag("shutdown-delay-duration"),
    ignored_flag("storage-backend"),
    ignored_flag("storage-media-type"),
    ignored_flag("tls-cipher-suites"),
    ignored_flag("tls-min-version"),
    ignored_flag("v"),
    ignored_flag("vmodule"),
    boolean_flag("watch-cache", ""),
    ignored_flag("watch-cache-sizes"),
];

pub(super) fn listen_address(typed: &FlagValues) -> Result<SocketAddr, String> {
    let ip: IpAddr = typed
        .parsed("bind-address")?
        .unwrap_or(Ipv4Addr::LOCALHOST.into());
    let port: u16 = typed.parsed("secure-port")?.unwrap_or(6443);
    Ok((ip, port).into())
}

/// Converts the flags to server options. The caller has already read the files that the flags name.
pub(super) fn server_options(
    typed: &FlagValues,
    listen: SocketAddr,
    client_authority: Option<String>,
) -> Result<ServerOptions, String> {
    let defaults = ServerOptions::default();
    let limits = Limits {
        requests_inflight: typed
            .parsed("max-requests-inflight")?
            .unwrap_or(defaults.limits.requests_inflight),
        mutating_requests_inflight: typed
            .parsed("max-mutating-requests-inflight")?
            .unwrap_or(defaults.limits.mutating_requests_inflight),
        request: duration(typed, "request-timeout")?.unwrap_or(defaults.limits.request),
        ..defaults.limits
    };
    Ok(ServerOptions {
        kubelet_less: false,
        allow_privileged: typed.parsed("allow-privileged")?.unwrap_or(false),
        admission: admission(typed)?,
        authorization: authorization(typed)?,
        event_ttl: duration(typed, "event-ttl")?.unwrap_or(defaults.event_ttl),
        network: network(typed, listen)?,
        client_authority,
        remote_webhooks: typed.is_on("allow-remote-webhooks"),
        limits,
        ..defaults
    })
}

fn admission(typed: &FlagValues) -> Result<Admission, String> {
    let mut admission = Admission::kubernetes_defaults();
    for name in typed.split_values("enable-admission-plugins") {
        admission.enable(name).map_err(|why| why.to_string())?;
    }
    for name in typed.split_values("disable-admission-plugins") {
        let unknown = |_| format!("disable-admission-plugins plugin {name:?} is unknown");
        admission.disable(name).map_err(unknown)?;
    }
    Ok(admission)
}

fn authorization(typed: &FlagValues) -> Result<Authorization, String> {
    let modes = typed.split_values("authorization-mode");
    let known = ["AlwaysAllow", "Node", "RBAC"];
    if let Some(other) = modes.iter().find(|mode| !known.contains(mode)) {
        return Err(format!(
            "authorization-mode {other:?} is not a valid mode of this server; choose among AlwaysAllow, Node and RBAC"
        ));
    }
    // A request is allowed if any mode allows it, so with AlwaysAllow the other modes have no effect.
    Ok(if modes.is_empty() || modes.contains(&"AlwaysAllow") {
        Authorization::AlwaysAllow
    } else {
        Authorization::Rbac
    })
}

fn network(typed: &FlagValues, listen: SocketAddr) -> Result<Network, String> {
    let defaults = Network::default();
    let services = match typed.split_values("service-cluster-ip-range").first() {
        // The second range of a dual-stack cluster is ignored.
        Some(range) => range.parse().map_err(|why| format!("{why}"))?,
        None => "10.0.0.0/24".parse::<Cidr>().map_err(|why| why.to_string())?,
    };
    let node_ports = match typed.last("service-node-port-range") {
        Some(text) => parse_port_range(text).ok_or_else(|| {
            format!("invalid argument {text:?} for \"--service-node-port-range\" flag: write a range such as 30000-32767")
        })?,
        None => defaults.node_ports,
    };
    let advertised: Option<IpAddr> = typed.parsed("advertise-address")?;
    Ok(Network {
        services,
        node_ports,
        advertise: (advertised.unwrap_or(listen.ip()), listen.port()).into(),
    })
}

/// Parses a port range, written as `30000-32767` or `30000+2767`.
fn parse_port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
        None => {
            let (first, more) = text.split_once('+')?;
            let first: u16 = first.parse().ok()?;
            (first, first.checked_add(more.parse().ok()?)?)
        }
    };
    (first <= last).then_some(first..=last)
}

fn duration(typed: &FlagValues, name: &str) -> Result<Option<Duration>, String> {
    let Some(text) = typed.last(name) else {
        return Ok(None);
    };
    let wrong = |why: &str| {
        format!("invalid argument {text:?} for \"--{name}\" flag: {why}; write a duration such as 1h0m0s")
    };
    let read = parse_duration(text).map_err(|why| wrong(&why))?;
    read.map(Some).ok_or_else(|| wrong("it must not be negative"))
}
