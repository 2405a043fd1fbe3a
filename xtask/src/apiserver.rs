//! `--apiserver`: a real API server in the place of the one in memory, from the connection to the last object that is removed.
//!
//! Thin: the harness does it; here are the words and the exit codes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use real_server::{ConnectError, RUN_LABEL, RealServer};
use suites::harness::api_server::RealApiServer;
pub(crate) use suites::report::IN_MEMORY;

use crate::Exit;
use crate::interrupt::{interrupted, interrupted_once_more};
use crate::out::eprintln;

/// How long connecting may take in all.
const CONNECTING: Duration = Duration::from_secs(30);

/// Objects left behind that are named one by one.
const NAMED: usize = 20;

/// Connects, where a server is named; the error is reported already.
pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Option<RealServer>, Exit> {
    let Some(path) = kubeconfig else {
        return Ok(None);
    };
    let connected = tokio::select! {
        connected = tokio::time::timeout(CONNECTING, RealServer::connect(path)) => connected,
        () = interrupted() => return Err(Exit::Interrupted),
    };
    match connected {
        Ok(Ok(server)) => {
            eprintln!("API server {}, run {}", server.version(), server.run());
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
                "error: the API server of {} did not answer within {CONNECTING:?}; start it, or correct `server` in the file",
                path.display()
            );
            Err(Exit::Environment)
        }
    }
}

/// Removes what is left of the run, however it has ended, and says what could not be removed. Then everything else that was shown
/// still holds, but the environment is not as it was.
pub(crate) async fn leave(server: Option<RealServer>, exit: Exit) -> Exit {
    let Some(server) = server else { return exit };
    let left = tokio::select! {
        left = server.finish() => left,
        () = interrupted_once_more() => vec!["interrupted once more, so nobody knows what".to_owned()],
    };
    if left.is_empty() {
        return exit;
    }
    eprintln!(
        "error: left behind in the API server, all with the label {RUN_LABEL}={}:",
        server.run()
    );
    for object in left.iter().take(NAMED) {
        eprintln!("  {object}");
    }
    if left.len() > NAMED {
        eprintln!("  and {} more", left.len() - NAMED);
    }
    match exit {
        Exit::Passed => Exit::Environment,
        exit => exit,
    }
}

/// What reports call a server.
pub(crate) fn told(server: Option<&RealServer>) -> String {
    server.map_or_else(|| IN_MEMORY.to_owned(), RealServer::version)
}

/// The server as the systems of a run have it.
pub(crate) fn handle(server: Option<&RealServer>) -> Option<Arc<dyn RealApiServer>> {
    Some(Arc::new(server?.clone()))
}
