//! Resolves the address of a webhook: from its URL, or from its service by the server options or the endpoints of the service.

use crate::admission::StateReader;
use crate::kinds::{ENDPOINT_SLICE, ENDPOINTS, SERVICE, first_ready, port_named};
use crate::machinery::json::{list, string};
use crate::machinery::{ip, metadata};
use crate::object::namespace_range;
use crate::outbound::{ClientConfig, Destination, Endpoint};
use crate::store::Store;

const HTTPS: u16 = 443;
const OF_SERVICE: &str = "kubernetes.io/service-name";

/// Where the next call of a webhook is sent: address, host name and trusted CAs.
pub(super) fn resolve(config: &ClientConfig, store: &Store) -> Destination {
    let authorities = config.ca_bundle.clone();
    let is_remote_allowed = store.options().remote_webhooks;
    match &config.endpoint {
        Endpoint::Url(url) => {
            let rest = url.strip_prefix("https://").unwrap_or(url);
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (name, port) = split(host);
            Destination {
                origin: format!("https://{host}"),
                path: clean_path(path),
                name: name.trim_matches(['[', ']']).to_owned(),
                address: Ok(format!("{name}:{}", port.unwrap_or(HTTPS))),
                is_remote_allowed,
                authorities,
            }
        }
        Endpoint::Service {
            namespace,
            name,
            path,
            port,
        } => {
            let host = format!("{name}.{namespace}.svc");
            let by_options = store.options().services.get(&format!("{namespace}/{name}"));
            Destination {
                origin: format!("https://{host}:{port}"),
                path: clean_path(path),
                name: host,
                address: match by_options {
                    Some(address) => Ok(address.to_string()),
                    None => resolve_endpoint(namespace, name, *port, store),
                },
                is_remote_allowed: is_remote_allowed || by_options.is_some(),
                authorities,
            }
        }
    }
}

/// Removes duplicate slashes and dot segments from a path: many webhooks are installed with an extra slash.
fn clean_path(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Splits host and port. An IPv6 address is in brackets.
fn split(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
        _ => (host, None),
    }
}

/// The address of a ready endpoint of a service, or the reason why there is none.
fn resolve_endpoint(namespace: &str, name: &str, port: u16, store: &Store) -> Result<String, String> {
    let key = format!("{namespace}/{name}");
    let found = store.object(&SERVICE, &key);
    let found = found.ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = &found.value()["spec"];
    if spec["type"] == "ExternalName" {
        return Ok(format!("{}:{port}", string(spec, "externalName")));
    }
    let ports = list(&spec["ports"]).iter();
    let wanted = ports.clone().find(|one| one["port"] == port);
    let wanted = wanted.ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let wanted = string(wanted, "name");
    let from_slices = endpoint_of_slices(namespace, name, wanted, store);
    let endpoints = || first_ready(store.object(&ENDPOINTS, &key)?.value(), wanted);
    from_slices
        .or_else(endpoints)
        .ok_or_else(|| format!("no endpoints available for service {name:?}"))
}

/// The first ready endpoint of a service in its EndpointSlices.
fn endpoint_of_slices(namespace: &str, name: &str, port: &str, store: &Store) -> Option<String> {
    let all = store.objects(&ENDPOINT_SLICE);
    let mut slices = namespace_range(&all, Some(namespace)).map(|(_, slice)| slice.value());
    slices.find_map(|slice| {
        if slice["metadata"]["labels"][OF_SERVICE] != name || metadata::is_deleting(slice) {
            return None;
        }
        let port = port_named(&slice["ports"], port)?;
        let mut endpoints = list(&slice["endpoints"]).iter();
        let ready = endpoints.find(|endpoint| endpoint["conditions"]["ready"] != false)?;
        Some(ip::with_port(list(&ready["addresses"]).first()?.as_str()?, port))
    })
}
