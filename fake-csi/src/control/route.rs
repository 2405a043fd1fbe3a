//! Owns the routes of the HTTP control: what each method and path does to the driver, and the response. Does not know connections.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, header};
use serde::{Deserialize, Serialize};

use super::{
    context::Context,
    problem::{RequestError, parse},
};
use crate::{
    FakeDriver, Pool, RuleId, Segment,
    description::{CostSpec, PoolSpec, PoolText, ReservationSpec},
};

const BODY_BYTES_MAX: usize = 1 << 20;

/// Timeout for a request body; after this time the response is 408.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

type RouteResult = Result<(StatusCode, Vec<u8>), RequestError>;

pub(super) async fn respond(context: &Context, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let result = match check_token(context, &request) {
        Ok(()) => route(context, request).await,
        Err(problem) => Err(problem),
    };
    let (status, body) = result.unwrap_or_else(|problem| {
        let status = problem.status;
        let body = BTreeMap::from([("error", problem)]);
        (status, serde_json::to_vec(&body).unwrap_or_default())
    });
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    if status == StatusCode::UNAUTHORIZED {
        let bearer = header::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
    }
    response
}

fn check_token(context: &Context, request: &Request<Incoming>) -> Result<(), RequestError> {
    let given = request.headers().get(header::AUTHORIZATION);
    let token = given.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    if token.is_some_and(|token| equals_token(token, context.token.as_bytes())) {
        return Ok(());
    }
    Err(RequestError::new(
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong; send `Authorization: Bearer <token>` with the token that fake-csi printed at its start",
    ))
}

/// Constant-time comparison, so that timing does not reveal a matching prefix of the token.
fn equals_token(given: &[u8], token: &[u8]) -> bool {
    given.len() == token.len() && given.iter().zip(token).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
}

/// Names of all collections, to distinguish a wrong method (405) from an unknown path (404).
const COLLECTIONS: [&str; 7] = [
    "driver",
    "pools",
    "costs",
    "volumes",
    "rules",
    "reservations",
    "calls",
];

async fn route(context: &Context, request: Request<Incoming>) -> RouteResult {
    let path = request.uri().path().to_owned();
    let parts: Vec<&str> = match path.strip_prefix("/v1/") {
        Some(path) => path.split('/').collect(),
        None => return Err(unknown_path(&path)),
    };
    let method = request.method().clone();
    let result = match method {
        Method::GET => get(context, &parts, request.uri().query().unwrap_or_default()),
        Method::DELETE if parts != ["pools"] => delete(&context.driver, &parts),
        _ => write(&context.driver, &method, &parts, request).await,
    };
    result.unwrap_or_else(|| match parts.as_slice() {
        [name] | ["rules" | "reservations", name] if COLLECTIONS.contains(name) || parts.len() == 2 => {
            let message = format!("{path} does not support {method}; see the table in the README");
            Err(RequestError::new(StatusCode::METHOD_NOT_ALLOWED, message))
        }
        _ => Err(unknown_path(&path)),
    })
}

/// Handles GET of a path; `None` if the path does not support GET.
fn get(context: &Context, parts: &[&str], query: &str) -> Option<RouteResult> {
    let driver = &context.driver;
    Some(match parts {
        ["driver"] => json(&driver_text(driver)),
        ["pools"] => json(&driver.pools().into_iter().map(pool_text).collect::<Vec<_>>()),
        ["volumes"] => json(&driver.volumes()),
        ["rules"] => json(&driver.rules()),
        ["reservations"] => json(&driver.reserved(None)),
        ["calls"] => parse_first_call(query).and_then(|number| json(&context.calls.since(number))),
        _ => return None,
    })
}

/// Handles DELETE of the object or collection at the path; `None` if the path does not support DELETE.
fn delete(driver: &FakeDriver, parts: &[&str]) -> Option<RouteResult> {
    let (existed, what, name) = match parts {
        ["rules"] => {
            driver.clear_rules();
            return Some(empty_object());
        }
        ["rules", id] => (
            id.parse().is_ok_and(|id| driver.remove_rule(RuleId(id))),
            "rule",
            id,
        ),
        ["reservations", name] => (driver.cancel_reservation(name), "reservation", name),
        _ => return None,
    };
    Some(if existed {
        empty_object()
    } else {
        Err(not_found(what, name))
    })
}

/// Handles HTTP methods with a body; `None` if the path does not support the method.
async fn write(
    driver: &FakeDriver,
    method: &Method,
    parts: &[&str],
    request: Request<Incoming>,
) -> Option<RouteResult> {
    let action: fn(&FakeDriver, &[u8]) -> RouteResult = match (method, parts) {
        (&Method::PUT, ["pools"]) => |driver, body| {
            let PoolSpec(pool) = parse(body)?;
            driver.set_pool(pool);
            empty_object()
        },
        (&Method::DELETE, ["pools"]) => |driver, body| {
            let PoolRemoval { segment } = parse(body)?;
            driver.remove_pool(&segment);
            empty_object()
        },
        (&Method::POST, ["costs"]) => |driver, body| {
            let CostSpec(cost) = parse(body)?;
            driver.add_cost(cost).map_err(conflict)?;
            empty_object()
        },
        (&Method::POST, ["rules"]) => |driver, body| {
            let rule = parse(body)?;
            let id = driver.add_rule(rule).map_err(conflict)?;
            created_response(&BTreeMap::from([("id", id)]))
        },
        (&Method::POST, ["reservations"]) => |driver, body| {
            let reservation: ReservationSpec = parse(body)?;
            created_response(&driver.reserve(&reservation.into()).map_err(conflict)?)
        },
        _ => return None,
    };
    Some(match body(request).await {
        Ok(body) => action(driver, &body),
        Err(problem) => Err(problem),
    })
}

/// Body of `DELETE /v1/pools`: the segment whose pools are removed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolRemoval {
    segment: Segment,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DriverText {
    name: String,
    topology_keys: Vec<String>,
    get_capacity: bool,
    expand_volume: bool,
    clone_volume: bool,
    mutable_parameters: Vec<String>,
    reports_reserved: bool,
    csi_version: String,
    calls_in_flight: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolState {
    #[serde(flatten)]
    pool: PoolText,
    total_bytes: u64,
    taken_bytes: u64,
}

fn driver_text(driver: &FakeDriver) -> DriverText {
    let spec = driver.spec();
    DriverText {
        name: spec.name.clone(),
        topology_keys: spec.topology_keys.clone(),
        get_capacity: spec.advertise_get_capacity,
        expand_volume: spec.advertise_expand_volume,
        clone_volume: spec.advertise_clone_volume,
        mutable_parameters: spec.mutable_parameters.clone(),
        reports_reserved: spec.reports_reserved,
        csi_version: spec.version.to_string(),
        calls_in_flight: driver.in_flight(),
    }
}

fn pool_text((pool, total_bytes, taken_bytes): (Pool, u64, u64)) -> PoolState {
    PoolState {
        pool: PoolSpec(pool).into(),
        total_bytes,
        taken_bytes,
    }
}

async fn body(request: Request<Incoming>) -> Result<Bytes, RequestError> {
    let reading = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    let read = tokio::time::timeout(BODY_TIMEOUT, reading).await.map_err(|_| {
        RequestError::new(
            StatusCode::REQUEST_TIMEOUT,
            "the request body was not received in time; send the whole body at once",
        )
    })?;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            let message = format!("the request body exceeds {BODY_BYTES_MAX} bytes; send a smaller body");
            return RequestError::new(StatusCode::PAYLOAD_TOO_LARGE, message);
        }
        RequestError::new(
            StatusCode::BAD_REQUEST,
            format!("the request body could not be read: {error}; send the request again"),
        )
    })
}

/// Parses the query `from=N`: the sequence number of the first call to return.
fn parse_first_call(query: &str) -> Result<u64, RequestError> {
    if query.is_empty() {
        return Ok(0);
    }
    let number = query.strip_prefix("from=").and_then(|number| number.parse().ok());
    number.ok_or_else(|| {
        let message = format!("unknown query {query:?}; write from=N, with the number of the first call");
        RequestError::new(StatusCode::BAD_REQUEST, message)
    })
}

fn json(value: &impl Serialize) -> RouteResult {
    json_response(StatusCode::OK, value)
}

fn created_response(value: &impl Serialize) -> RouteResult {
    json_response(StatusCode::CREATED, value)
}

fn json_response(status: StatusCode, value: &impl Serialize) -> RouteResult {
    let text = serde_json::to_vec(value);
    text.map(|text| (status, text))
        .map_err(|error| RequestError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

fn empty_object() -> RouteResult {
    Ok((StatusCode::OK, b"{}".to_vec()))
}

fn conflict(error: impl std::error::Error) -> RequestError {
    RequestError::new(StatusCode::CONFLICT, error.to_string())
}

fn not_found(what: &str, name: &str) -> RequestError {
    RequestError::new(
        StatusCode::NOT_FOUND,
        format!("there is no {what} {name:?}; list all with GET"),
    )
}

fn unknown_path(path: &str) -> RequestError {
    RequestError::new(
        StatusCode::NOT_FOUND,
        format!("unknown path {path:?}; see the table in the README"),
    )
}
