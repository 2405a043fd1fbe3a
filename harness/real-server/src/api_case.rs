//! Implements the trait `RealApiCase` of the harness by calling the other modules of this crate.

use std::sync::Arc;

use fake_apiserver::{Rule, RuleError, RuleId};
use futures::FutureExt;
use futures::future::BoxFuture;
use harness::api_server::{RealApiCase, StatusError};
use harness::listening::HttpListener;
use hyper::Method;
use serde_json::{Value, json};

use crate::case::Case;
use crate::clean::remove;
use crate::client::{call, call_with};
use crate::creation;
use crate::kinds::KINDS;
use crate::listen::listen;
use crate::random::random;

impl RealApiCase for Case {
    fn listen(self: Arc<Self>, with_tls: bool) -> BoxFuture<'static, std::io::Result<HttpListener>> {
        listen(self, with_tls).boxed()
    }

    fn add_client(&self, name: &str) -> String {
        let token = random(32);
        self.clients.lock().insert(token.clone(), name.into());
        token
    }

    fn call<'a>(
        self: Arc<Self>,
        client: &'a str,
        method: Method,
        path: &'a str,
        body: Option<Value>,
    ) -> BoxFuture<'a, Result<Value, StatusError>> {
        async move { call(&self, client, method, path, body).await }.boxed()
    }

    fn apply<'a>(
        self: Arc<Self>,
        client: &'a str,
        path: &'a str,
        object: Value,
    ) -> BoxFuture<'a, Result<Value, StatusError>> {
        const APPLY: &str = "application/apply-patch+yaml";
        async move { call_with(&self, client, Method::PATCH, path, APPLY, Some(object)).await }.boxed()
    }

    fn finish_create<'a>(
        self: Arc<Self>,
        requested: &'a Value,
        created: Value,
    ) -> BoxFuture<'a, Result<Value, StatusError>> {
        async move { creation::finish_create(&self, requested, created).await }.boxed()
    }

    fn add_fault_rule(&self, rule: Rule) -> Result<RuleId, RuleError> {
        let newest = |resource: &str| (resource.to_owned(), self.attribution.newest_revision(resource));
        let newest = KINDS.iter().map(|kind| newest(kind.resource)).collect();
        self.faults.install(rule, newest)
    }

    fn remove_fault_rule(&self, id: RuleId) {
        self.faults.remove(id);
    }

    fn quiet(&self) -> BoxFuture<'_, ()> {
        self.wait_until_idle().boxed()
    }

    fn end(&self) -> BoxFuture<'_, Vec<String>> {
        async move {
            self.stop().await;
            let mut remaining = Vec::new();
            let objects = self.attribution.objects();
            for kind in self.kinds() {
                let own = objects.iter().filter(|(key, _)| *key.resource == *kind.resource);
                let own: Vec<Value> = own
                    .map(|(key, object)| {
                        let uid = &object["metadata"]["uid"];
                        match &key.namespace {
                            Some(namespace) => {
                                json!({"metadata": {"name": key.name, "namespace": self.names.server_name(namespace), "uid": uid}})
                            }
                            None => json!({"metadata": {"name": self.names.server_name(&key.name), "uid": uid}}),
                        }
                    })
                    .collect();
                if !own.is_empty() {
                    remaining.extend(remove(&self.upstream, kind, own).await);
                }
            }
            remaining
        }
        .boxed()
    }
}
