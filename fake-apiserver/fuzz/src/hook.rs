//! A webhook server that sends arbitrary bytes. It implements only the part of HTTP/1.1 that the API server uses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Which part of the webhook's response consists of the fuzz input.
#[derive(Clone, Copy)]
pub enum Form {
    /// The whole response body.
    Whole,
    /// The `response` of the AdmissionReview.
    Response,
    /// The patch of an otherwise valid response.
    Patch,
}

/// A running webhook server. Its thread runs until the process ends.
pub struct Hook {
    address: SocketAddr,
    /// The certificate of the server, as `caBundle`.
    authority: String,
    said: Arc<Mutex<(Option<Form>, Vec<u8>)>>,
}

type Stream = BufReader<StreamOwned<ServerConnection, TcpStream>>;

impl Hook {
    pub fn start() -> Self {
        let key = KeyPair::generate().expect("a key pair can be generated");
        let names = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an IP address is a valid name");
        let certificate = names.self_signed(&key).expect("the certificate can be signed");
        let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider supports the default TLS versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .expect("the key matches the certificate");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let hook = Self {
            address: listener.local_addr().expect("the listener has an address"),
            authority: STANDARD.encode(certificate.pem()),
            said: Arc::default(),
        };
        let (config, said) = (Arc::new(config), hook.said.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, said) = (config.clone(), said.clone());
                std::thread::spawn(move || {
                    let Ok(connection) = ServerConnection::new(config) else {
                        return;
                    };
                    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
                    while let Some(review) = question(&mut stream) {
                        let (form, bytes) = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
                        if answer(&mut stream, &reply(form, &bytes, &review)).is_none() {
                            return;
                        }
                    }
                });
            }
        });
        hook
    }

    /// Sets the response to all later reviews.
    pub fn say(&self, form: Form, bytes: &[u8]) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = (Some(form), bytes.to_vec());
    }

    /// A webhook configuration that sends all new ConfigMaps to this server.
    pub fn configuration(&self) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "fuzzed"},
            "webhooks": [{
                "name": "fuzzed.example.com",
                "clientConfig": {"url": format!("https://{}/", self.address), "caBundle": self.authority},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
            }],
        })
    }
}

/// Reads the next AdmissionReview; None if the client closes the connection.
fn question(stream: &mut Stream) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(text) = line.strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn reply(form: Option<Form>, bytes: &[u8], review: &Value) -> Vec<u8> {
    let uid = &review["request"]["uid"];
    let responded = |response: Value| {
        let review =
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response});
        review.to_string().into_bytes()
    };
    match form {
        Some(Form::Whole) => bytes.to_vec(),
        Some(Form::Response) => {
            let mut response: Value = serde_json::from_slice(bytes).unwrap_or_default();
            if let Some(fields) = response.as_object_mut() {
                fields.insert("uid".to_owned(), uid.clone());
            }
            responded(response)
        }
        Some(Form::Patch) => responded(
            json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(bytes)}),
        ),
        None => responded(json!({"uid": uid, "allowed": true})),
    }
}

fn answer(stream: &mut Stream, body: &[u8]) -> Option<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let stream = stream.get_mut();
    stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
    stream.flush().ok()
}
