//! Connection to the real API server: reads the kubeconfig, checks whether the server can be used, and sends requests.
//!
//! Does not know cases or their object names.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tower::{BoxError, ServiceBuilder};

use crate::kinds::KINDS;

/// Maximum size of a response body, in bytes.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// Why the API server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig is invalid or unsupported.
    #[error("{path}: {why}")]
    File {
        /// Path of the kubeconfig.
        path: PathBuf,
        /// What is wrong, and how to fix it.
        why: String,
    },
    /// No server responds at the configured address.
    #[error(
        "the API server of {path} cannot be reached: {why}; start it, or correct `server` and the certificates in the file"
    )]
    Unreachable {
        /// Path of the kubeconfig.
        path: PathBuf,
        /// The request that was attempted, and the error that it caused.
        why: String,
    },
    /// The server rejects the credentials in the kubeconfig.
    #[error("the API server of {path} rejects the credentials: {why}; renew the credentials")]
    Credentials {
        /// Path of the kubeconfig.
        path: PathBuf,
        /// Error message of the server.
        why: String,
    },
    /// The user lacks permissions that cases need.
    #[error(
        "the user of {path} lacks permissions: {why}; use a cluster administrator, such as the user of envtest"
    )]
    MissingPermissions {
        /// Path of the kubeconfig.
        path: PathBuf,
        /// The missing permissions.
        why: String,
    },
    /// Controllers of the cluster are active and would act on the objects of cases.
    #[error(
        "{program} is active in the cluster of {path} ({lease}) and would interfere with the harness's own controllers and the systems \
             under test; use an API server without {program}, such as that of envtest"
    )]
    ControllersActive {
        /// Path of the kubeconfig.
        path: PathBuf,
        /// Name of the active program.
        program: &'static str,
        /// The Lease that shows that the program is active.
        lease: String,
    },
}

/// A connection to the API server with the credentials in the kubeconfig.
#[derive(Clone)]
pub(crate) struct Upstream {
    client: Client,
}

/// Error of a request to the API server that got no response, or an unexpected response.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UpstreamError(pub(crate) String);

/// A response of the API server whose body has been read completely.
pub(crate) struct ServerResponse {
    pub(crate) code: u16,
    pub(crate) head: hyper::http::response::Parts,
    pub(crate) body: Bytes,
}

impl ServerResponse {
    /// The response body as JSON; null if the body is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// The error message in a response.
    pub(crate) fn message(&self) -> String {
        match self.json()["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("status {}", self.code),
        }
    }
}

impl Upstream {
    /// Reads a kubeconfig and creates a client. Sends no request.
    pub(crate) async fn open(path: &Path) -> Result<Self, ConnectError> {
        let file = |why: String| ConnectError::File {
            path: path.to_owned(),
            why,
        };
        let config = Kubeconfig::read_from(path)
            .map_err(|error| file(format!("{}; use a kubeconfig file", with_causes(&error))))?;
        if let Some(name) = user_with_external_credentials(&config) {
            return Err(file(format!(
                "user `{name}` gets credentials from a program (`exec` or `auth-provider`), which is not supported; use \
                 a user with a client certificate or a token"
            )));
        }
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .map_err(|error| file(format!("{}; correct it", with_causes(&error))))?;
        if config.proxy_url.is_some() {
            let why = "`proxy-url` is not supported; remove it, and use a `server` address that is reachable without a proxy";
            return Err(file(why.to_owned()));
        }
        let client = client(&config).map_err(|error| file(format!("{}; correct it", with_causes(&error))))?;
        Ok(Upstream { client })
    }

    /// Sends a request and returns the response once its headers have arrived. The body may arrive later.
    pub(crate) async fn start_request(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Body>, UpstreamError> {
        let sent = self.client.send(request).await;
        sent.map_err(|error| UpstreamError(with_causes(&error)))
    }

    pub(crate) async fn request(&self, request: Request<Body>) -> Result<ServerResponse, UpstreamError> {
        let (head, body) = self.start_request(request).await?.into_parts();
        let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await;
        let body = body.map_err(|error| UpstreamError(error.to_string()))?.to_bytes();
        Ok(ServerResponse {
            code: head.status.as_u16(),
            head,
            body,
        })
    }

    /// Sends a JSON request of the harness, not of a client. A PATCH is a JSON merge patch.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ServerResponse, UpstreamError> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let bytes = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, content_type)
            .body(Body::from(bytes))
            .map_err(|error| UpstreamError(error.to_string()))?;
        self.request(request).await
    }

    /// Checks that the server is reachable and accepts the credentials. Returns the server's version.
    pub(crate) async fn check_usable(&self, path: &Path) -> Result<Value, ConnectError> {
        let unreachable = |error: UpstreamError| ConnectError::Unreachable {
            path: path.to_owned(),
            why: error.0,
        };
        let version = self
            .send(Method::GET, "/version", None)
            .await
            .map_err(unreachable)?;
        let nodes = self
            .send(Method::GET, "/api/v1/nodes?limit=1", None)
            .await
            .map_err(unreachable)?;
        if version.code == 401 || nodes.code == 401 {
            return Err(ConnectError::Credentials {
                path: path.to_owned(),
                why: nodes.message(),
            });
        }
        let version_info = version.json();
        if !version.is_success() || !version_info["gitVersion"].is_string() {
            return Err(ConnectError::Unreachable {
                path: path.to_owned(),
                why: format!("GET /version returned status {} without a version", version.code),
            });
        }
        self.check_permissions(path).await?;
        self.check_no_controllers(path).await?;
        Ok(version_info)
    }

    /// Checks that the user has all permissions that the programs of a case may need.
    async fn check_permissions(&self, path: &Path) -> Result<(), ConnectError> {
        let everything = json!({"verb": "*", "group": "*", "resource": "*"});
        if self.is_allowed(path, &everything).await? {
            return Ok(());
        }
        let mut missing = Vec::new();
        for kind in KINDS {
            for verb in ["list", "watch", "create", "update", "patch", "delete"] {
                let attributes = json!({"verb": verb, "group": kind.group, "resource": kind.resource});
                if !self.is_allowed(path, &attributes).await? {
                    missing.push(format!("{verb} {}", kind.resource));
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(ConnectError::MissingPermissions {
            path: path.to_owned(),
            why: missing.join(", "),
        })
    }

    async fn is_allowed(&self, path: &Path, attributes: &Value) -> Result<bool, ConnectError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        });
        let resource_path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let answer = self.send(Method::POST, resource_path, Some(&review)).await;
        let answer = answer.map_err(|error| ConnectError::Unreachable {
            path: path.to_owned(),
            why: error.0,
        })?;
        match answer.is_success() {
            true => Ok(answer.json()["status"]["allowed"] == true),
            false => Err(ConnectError::MissingPermissions {
                path: path.to_owned(),
                why: format!("SelfSubjectAccessReview failed: {}", answer.message()),
            }),
        }
    }

    /// Checks that no controllers and no scheduler are active in the cluster. An active program renews its Lease.
    async fn check_no_controllers(&self, path: &Path) -> Result<(), ConnectError> {
        for program in ["kube-controller-manager", "kube-scheduler"] {
            let resource_path =
                format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{program}");
            let Ok(answer) = self.send(Method::GET, &resource_path, None).await else {
                continue;
            };
            let lease = answer.json();
            if let Some(holder) = active_holder(&lease["spec"]) {
                return Err(ConnectError::ControllersActive {
                    path: path.to_owned(),
                    program,
                    lease: holder,
                });
            }
        }
        Ok(())
    }
}

/// Describes the holder of a Lease, if the Lease was renewed recently.
fn active_holder(spec: &Value) -> Option<String> {
    let holder = spec["holderIdentity"]
        .as_str()
        .filter(|holder| !holder.is_empty())?;
    let renewed: jiff::Timestamp = spec["renewTime"].as_str()?.parse().ok()?;
    let seconds = spec["leaseDurationSeconds"].as_i64().unwrap_or(15);
    let age = jiff::Timestamp::now().duration_since(renewed).as_secs();
    (age <= seconds).then(|| {
        format!(
            "its Lease in kube-system is held by {holder}, renewed {} s ago",
            age.max(0)
        )
    })
}

/// A client that sends each request once, without delay and without a timeout. The default client of kube would retry errors, delay small
/// requests by Nagle's algorithm, and end watches without events.
fn client(config: &kube::Config) -> Result<Client, kube::Error> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = config.rustls_https_connector_with_connector(tcp)?;
    let connections = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(connections);
    Ok(Client::new(service, "default"))
}

/// Name of the current context's user, if an external program provides the credentials.
fn user_with_external_credentials(config: &Kubeconfig) -> Option<String> {
    let current = config.current_context.as_ref()?;
    let context = config.contexts.iter().find(|context| context.name == *current)?;
    let user = context.context.as_ref()?.user.as_ref()?;
    let found = config.auth_infos.iter().find(|info| info.name == *user)?;
    let info = found.auth_info.as_ref()?;
    (info.exec.is_some() || info.auth_provider.is_some()).then(|| user.clone())
}

/// Formats an error with all its causes, because the outermost error alone often lacks the reason.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_is_active_while_it_is_renewed() {
        let lease = |age: i64| {
            let renewed = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(age);
            json!({"holderIdentity": "m_1", "leaseDurationSeconds": 15, "renewTime": renewed.to_string()})
        };
        assert!(active_holder(&lease(3)).unwrap().contains("m_1"));
        assert_eq!(active_holder(&lease(60)), None);
        assert_eq!(active_holder(&json!({"holderIdentity": ""})), None);
        assert_eq!(active_holder(&Value::Null), None);
    }
}
