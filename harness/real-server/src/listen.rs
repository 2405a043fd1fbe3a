//! Listeners of a case. The token of a request identifies its client.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use harness::listening::{BODY_MAX, HttpListener};
use harness::network::Network;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};

use crate::case::Case;
use crate::message::{ClientRequest, FullResponse, Reply};
use crate::proxy::handle;

type Body = UnsyncBoxBody<Bytes, ConnectionCut>;

/// Error of a response body that makes hyper close the client's connection.
#[derive(Debug, thiserror::Error)]
#[error("cut")]
struct ConnectionCut;

pub(crate) async fn listen(case: Arc<Case>, with_tls: bool) -> std::io::Result<HttpListener> {
    HttpListener::open(&Network::Host, with_tls, move |request| {
        serve(Arc::clone(&case), request)
    })
    .await
}

async fn serve(case: Arc<Case>, request: Request<Incoming>) -> Result<Response<Body>, ConnectionCut> {
    let (head, body) = request.into_parts();
    let token = head
        .headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let token = token.and_then(|text| text.strip_prefix("Bearer "));
    let Some(client) = token.and_then(|token| case.client(token)) else {
        return Ok(to_hyper(FullResponse::failure(
            401,
            "Unauthorized",
            "Unauthorized",
        )));
    };
    let Ok(body) = Limited::new(body, BODY_MAX).collect().await else {
        let text = "the request body is too large";
        return Ok(to_hyper(FullResponse::failure(
            413,
            "RequestEntityTooLarge",
            text,
        )));
    };
    let incoming = ClientRequest {
        client,
        is_internal: false,
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: body.to_bytes(),
    };
    match handle(&case, incoming).await {
        Reply::Full(full) => Ok(to_hyper(full)),
        Reply::Cut => Err(ConnectionCut),
        Reply::Events(events) => {
            let frames = events.into_stream().map(|line| Ok(Frame::data(line)));
            let mut response = Response::new(with_cut_error(StreamBody::new(frames)));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            Ok(response)
        }
    }
}

fn to_hyper(full: FullResponse) -> Response<Body> {
    let mut response = Response::new(with_cut_error(Full::new(full.body)));
    *response.status_mut() = StatusCode::from_u16(full.code).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = full.headers;
    response
}

fn with_cut_error(body: impl hyper::body::Body<Data = Bytes, Error = Infallible> + Send + 'static) -> Body {
    body.map_err(|never| match never {}).boxed_unsync()
}
