//! The real server itself: how a kubeconfig leads to it, whether it can be used, and requests to it.
//!
//! Knows no case and no names.

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

/// Bytes that one answer may have.
const ANSWER_MAX: usize = 64 << 20;

/// The API server can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The file is not one that the harness can use.
    #[error("{path}: {why}")]
    File {
        /// The kubeconfig.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Nobody answers.
    #[error(
        "the API server of {path} can't be reached: {why}; start it, or correct `server` and the certificates in the file"
    )]
    Unreachable {
        /// The kubeconfig.
        path: PathBuf,
        /// What was tried, and how it failed.
        why: String,
    },
    /// It does not take the credentials.
    #[error("the API server of {path} refuses the credentials: {why}; renew them")]
    Credentials {
        /// The kubeconfig.
        path: PathBuf,
        /// The server's words.
        why: String,
    },
    /// The user may not do what cases do.
    #[error(
        "the user of {path} lacks rights: {why}; take a user who may do everything, as that of envtest may"
    )]
    Rights {
        /// The kubeconfig.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// Others would act on the objects of the cases.
    #[error(
        "{program} is at work in the cluster of {path} ({lease}): it would act on the objects of the cases as the harness's own \
             controllers and the systems under test do; take an API server without it, as envtest starts one"
    )]
    Busy {
        /// The kubeconfig.
        path: PathBuf,
        /// Who is at work.
        program: &'static str,
        /// How that shows.
        lease: String,
    },
}

/// A connection to the server, with the user's credentials.
#[derive(Clone)]
pub(crate) struct Upstream {
    client: Client,
}

/// A request that came to nothing at all.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Lost(pub(crate) String);

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: hyper::http::response::Parts,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Its JSON; null where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether the server did it.
    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// What it says about a refusal.
    pub(crate) fn message(&self) -> String {
        match self.json()["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("status {}", self.code),
        }
    }
}

impl Upstream {
    /// Reads a kubeconfig. Nothing is sent yet.
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

    /// Sends a request and gives the answer's head; its body can still be coming.
    pub(crate) async fn begin(&self, request: Request<Body>) -> Result<Response<Body>, Lost> {
        let sent = self.client.send(request).await;
        sent.map_err(|error| Lost(chain(&error)))
    }

    /// Sends a request and reads the whole answer.
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

    /// A request of the harness's own.
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

    /// The server's release, as it spells it; what it says is also what shows that it is there and takes the credentials.
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

    /// Whether the user may do everything that the systems of a case may request.
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

    /// Whether nobody else is at work on such objects. Programs that are hold a Lease, which they renew.
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

/// Who holds a Lease, where it was renewed lately.
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

/// A client that sends each request once and at once, and waits as long as it takes: kube's own tries refusals again, lets small
/// requests wait for one another, and ends watches that are silent.
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

/// The user of the current context, where somebody would have to be run for credentials.
fn runs_a_program(config: &Kubeconfig) -> Option<String> {
    let current = config.current_context.as_ref()?;
    let context = config.contexts.iter().find(|context| context.name == *current)?;
    let user = context.context.as_ref()?.user.as_ref()?;
    let found = config.auth_infos.iter().find(|info| info.name == *user)?;
    let info = found.auth_info.as_ref()?;
    (info.exec.is_some() || info.auth_provider.is_some()).then(|| user.clone())
}

/// An error with all its causes: the first alone often says nothing.
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
    fn a_lease_counts_while_it_is_renewed() {
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
