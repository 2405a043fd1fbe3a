//! An etcd without storage: listens on the client URL and responds to health checks.

use super::flags::{self, Flag, FlagKind, ParsedCommandLine};
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

const fn flag(name: &'static str, kind: FlagKind, about: &'static str) -> Flag {
    Flag { name, kind, about }
}

const FLAGS: &[Flag] = &[
    flag("advertise-client-urls", FlagKind::Value, ""),
    flag("data-dir", FlagKind::Value, ""),
    flag("initial-advertise-peer-urls", FlagKind::Value, ""),
    flag("initial-cluster", FlagKind::Value, ""),
    flag("initial-cluster-state", FlagKind::Value, ""),
    flag("initial-cluster-token", FlagKind::Value, ""),
    flag(
        "listen-client-urls",
        FlagKind::Value,
        "URLs on which health checks are answered.",
    ),
    flag("listen-peer-urls", FlagKind::Value, ""),
    flag("log-level", FlagKind::Value, ""),
    flag("logger", FlagKind::Value, ""),
    flag("name", FlagKind::Value, ""),
    flag("quota-backend-bytes", FlagKind::Value, ""),
    flag("unsafe-no-fsync", FlagKind::Switch, ""),
    flag("version", FlagKind::Switch, "Print the version."),
];

/// Runs the program with these command line arguments.
pub(super) async fn main(arguments: &[String]) -> ExitCode {
    // etcd's flags may start with a single dash.
    let arguments: Vec<String> = arguments.iter().map(|word| with_double_dash(word)).collect();
    let typed = match flags::parse(&[FLAGS], &arguments) {
        Ok(ParsedCommandLine::Help) => {
            out::stdout(&format!("{ABOUT}{}", flags::format_flags(&[FLAGS])));
            return ExitCode::SUCCESS;
        }
        Ok(ParsedCommandLine::Flags(typed)) => typed,
        Err(why) => {
            out::stderr_line(&format!("Error: {why}"));
            return ExitCode::from(2);
        }
    };
    if typed.is_on("version") {
        out::stdout("etcd Version: 3.6.0\n");
        return ExitCode::SUCCESS;
    }
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
    let ending = signals::termination().map_err(|why| format!("failed to install signal handlers: {why}"))?;
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
