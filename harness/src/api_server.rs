//! Interface to a real API server that replaces the in-memory one. Does not know how to connect to the server.

use std::sync::Arc;

use fake_apiserver::{Rule, RuleError, RuleId};
use futures::future::BoxFuture;
use hyper::Method;
use serde_json::Value;

use crate::fact_sink::FactSink;
use crate::listening::HttpListener;
use crate::plan::Plan;

/// A real API server that the cases of a run share.
pub trait RealApiServer: Send + Sync {
    /// Starts a case whose facts are recorded in `sink`. Must be called within a tokio runtime.
    fn start_case(&self, sink: &FactSink) -> Result<Arc<dyn RealApiCase>, String>;

    /// The reason why a case cannot run against this server; `None` if the case can run.
    fn skip_reason(&self, plan: &Plan) -> Option<String>;
}

/// One case on a real API server.
pub trait RealApiCase: Send + Sync {
    /// Opens a listener on the loopback interface for the clients of the case.
    fn listen(self: Arc<Self>, with_tls: bool) -> BoxFuture<'static, std::io::Result<HttpListener>>;

    /// Creates a bearer token for a client.
    fn add_client(&self, name: &str) -> String;

    /// Sends an API request with the token of a client, without applying fault rules. A PATCH request sends a JSON merge patch.
    fn call<'a>(
        self: Arc<Self>,
        client: &'a str,
        method: Method,
        path: &'a str,
        body: Option<Value>,
    ) -> BoxFuture<'a, Result<Value, StatusError>>;

    /// Sends a server-side apply request with the token of a client, without applying fault rules.
    fn apply<'a>(
        self: Arc<Self>,
        client: &'a str,
        path: &'a str,
        object: Value,
    ) -> BoxFuture<'a, Result<Value, StatusError>>;

    /// Makes the changes to a new object that the controllers of a real cluster make: creates the service account of a namespace, and
    /// restores the taints of a node. `requested`: the object in the request body.
    fn finish_create<'a>(
        self: Arc<Self>,
        requested: &'a Value,
        created: Value,
    ) -> BoxFuture<'a, Result<Value, StatusError>>;

    /// Installs a fault rule, which then applies to requests of the case's clients.
    fn add_fault_rule(&self, rule: Rule) -> Result<RuleId, RuleError>;

    /// Removes a fault rule.
    fn remove_fault_rule(&self, id: RuleId);

    /// Resolves when no API request of the case is in flight.
    fn quiet(&self) -> BoxFuture<'_, ()>;

    /// Ends the case and deletes its objects. Returns the names of objects that could not be deleted, each with the reason.
    fn end(&self) -> BoxFuture<'_, Vec<String>>;
}

/// The error response of an API server.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct StatusError {
    /// HTTP status code of the response.
    pub code: u16,
    /// `Status.message` of the server.
    pub message: String,
}

impl From<fake_apiserver::Status> for StatusError {
    fn from(status: fake_apiserver::Status) -> Self {
        StatusError {
            code: status.code,
            message: status.message,
        }
    }
}
