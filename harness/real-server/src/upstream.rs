//! Connection to the real API server: configuration from a kubeconfig, the check whether it can be used, and requests.
//!
//! Does not know cases or names.

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

/// Maximum size of a response, in bytes.
const ANSWER_MAX: usize = 64 << 20;

/// Why the API server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig is invalid or unsupported.
    #[error("{path}: {why}")]
    File {
        /// The kubeconfig.
        path: PathBuf,
        /// Reason and remedy.
        why: String,
    },
    /// No server responds.
    #[error(
        "the API server of {path} can't be reached: {why}; start it, or correct `server` and the certificates in the file"
    )]
    Unreachable {
        /// The kubeconfig.
        path: PathBuf,
        /// The attempted request and its error.
        why: String,
    },
    /// The server rejects the credentials.
    #[error("the API server of {path} refuses the credentials: {why}; renew them")]
    Credentials {
        /// The kubeconfig.
        path: PathBuf,
        /// Message of the server.
        why: String,
    },
    /// The user lacks permissions that cases need.
    #[error(
        "the user of {path} lacks rights: {why}; take a user who may do everything, as that of envtest may"
    )]
    Rights {
        /// The kubeconfig.
        path: PathBuf,
        /// Missing permissions.
        why: String,
    },
    /// Controllers of the cluster would act on the objects of cases.
    #[error(
        "{program} is at work in the cluster of {path} ({lease}): it would act on the objects of the cases as the harness's own \
             controllers and the systems under test do; take an API server without it, as envtest starts one"
    )]
    Busy {
        /// The kubeconfig.
        path: PathBuf,
        /// The active program.
        program: &'static str,
        /// Evidence: its Lease.
        lease: String,
    },
}

/// A connection to the server, with the user's credentials.
#[derive(Clone)]
pub(crate) struct Upstream {
    client: Client,
}

/// A request that got no response.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Lost(pub(crate) String);

/// A completely read response.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: hyper::http::response::Parts,
    pub(crate) body: Bytes,
}

impl Answer {
    /// The body as JSON; null if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether the request succeeded.
    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Message of an error response.
    pub(crate) fn message(&self) -> String {
        match self.json()["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("status {}", self.code),
        }
    }
}

impl Upstream {
    /// Reads a kubeconfig. Sends nothing.
    pub(crate) async fn open(path: &Path) -> Result<Self, ConnectError> {
        let file = |why: String| ConnectError::File {
            path: path.to_owned(),
            why,
        };
        let config = Kubeconfig::read_from(path)
            .map_err(|error| file(format!("{}; name a kubeconfig file", chain(&error))))?;
        if let Some(name) = runs_a_program(&config) {
            return Err(file(format!(
                "user `{name}` gets credentials from a program (`exec` or `auth-provider`), which the harness does not start; take \
                 a user with a client certificate or a token"
            )));
        }
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .map_err(|error| file(format!("{}; correct it", chain(&error))))?;
        if config.proxy_url.is_some() {
            let why = "`proxy-url` is not supported; name the server as it is reached without one";
            return Err(file(why.to_owned()));
        }
        let client = client(&config).map_err(|error| file(format!("{}; correct it", chain(&error))))?;
        Ok(Upstream { client })
    }

    /// Sends a request and returns the response head; the body may still be incomplete.
    pub(crate) async fn begin(&self, request: Request<Body>) -> Result<Response<Body>, Lost> {
        let sent = self.client.send(request).await;
        sent.map_err(|error| Lost(chain(&error)))
    }

    /// Sends a request and reads the complete response.
    pub(crate) async fn whole(&self, request: Request<Body>) -> Result<Answer, Lost> {
        let (head, body) = self.begin(request).await?.into_parts();
        let body = Limited::new(body, ANSWER_MAX).collect().await;
        let body = body.map_err(|error| Lost(error.to_string()))?.to_bytes();
        Ok(Answer {
            code: head.status.as_u16(),
            head,
            body,
        })
    }

    /// Sends a request of the harness itself.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Lost> {
        let media = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let bytes = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, media)
            .body(Body::from(bytes))
            .map_err(|error| Lost(error.to_string()))?;
        self.whole(request).await
    }

    /// Returns the server's version, after checking that it is reachable and accepts the credentials.
    pub(crate) async fn check(&self, path: &Path) -> Result<Value, ConnectError> {
        let lost = |lost: Lost| ConnectError::Unreachable {
            path: path.to_owned(),
            why: lost.0,
        };
        let version = self.send(Method::GET, "/version", None).await.map_err(lost)?;
        let nodes = self
            .send(Method::GET, "/api/v1/nodes?limit=1", None)
            .await
            .map_err(lost)?;
        if version.code == 401 || nodes.code == 401 {
            return Err(ConnectError::Credentials {
                path: path.to_owned(),
                why: nodes.message(),
            });
        }
        let told = version.json();
        if !version.is_good() || !told["gitVersion"].is_string() {
            return Err(ConnectError::Unreachable {
                path: path.to_owned(),
                why: format!("GET /version is answered with {}, and no version", version.code),
            });
        }
        self.check_rights(path).await?;
        self.check_peace(path).await?;
        Ok(told)
    }

    /// Whether the user has all permissions that the systems of a case may need.
    async fn check_rights(&self, path: &Path) -> Result<(), ConnectError> {
        let everything = json!({"verb": "*", "group": "*", "resource": "*"});
        if self.may(path, &everything).await? {
            return Ok(());
        }
        let mut missing = Vec::new();
        for kind in KINDS {
            for verb in ["list", "watch", "create", "update", "patch", "delete"] {
                let attributes = json!({"verb": verb, "group": kind.group, "resource": kind.resource});
                if !self.may(path, &attributes).await? {
                    missing.push(format!("{verb} {}", kind.resource));
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(ConnectError::Rights {
            path: path.to_owned(),
            why: missing.join(", "),
        })
    }

    async fn may(&self, path: &Path, attributes: &Value) -> Result<bool, ConnectError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        });
        let place = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let answer = self.send(Method::POST, place, Some(&review)).await;
        let answer = answer.map_err(|lost| ConnectError::Unreachable {
            path: path.to_owned(),
            why: lost.0,
        })?;
        match answer.is_good() {
            true => Ok(answer.json()["status"]["allowed"] == true),
            false => Err(ConnectError::Rights {
                path: path.to_owned(),
                why: format!("its rights can't be asked for: {}", answer.message()),
            }),
        }
    }

    /// Whether no controllers or scheduler are active in the cluster: active ones renew a Lease.
    async fn check_peace(&self, path: &Path) -> Result<(), ConnectError> {
        for program in ["kube-controller-manager", "kube-scheduler"] {
            let place = format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{program}");
            let Ok(answer) = self.send(Method::GET, &place, None).await else {
                continue;
            };
            let lease = answer.json();
            if let Some(held) = held(&lease["spec"]) {
                return Err(ConnectError::Busy {
                    path: path.to_owned(),
                    program,
                    lease: held,
                });
            }
        }
        Ok(())
    }
}

/// Holder of a Lease that was renewed recently.
fn held(spec: &Value) -> Option<String> {
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

/// A client that sends each request once and without delay, and has no timeout: kube's default client retries errors, lets Nagle's
/// algorithm delay small requests, and ends silent watches.
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

/// User of the current context, if its credentials come from an external program.
fn runs_a_program(config: &Kubeconfig) -> Option<String> {
    let current = config.current_context.as_ref()?;
    let context = config.contexts.iter().find(|context| context.name == *current)?;
    let user = context.context.as_ref()?.user.as_ref()?;
    let found = config.auth_infos.iter().find(|info| info.name == *user)?;
    let info = found.auth_info.as_ref()?;
    (info.exec.is_some() || info.auth_provider.is_some()).then(|| user.clone())
}

/// An error with all its causes: the outermost alone often lacks the reason.
fn chain(error: &dyn std::error::Error) -> String {
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
        assert!(held(&lease(3)).unwrap().contains("m_1"));
        assert_eq!(held(&lease(60)), None);
        assert_eq!(held(&json!({"holderIdentity": ""})), None);
        assert_eq!(held(&Value::Null), None);
    }
}
