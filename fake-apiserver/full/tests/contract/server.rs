//! The API server against which conversations are run, and the objects to delete from the server afterwards.

use fake_apiserver::{Admission, ApiServer, Authorization, Running, ServerOptions, User};
use http_body_util::BodyExt;
use hyper::{Request, Response};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use parking_lot::Mutex;
use std::path::Path;
use std::time::Duration;

pub(crate) struct Server {
    client: kube::Client,
    /// The id of the test run: part of all object names, so that conversations do not conflict.
    pub(crate) id: String,
    /// Paths of the objects that the conversation created, oldest first.
    created: Mutex<Vec<String>>,
    /// Keeps the fake server running during the conversation.
    _fake: Option<(ApiServer, Running)>,
}

impl Server {
    pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Self {
        let (mut config, fake) = match kubeconfig {
            Some(file) => {
                let file = Kubeconfig::read_from(file).expect("CONTRACT_KUBECONFIG is a readable kubeconfig");
                let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
                (config.expect("the kubeconfig is complete"), None)
            }
            None => {
                let (config, fake) = start_fake_server().await;
                (config, Some(fake))
            }
        };
        config.default_retry = false;
        let id = &uuid::Uuid::new_v4().simple().to_string()[..10];
        Self {
            client: kube::Client::try_from(config).expect("the client configuration is valid"),
            id: format!("x{id}x"),
            created: Mutex::default(),
            _fake: fake,
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response<Body> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = self.client.send(request).await.expect("the server responds");
        if response.status() == 201 && (method == "PUT" || method == "PATCH") {
            self.created.lock().push(path);
        }
        response
    }

    /// Creates the namespace of the conversation and waits for its service account `default`.
    pub(crate) async fn create_namespace(&self) {
        let body = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, self.id);
        let request = Request::post("/api/v1/namespaces").header("content-type", "application/json");
        let request = request
            .body(Body::from(body.into_bytes()))
            .expect("the request is well formed");
        drop(self.send(request).await.into_body().collect().await);
        self.record_created(format!("/api/v1/namespaces/{}", self.id));
        let account = format!("/api/v1/namespaces/{}/serviceaccounts/default", self.id);
        loop {
            let request = Request::get(&account)
                .body(Body::empty())
                .expect("the request is well formed");
            if self.send(request).await.status() == 200 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn record_created(&self, path: String) {
        self.created.lock().push(path);
    }

    /// Deletes all created objects, newest first, after removing their finalizers.
    pub(crate) async fn clean_up(&self) {
        let created = std::mem::take(&mut *self.created.lock());
        for path in created.into_iter().rev() {
            let bare = path.split('?').next().unwrap_or_default();
            for (method, body) in [("PATCH", r#"{"metadata":{"finalizers":null}}"#), ("DELETE", "{}")] {
                let request = Request::builder()
                    .method(method)
                    .uri(format!("{bare}?gracePeriodSeconds=0"));
                let request = match method {
                    "PATCH" => request.header("content-type", "application/merge-patch+json"),
                    _ => request.header("content-type", "application/json"),
                };
                let request = request
                    .body(Body::from(body.as_bytes().to_vec()))
                    .expect("the path is valid");
                let response = self.client.send(request).await.expect("the server responds");
                drop(response.into_body().collect().await);
            }
        }
    }
}

/// Starts a fake server with RBAC and all admission plugins.
async fn start_fake_server() -> (kube::Config, (ApiServer, Running)) {
    let options = ServerOptions {
        admission: Admission::kubernetes_defaults(),
        kubelet_less: false,
        authorization: Authorization::Rbac,
        default_service_accounts: true,
        // No parsed objects are cached: every read decodes the stored bytes, as it does for most objects of a large cluster.
        parsed_bytes: 0,
        ..ServerOptions::default()
    };
    let server = ApiServer::with_extensions(options, None, fake_apiserver_full::extensions());
    let token = server.add_user(User::new("contract").in_group("system:masters"));
    let running = server.start().await.expect("the server binds a loopback port");
    let mut config = kube::Config::new(running.url().parse().expect("the server URL is valid"));
    config.auth_info.token = Some(token.into());
    (config, (server, running))
}
