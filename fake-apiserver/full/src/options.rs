//! The flags of kube-apiserver and their mapping to server options.
//!
//! Flags without effect are accepted, so that existing command lines work. Flags that would change responses in a way
//! that is not supported are rejected.

use super::flags::{Flag, Takes, Typed};
use fake_apiserver::{Admission, Authorization, Cidr, Limits, Network, ServerOptions, parse_duration};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

const fn value(name: &'static str, about: &'static str) -> Flag {
    Flag {
        name,
        takes: Takes::Value,
        about,
    }
}

const fn switch(name: &'static str) -> Flag {
    Flag {
        name,
        takes: Takes::Switch,
        about: "",
    }
}

const fn taken(name: &'static str) -> Flag {
    value(name, "")
}

/// Flags with an effect.
pub(super) const FLAGS: &[Flag] = &[
    Flag {
        name: "allow-privileged",
        takes: Takes::Switch,
        about: "Pods may have privileged containers.",
    },
    Flag {
        name: "allow-remote-webhooks",
        takes: Takes::Switch,
        about: "Webhooks may be at any address: without it only loopback addresses are dialled.",
    },
    value(
        "advertise-address",
        "The address that the endpoints of default/kubernetes name.",
    ),
    value(
        "authorization-mode",
        "AlwaysAllow, RBAC, or Node,RBAC, in which nodes are users like others.",
    ),
    value(
        "bind-address",
        "The address to listen on, 127.0.0.1 by default: say 0.0.0.0 to be reached from other machines.",
    ),
    value(
        "cert-dir",
        "The folder with apiserver.crt and apiserver.key; they are made where they are not there.",
    ),
    value(
        "client-ca-file",
        "The authority that has signed the certificates of clients.",
    ),
    value(
        "api-audiences",
        "Whom tokens have to be for to be good here; the issuers where it is not given.",
    ),
    value("disable-admission-plugins", "Admission plugins to switch off."),
    value("enable-admission-plugins", "Admission plugins to switch on."),
    value("event-ttl", "How long events are kept."),
    value(
        "max-mutating-requests-inflight",
        "How many requests that change something are answered at a time.",
    ),
    value(
        "max-requests-inflight",
        "How many other requests are answered at a time.",
    ),
    value("request-timeout", "How long a request may take."),
    value("secure-port", "The port to listen on; 0 is any free one."),
    value(
        "service-account-issuer",
        "Whom tokens of service accounts are from; may be given again for others that were.",
    ),
    value(
        "service-account-key-file",
        "Keys that tokens of service accounts are known by; may be given again.",
    ),
    value(
        "service-account-signing-key-file",
        "The key that tokens of service accounts are signed with.",
    ),
    value("service-cluster-ip-range", "The addresses that services get."),
    value("service-node-port-range", "The ports of nodes that services get."),
    value(
        "snapshot",
        "The file that objects are read from at the start and written to at the end.",
    ),
    value("tls-cert-file", "The certificate of the server."),
    value("tls-private-key-file", "The key of that certificate."),
    value("token-auth-file", "The tokens of users."),
    Flag {
        name: "version",
        takes: Takes::Switch,
        about: "Print the version.",
    },
];

/// Flags that are accepted without effect.
pub(super) const IDLE: &[Flag] = &[
    switch("anonymous-auth"),
    taken("audit-log-format"),
    taken("audit-log-maxage"),
    taken("audit-log-maxbackup"),
    taken("audit-log-maxsize"),
    taken("audit-log-path"),
    taken("audit-policy-file"),
    taken("cors-allowed-origins"),
    taken("default-not-ready-toleration-seconds"),
    taken("default-unreachable-toleration-seconds"),
    taken("default-watch-cache-size"),
    taken("emulated-version"),
    switch("enable-aggregator-routing"),
    switch("enable-bootstrap-token-auth"),
    switch("enable-garbage-collector"),
    switch("enable-priority-and-fairness"),
    taken("encryption-provider-config"),
    taken("endpoint-reconciler-type"),
    taken("etcd-cafile"),
    taken("etcd-certfile"),
    taken("etcd-compaction-interval"),
    taken("etcd-keyfile"),
    taken("etcd-prefix"),
    taken("etcd-servers"),
    taken("etcd-servers-overrides"),
    taken("external-hostname"),
    taken("feature-gates"),
    taken("goaway-chance"),
    taken("http2-max-streams-per-connection"),
    taken("kubelet-certificate-authority"),
    taken("kubelet-client-certificate"),
    taken("kubelet-client-key"),
    taken("kubelet-preferred-address-types"),
    taken("kubelet-timeout"),
    taken("livez-grace-period"),
    taken("log-flush-frequency"),
    taken("logging-format"),
    taken("min-request-timeout"),
    switch("profiling"),
    taken("proxy-client-cert-file"),
    taken("proxy-client-key-file"),
    taken("requestheader-allowed-names"),
    taken("requestheader-client-ca-file"),
    taken("requestheader-extra-headers-prefix"),
    taken("requestheader-group-headers"),
    taken("requestheader-username-headers"),
    taken("runtime-config"),
    taken("service-account-jwks-uri"),
    switch("service-account-lookup"),
    taken("service-account-max-token-expiration"),
    taken("shutdown-delay-duration"),
    taken("storage-backend"),
    taken("storage-media-type"),
    taken("tls-cipher-suites"),
    taken("tls-min-version"),
    taken("v"),
    taken("vmodule"),
    switch("watch-cache"),
    taken("watch-cache-sizes"),
];

/// The address to listen on.
pub(super) fn address(typed: &Typed) -> Result<SocketAddr, String> {
    let ip: IpAddr = typed
        .parsed("bind-address")?
        .unwrap_or(Ipv4Addr::LOCALHOST.into());
    let port: u16 = typed.parsed("secure-port")?.unwrap_or(6443);
    Ok((ip, port).into())
}

/// The server options; files have been read already.
pub(super) fn server(
    typed: &Typed,
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

fn admission(typed: &Typed) -> Result<Admission, String> {
    let mut admission = Admission::kubernetes_defaults();
    for name in typed.list("enable-admission-plugins") {
        admission.enable(name).map_err(|why| why.to_string())?;
    }
    for name in typed.list("disable-admission-plugins") {
        let unknown = |_| format!("disable-admission-plugins plugin {name:?} is unknown");
        admission.disable(name).map_err(unknown)?;
    }
    Ok(admission)
}

fn authorization(typed: &Typed) -> Result<Authorization, String> {
    let modes = typed.list("authorization-mode");
    let known = ["AlwaysAllow", "Node", "RBAC"];
    if let Some(other) = modes.iter().find(|mode| !known.contains(mode)) {
        return Err(format!(
            "authorization-mode {other:?} is not a valid mode of this server; choose among AlwaysAllow, Node and RBAC"
        ));
    }
    // A request is allowed if one of the modes allows it.
    Ok(if modes.is_empty() || modes.contains(&"AlwaysAllow") {
        Authorization::AlwaysAllow
    } else {
        Authorization::Rbac
    })
}

fn network(typed: &Typed, listen: SocketAddr) -> Result<Network, String> {
    let defaults = Network::default();
    let services = match typed.list("service-cluster-ip-range").first() {
        // The second range of a dual-stack cluster is ignored.
        Some(range) => range.parse().map_err(|why| format!("{why}"))?,
        None => "10.0.0.0/24".parse::<Cidr>().map_err(|why| why.to_string())?,
    };
    let node_ports = match typed.last("service-node-port-range") {
        Some(text) => ports(text).ok_or_else(|| {
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

/// `30000-32767` or `30000+2767`.
fn ports(text: &str) -> Option<RangeInclusive<u16>> {
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

fn duration(typed: &Typed, name: &str) -> Result<Option<Duration>, String> {
    let Some(text) = typed.last(name) else {
        return Ok(None);
    };
    let wrong = |why: &str| {
        format!("invalid argument {text:?} for \"--{name}\" flag: {why}; write one such as 1h0m0s")
    };
    let read = parse_duration(text).map_err(|why| wrong(&why))?;
    read.map(Some).ok_or_else(|| wrong("it is before the present"))
}
