//! An etcd without storage: listens on the client URL and responds to health checks.

use super::flags::{self, Flag, boolean_flag, value_flag};
use super::{out, signals};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::process::ExitCode;
use tokio::net::TcpListener;

const ABOUT: &str = "An etcd without storage: the fake API server stores all objects in memory.

Usage:
  etcd [flags]

Flags:
";

const FLAGS: &[Flag] = &[
    value_flag("advertise-client-urls", ""),
    value_flag("data-dir", ""),
    value_flag("initial-advertise-peer-urls", ""),
    value_flag("initial-cluster", ""),
    value_flag("initial-cluster-state", ""),
    value_flag("initial-cluster-token", ""),
    value_flag("listen-client-urls", "URLs on which health checks are answered."),
    value_flag("listen-peer-urls", ""),
    value_flag("log-level", ""),
    value_flag("logger", ""),
    value_flag("name", ""),
    value_flag("quota-backend-bytes", ""),
    boolean_flag("unsafe-no-fsync", ""),
    boolean_flag("version", "Print the version."),
];

/// Runs the etcd without storage with these command line arguments.
pub(super) async fn main(arguments: &[String]) -> ExitCode {
    // etcd's flags may start with a single dash.
    let arguments: Vec<String> = arguments.iter().map(|word| with_double_dash(word)).collect();
    let typed = match flags::parse_or_exit(&[FLAGS], ABOUT, "etcd Version: 3.6.0\n", &arguments, 2) {
        Ok(typed) => typed,
        Err(ended) => return ended,
    };
    let url = typed
        .last("listen-client-urls")
        .unwrap_or("http://127.0.0.1:2379");
    match serve(url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            out::stderr_line(&format!("Error: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn with_double_dash(word: &str) -> String {
    match word.strip_prefix('-') {
        Some(name) if !name.starts_with('-') && name.len() > 1 => format!("-{word}"),
        _ => word.to_owned(),
    }
}

async fn serve(url: &str) -> Result<(), String> {
    let Some(address) = url.strip_prefix("http://") else {
        return Err(format!(
            "{url}: this etcd speaks plain HTTP only; give a URL that begins with http://"
        ));
    };
    let address = address.trim_end_matches('/').replace("localhost", "127.0.0.1");
    let listener = TcpListener::bind(&address).await;
    let listener = listener.map_err(|why| format!("{url}: {why}; choose another port"))?;
    let ending =
        signals::termination_signal().map_err(|why| format!("failed to install signal handlers: {why}"))?;
    let address = listener
        .local_addr()
        .map_or(address, |address| address.to_string());
    out::stderr_line(&format!("Serving client traffic on {address}"));
    let mut ending = std::pin::pin!(ending);
    loop {
        let accepted = tokio::select! {
            () = &mut ending => return Ok(()),
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        drop(tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            let served = builder.serve_connection(TokioIo::new(stream), service_fn(answer));
            served.await.ok();
        }));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = match request.uri().path() {
        "/health" => r#"{"health":"true","reason":""}"#,
        "/version" => r#"{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}"#,
        _ => "",
    };
    let mut response = Response::new(Full::from(text));
    if text.is_empty() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    Ok(response)
}
