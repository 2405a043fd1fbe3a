//! A webhook server for tests: sends configured responses over TLS and records the received reviews.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// Computes the response body from the URL path and the received review.
type Answer = dyn Fn(&str, &Value) -> Value + Send + Sync;

/// A running webhook server on a loopback port; stops when dropped.
pub(crate) struct Hook {
    pub(crate) address: SocketAddr,
    /// The certificate of the server's certificate authority, as `caBundle`.
    pub(crate) authority: String,
    reviews: Arc<Mutex<Vec<Value>>>,
    connections: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hook {
    /// Starts a webhook server. `answer` returns the whole response body, which may be invalid.
    pub(crate) async fn start_raw(answer: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Self {
        Self::serve(ca_signed_acceptor(), Arc::new(answer)).await
    }

    async fn serve((acceptor, authority): (TlsAcceptor, String), answer: Arc<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, reviews) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let (stored, connections) = (reviews.clone(), Arc::new(AtomicUsize::new(0)));
        let count = connections.clone();
        let task = tokio::spawn(async move {
            // Dropping the webhook server aborts its tasks and closes the connections.
            let mut tasks = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (acceptor, answer, stored) = (acceptor.clone(), answer.clone(), stored.clone());
                count.fetch_add(1, Ordering::Relaxed);
                tasks.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = service_fn(|request| respond(request, &answer, &stored));
                    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    drop(served.await);
                });
            }
        });
        Self {
            address,
            authority,
            reviews,
            connections,
            task: task.abort_handle(),
        }
    }

    /// Starts a webhook server with a self-signed certificate. `answer` returns the response in the AdmissionReview, without uid.
    pub(crate) async fn self_signed(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        Self::serve(
            self_signed_acceptor(),
            Arc::new(move |_: &str, review: &Value| review_response(review, &answer)),
        )
        .await
    }

    /// Starts a webhook server. `answer` returns the response in the AdmissionReview, without uid.
    pub(crate) async fn start(answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        Self::start_raw(move |_, review| review_response(review, &answer)).await
    }

    /// The `clientConfig` that refers to this server.
    pub(crate) fn client(&self, path: &str) -> Value {
        json!({"url": format!("https://{}{path}", self.address), "caBundle": self.authority})
    }

    /// The number of connections that the webhook server has accepted.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn reviews(&self) -> Vec<Value> {
        self.reviews.lock().clone()
    }

    /// The requests of all received AdmissionReviews.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let reviews = self.reviews().into_iter();
        reviews.map(|mut review| review["request"].take()).collect()
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: &Arc<Answer>,
    stored: &Mutex<Vec<Value>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    stored.lock().push(review.clone());
    let answered = answer(&path, &review);
    let code = answered["httpCode"].as_u64().unwrap_or(200);
    let mut response = Response::new(Full::from(answered.to_string()));
    if answered["close"] == true {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    *response.status_mut() = u16::try_from(code).unwrap().try_into().unwrap();
    Ok(response)
}

/// The received AdmissionReview with the configured response, which gets the uid of the request.
fn review_response(review: &Value, answer: &impl Fn(&Value) -> Value) -> Value {
    let mut response = answer(&review["request"]);
    response["uid"] = review["request"]["uid"].clone();
    json!({"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response})
}

/// A TLS acceptor with a certificate signed by an authority, and the certificate of the authority.
fn ca_signed_acceptor() -> (TlsAcceptor, String) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server = server().signed_by(&key, &authority).unwrap();
    (acceptor(&server, &key), STANDARD.encode(authority.pem()))
}

/// A TLS acceptor with a self-signed certificate, and that certificate.
fn self_signed_acceptor() -> (TlsAcceptor, String) {
    let key = KeyPair::generate().unwrap();
    let server = server().self_signed(&key).unwrap();
    (acceptor(&server, &key), STANDARD.encode(server.pem()))
}

fn server() -> CertificateParams {
    CertificateParams::new(["127.0.0.1", "hook.default.svc"].map(str::to_owned)).unwrap()
}

fn acceptor(certificate: &Certificate, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// An admission response with a JSON patch.
pub(crate) fn patch(operations: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string())})
}
