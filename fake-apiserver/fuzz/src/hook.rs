//! A webhook that answers whatever it is given. Knows HTTP/1.1 as far as the server's questions go.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What the webhook makes of the bytes of a run.
#[derive(Clone, Copy)]
pub enum Form {
    /// They are all that it says.
    Whole,
    /// They are the response to the review.
    Response,
    /// They are the patch of a response that is in order.
    Patch,
}

/// A running webhook. Its thread ends with the process.
pub struct Hook {
    address: SocketAddr,
    /// Its certificate, as configurations hold it.
    authority: String,
    said: Arc<Mutex<(Option<Form>, Vec<u8>)>>,
}

type Stream = BufReader<StreamOwned<ServerConnection, TcpStream>>;

impl Hook {
    pub fn start() -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let names = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address is a name");
        let certificate = names.self_signed(&key).expect("a certificate can be made");
        let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has what they need")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], secret)
            .expect("the key is that of the certificate");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let hook = Self {
            address: listener.local_addr().expect("it listens"),
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

    /// From now on, it says that.
    pub fn say(&self, form: Form, bytes: &[u8]) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = (Some(form), bytes.to_vec());
    }

    /// The configuration by which it is asked about every new config map.
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

/// The next review that somebody sends; none: the connection ends.
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
