//! The flags of kube-apiserver and their mapping to server options.
//!
//! Flags whose effect is not needed here are accepted, so that existing command lines work. Flags that would change responses in an
//! unsupported way are rejected.

use super::flags::{Flag, FlagKind, FlagValues};
use fake_apiserver::{Admission, Authorization, Cidr, Limits, Network, ServerOptions, parse_duration};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

const fn value(name: &'static str, about: &'static str) -> Flag {
    Flag {
        name,
        kind: FlagKind::Value,
        about,
    }
}

const fn switch(name: &'static str) -> Flag {
    Flag {
        name,
        kind: FlagKind::Switch,
        about: "",
    }
}

const fn ignored(name: &'static str) -> Flag {
    value(name, "")
}

/// Flags that change how the server behaves.
pub(super) const FLAGS: &[Flag] = &[
    Flag {
        name: "allow-privileged",
        kind: FlagKind::Switch,
        about: "Allow privileged containers.",
    },
    Flag {
        name: "allow-remote-webhooks",
        kind: FlagKind::Switch,
        about: "Call webhooks at any address, not only at loopback addresses.",
    },
    value(
        "advertise-address",
        "The address in the endpoints of the service default/kubernetes.",
    ),
    value(
        "authorization-mode",
        "AlwaysAllow, RBAC, or Node,RBAC; the Node authorizer is not implemented, so nodes need RBAC roles.",
    ),
    value(
        "bind-address",
        "The address to listen on, 127.0.0.1 by default; 0.0.0.0 listens on all interfaces.",
    ),
    value(
        "cert-dir",
        "The folder with apiserver.crt and apiserver.key; missing files are created.",
    ),
    value(
        "client-ca-file",
        "The CA certificates that verify client certificates.",
    ),
    value(
        "api-audiences",
        "Accepted audiences of service account tokens; the issuers by default.",
    ),
    value("disable-admission-plugins", "Admission plugins to disable."),
    value("enable-admission-plugins", "Admission plugins to enable."),
    value("event-ttl", "How long Event objects are retained, such as 1h."),
    value(
        "max-mutating-requests-inflight",
        "Limit of concurrent mutating requests.",
    ),
    value(
        "max-requests-inflight",
        "Limit of concurrent non-mutating requests.",
    ),
    value(
        "request-timeout",
        "Timeout of requests other than watches, such as 60s.",
    ),
    value("secure-port", "The port to listen on; 0 selects a free port."),
    value(
        "service-account-issuer",
        "Issuer of service account tokens; further values are also accepted issuers.",
    ),
    value(
        "service-account-key-file",
        "Public keys that verify service account tokens; can be repeated.",
    ),
    value(
        "service-account-signing-key-file",
        "The private key that signs service account tokens.",
    ),
    value("service-cluster-ip-range", "The CIDR of service cluster IPs."),
    value("service-node-port-range", "The port range of NodePort services."),
    value(
        "snapshot",
        "File from which objects are restored at start, and to which they are written at exit.",
    ),
    value("tls-cert-file", "The serving certificate, in PEM."),
    value("tls-private-key-file", "The private key of --tls-cert-file."),
    value(
        "token-auth-file",
        "CSV file of tokens: token, user, UID and groups.",
    ),
    Flag {
        name: "version",
        kind: FlagKind::Switch,
        about: "Print the version.",
    },
];

/// Flags that are accepted without effect.
pub(super) const IDLE: &[Flag] = &[
    switch("anonymous-auth"),
    ignored("audit-log-format"),
    ignored("audit-log-maxage"),
    ignored("audit-log-maxbackup"),
    ignored("audit-log-maxsize"),
    ignored("audit-log-path"),
    ignored("audit-policy-file"),
    ignored("cors-allowed-origins"),
    ignored("default-not-ready-toleration-seconds"),
    ignored("default-unreachable-toleration-seconds"),
    ignored("default-watch-cache-size"),
    ignored("emulated-version"),
    switch("enable-aggregator-routing"),
    switch("enable-bootstrap-token-auth"),
    switch("enable-garbage-collector"),
    switch("enable-priority-and-fairness"),
    ignored("encryption-provider-config"),
    ignored("endpoint-reconciler-type"),
    ignored("etcd-cafile"),
    ignored("etcd-certfile"),
    ignored("etcd-compaction-interval"),
    ignored("etcd-keyfile"),
    ignored("etcd-prefix"),
    ignored("etcd-servers"),
    ignored("etcd-servers-overrides"),
    ignored("external-hostname"),
    ignored("feature-gates"),
    ignored("goaway-chance"),
    ignored("http2-max-streams-per-connection"),
    ignored("kubelet-certificate-authority"),
    ignored("kubelet-client-certificate"),
    ignored("kubelet-client-key"),
    ignored("kubelet-preferred-address-types"),
    ignored("kubelet-timeout"),
    ignored("livez-grace-period"),
    ignored("log-flush-frequency"),
    ignored("logging-format"),
    ignored("min-request-timeout"),
    switch("profiling"),
    ignored("proxy-client-cert-file"),
    ignored("proxy-client-key-file"),
    ignored("requestheader-allowed-names"),
    ignored("requestheader-client-ca-file"),
    ignored("requestheader-extra-headers-prefix"),
    ignored("requestheader-group-headers"),
    ignored("requestheader-username-headers"),
    ignored("runtime-config"),
    ignored("service-account-jwks-uri"),
    switch("service-account-lookup"),
    ignored("service-account-max-token-expiration"),
    ignored("shutdown-delay-duration"),
    ignored("storage-backend"),
    ignored("storage-media-type"),
    ignored("tls-cipher-suites"),
    ignored("tls-min-version"),
    ignored("v"),
    ignored("vmodule"),
    switch("watch-cache"),
    ignored("watch-cache-sizes"),
];

pub(super) fn address(typed: &FlagValues) -> Result<SocketAddr, String> {
    let ip: IpAddr = typed
        .parsed("bind-address")?
        .unwrap_or(Ipv4Addr::LOCALHOST.into());
    let port: u16 = typed.parsed("secure-port")?.unwrap_or(6443);
    Ok((ip, port).into())
}

/// Converts the flags to server options. The caller has read the files that the flags name.
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
