//! What a case needs of a real API server in the place of the one in memory. Does not know how the server is reached.

use std::sync::Arc;

use fake_apiserver::{Rule, RuleError, RuleId};
use futures::future::BoxFuture;
use hyper::Method;
use serde_json::Value;

use crate::fact_sink::FactSink;
use crate::listening::Listening;
use crate::plan::Plan;

/// A real API server that the cases of a run share.
pub trait RealApiServer: Send + Sync {
    /// Begins a case, whose facts go into `sink`. Needs a tokio runtime.
    fn case(&self, sink: &FactSink) -> Result<Arc<dyn RealApiCase>, String>;

    /// Why a case can't be run against this server; none: it can.
    fn skips(&self, plan: &Plan) -> Option<String>;
}

/// What one case has of a real API server.
pub trait RealApiCase: Send + Sync {
    /// Opens a listener on loopback for the clients of the case.
    fn listen(self: Arc<Self>, with_tls: bool) -> BoxFuture<'static, std::io::Result<Listening>>;

    /// Makes a token for a client of that name.
    fn add_client(&self, name: &str) -> String;

    /// Sends a request under a client's name, which no fault is for. A patch is a JSON merge patch.
    fn call<'a>(
        self: Arc<Self>,
        client: &'a str,
        method: Method,
        path: &'a str,
        body: Option<Value>,
    ) -> BoxFuture<'a, Result<Value, Refused>>;

    /// The same for a server-side apply.
    fn apply<'a>(
        self: Arc<Self>,
        client: &'a str,
        path: &'a str,
        object: Value,
    ) -> BoxFuture<'a, Result<Value, Refused>>;

    /// Does to a created object what controllers do at once in every cluster. `wanted`: as the request has it.
    fn finish_create<'a>(
        self: Arc<Self>,
        wanted: &'a Value,
        made: Value,
    ) -> BoxFuture<'a, Result<Value, Refused>>;

    /// Installs a fault rule.
    fn perturb(&self, rule: Rule) -> Result<RuleId, RuleError>;

    /// Removes a fault rule.
    fn unperturb(&self, id: RuleId);

    /// Resolves when no request is in flight.
    fn quiet(&self) -> BoxFuture<'_, ()>;

    /// Ends the case and removes what it has created. Returns what is left, each with the reason.
    fn end(&self) -> BoxFuture<'_, Vec<String>>;
}

/// A request that an API server refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// HTTP status.
    pub code: u16,
    /// The server's words.
    pub message: String,
}

impl From<fake_apiserver::Status> for Refused {
    fn from(status: fake_apiserver::Status) -> Self {
        Refused {
            code: status.code,
            message: status.message,
        }
    }
}
