//! `--apiserver`: connects to a real API server instead of starting the in-memory one, and removes all objects that the run created there.
//!
//! Owns messages and exit codes; the harness runs the cases.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use real_server::{ConnectError, RUN_LABEL, RealServer};
use suites::harness::api_server::RealApiServer;
pub(crate) use suites::report::IN_MEMORY;

use crate::Exit;
use crate::interrupt::{interrupted, interrupted_once_more};
use crate::out::eprintln;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of remaining API objects that the cleanup lists by name; for further objects, it prints only the number.
const MAX_LISTED: usize = 20;

/// Connects to the API server of the kubeconfig; `None` without a kubeconfig. Prints its own errors.
pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Option<RealServer>, Exit> {
    let Some(path) = kubeconfig else {
        return Ok(None);
    };
    let connected = tokio::select! {
        connected = tokio::time::timeout(CONNECT_TIMEOUT, RealServer::connect(path)) => connected,
        () = interrupted() => return Err(Exit::Interrupted),
    };
    match connected {
        Ok(Ok(server)) => {
            eprintln!("API server {}, run {}", server.version(), server.run_id());
            Ok(Some(server))
        }
        Ok(Err(error)) => {
            eprintln!("error: {error}");
            Err(match error {
                ConnectError::File { .. } => Exit::Usage,
                _ => Exit::Environment,
            })
        }
        Err(_) => {
            eprintln!(
                "error: the API server of {} did not respond within {CONNECT_TIMEOUT:?}; start it, or correct `server` in the file",
                path.display()
            );
            Err(Exit::Environment)
        }
    }
}

/// Removes all objects of the run from the API server, even after a failure, and prints objects that could not be removed. If some remain,
/// a passed run ends with the exit code for environment errors.
pub(crate) async fn clean_up(server: Option<RealServer>, exit: Exit) -> Exit {
    let Some(server) = server else { return exit };
    let left = tokio::select! {
        left = server.delete_created_objects() => left,
        () = interrupted_once_more() => vec!["unknown objects, because the cleanup was interrupted".to_owned()],
    };
    if left.is_empty() {
        return exit;
    }
    eprintln!(
        "error: left behind in the API server, all with the label {RUN_LABEL}={}:",
        server.run_id()
    );
    for object in left.iter().take(MAX_LISTED) {
        eprintln!("  {object}");
    }
    if left.len() > MAX_LISTED {
        eprintln!("  and {} more", left.len() - MAX_LISTED);
    }
    match exit {
        Exit::Passed => Exit::Environment,
        exit => exit,
    }
}

/// Version of the real API server, or `in memory` without one, for reports.
pub(crate) fn server_name(server: Option<&RealServer>) -> String {
    server.map_or_else(|| IN_MEMORY.to_owned(), RealServer::version)
}

pub(crate) fn real_api_server(server: Option<&RealServer>) -> Option<Arc<dyn RealApiServer>> {
    Some(Arc::new(server?.clone()))
}
