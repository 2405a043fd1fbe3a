//! Non-resource requests: health, metrics, version, discovery and OpenAPI.
//!
//! Owns which document belongs to which path. Does not know authorization.

use super::endpoint::ConnectionContext;
use super::head::RequestHead;
use super::negotiate::Accept;
use super::respond::{self, CompleteResponse};
use super::route::NonResource;
use super::{gzip, health, openapi};
use crate::documents::{discovery, root};
use crate::http::metrics;
use crate::verbs::call::Params;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue, IF_NONE_MATCH, VARY};
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode};

/// Responds to a non-resource request. Only the metrics paths distinguish methods: DELETE resets the metrics.
pub(super) fn non_resource_response(
    endpoint: &ConnectionContext,
    head: &RequestHead,
    request: &Request<Incoming>,
    special: &NonResource,
    params: &Params,
) -> CompleteResponse {
    let api = &endpoint.service.store.api();
    let open_api = endpoint.service.store.open_api.as_ref();
    match special {
        NonResource::Health(which, rest) => {
            let (store, stop) = (&endpoint.service.store, &endpoint.stop);
            health::health_response(which, rest, params, store, stop).unwrap_or_else(respond::not_found_text)
        }
        NonResource::Metrics | NonResource::Indicators if request.method() == Method::DELETE => {
            // DELETE of `/metrics/slis` also resets the metrics: the service level indicators have no counters of their own.
            endpoint.service.metrics.reset();
            respond::text(200, "metrics reset\n")
        }
        NonResource::Metrics => {
            respond::text_with_media_type(200, metrics::MEDIA, endpoint.service.metrics.text())
        }
        NonResource::Indicators => {
            let text = health::service_level_indicators(&endpoint.service.store, &endpoint.stop);
            respond::text_with_media_type(200, metrics::MEDIA, text)
        }
        NonResource::Version => respond::json(200, &root::version(api), head.pretty),
        NonResource::Paths => {
            let swagger = open_api.map(|_| "/openapi/v2".to_owned());
            let paths = root::paths(api, health::paths().chain(swagger));
            respond::json(200, &paths, head.pretty)
        }
        NonResource::Swagger => match open_api {
            Some(forms) => openapi::swagger(api, forms, request.headers())
                .header(VARY, HeaderValue::from_static("Accept-Encoding"))
                .gzip_if_accepted(head.accepts_gzip, gzip::DOCUMENT_BYTES_MIN),
            None => respond::not_found_text(),
        },
        NonResource::OpenApi(None) => openapi::document_index(api, request.headers()),
        NonResource::OpenApi(Some(group_path)) => {
            let encode = open_api.map(|forms| forms.version3_protobuf);
            let found = openapi::group_version_document(group_path, api, encode, params, request.headers());
            found.unwrap_or_else(|| respond::empty(StatusCode::NOT_FOUND))
        }
        NonResource::Discovery(document) => {
            let aggregated = match head.accept {
                Accept::Aggregated(version) => Some(version),
                _ => None,
            };
            let found = discovery::document(document, aggregated, address(request), api);
            let document = match aggregated {
                Some(_) => {
                    respond::cacheable_document(&found, head.pretty, request.headers().get(IF_NONE_MATCH))
                }
                None => respond::document(200, &found.document, head.accept, head.pretty),
            };
            document.gzip_if_accepted(head.accepts_gzip, gzip::OBJECT_BYTES_MIN)
        }
    }
}

/// The host that the client addressed: the authority in HTTP/2, the `Host` header in HTTP/1.1.
fn address(request: &Request<Incoming>) -> &str {
    let host = || request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let authority = request.uri().authority().map(Authority::as_str);
    authority.or_else(host).unwrap_or("127.0.0.1")
}
