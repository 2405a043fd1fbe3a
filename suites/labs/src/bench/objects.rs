//! The objects that `bench apiserver` creates: ConfigMaps, or custom resources of many CRDs. Only the functions for CRDs send requests.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::connection::{ApiRequest, Connection, JSON, Target};
use suites::harness::system::BoxError;

/// Bytes of data per API object; with metadata an object has about 1 KB.
const DATA_BYTES: usize = 700;
/// Timeout until the resources of a CRD are served; a real server takes some seconds.
const SERVED_TIMEOUT: Duration = Duration::from_secs(60);
/// Poll interval until the resources of a CRD are served.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A kind of API object, with the API path of its resource.
#[derive(Clone)]
pub(super) struct Kind {
    api_version: String,
    kind: String,
    plural: String,
    /// API path of the group and version: `/api/v1` or `/apis/GROUP/VERSION`.
    root: String,
}

impl Kind {
    pub(super) fn config_maps() -> Self {
        Kind {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            root: "/api/v1".into(),
        }
    }

    /// The n-th kind of custom resource in an API group.
    fn custom(group: &str, number: usize) -> Self {
        Kind {
            api_version: format!("{group}/v1"),
            kind: format!("Item{number}"),
            plural: format!("items{number}"),
            root: format!("/apis/{group}/v1"),
        }
    }

    pub(super) fn collection(&self, namespace: &str) -> Collection {
        let Kind {
            api_version,
            kind,
            plural,
            root,
        } = self;
        let filler = "x".repeat(DATA_BYTES);
        Collection {
            path: format!("{root}/namespaces/{namespace}/{plural}"),
            head: format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}""#),
            tail: format!(r#""labels":{{"app":"bench"}}}},"data":{{"filler":"{filler}"}}}}"#),
        }
    }
}

/// API objects of one kind in one namespace.
#[derive(Clone)]
pub(super) struct Collection {
    pub(super) path: String,
    /// JSON of an API object before its name.
    head: String,
    /// JSON of an API object after its name.
    tail: String,
}

impl Collection {
    /// Returns a request that creates the API object with this number in its name.
    pub(super) fn create(&self, number: usize) -> ApiRequest {
        let Collection { path, head, tail } = self;
        ApiRequest {
            method: "POST",
            path: path.clone(),
            media: JSON,
            body: format!(r#"{head},"metadata":{{"name":"item-{number}",{tail}"#),
        }
    }
}

/// CRDs created for a load.
pub(super) struct Definitions {
    group: String,
    count: usize,
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Definitions {
    /// Describes `count` CRDs of an API group, without creating them.
    pub(super) fn new(group: String, count: usize) -> Self {
        Definitions { group, count }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> {
        (0..self.count).map(|number| Kind::custom(&self.group, number))
    }

    /// Creates the CRDs, and waits until all are served.
    pub(super) async fn create(&self, target: &Arc<Target>) -> Result<(), BoxError> {
        let mut connection = Connection::open(target).await?;
        for kind in self.kinds() {
            connection.call(&self.definition(&kind), |_| {}).await?;
        }
        for kind in self.kinds() {
            let list = ApiRequest::without_body("GET", format!("{}/{}?limit=1", kind.root, kind.plural));
            let served = async {
                while connection.call(&list, |_| {}).await.is_err() {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            if tokio::time::timeout(SERVED_TIMEOUT, served).await.is_err() {
                return Err(format!("{} is not served after {SERVED_TIMEOUT:?}", kind.plural).into());
            }
        }
        Ok(())
    }

    /// Deletes the CRDs together with their custom resources.
    pub(super) async fn delete(&self, target: &Arc<Target>) -> Result<(), BoxError> {
        let mut connection = Connection::open(target).await?;
        for kind in self.kinds() {
            let name = format!("{DEFINITIONS}/{}.{}", kind.plural, self.group);
            connection
                .call(&ApiRequest::without_body("DELETE", name), |_| {})
                .await?;
        }
        Ok(())
    }

    fn definition(&self, kind: &Kind) -> ApiRequest {
        let data = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let schema = json!({"type": "object", "properties": {"data": data}});
        let body = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", kind.plural, self.group)},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"kind": kind.kind, "plural": kind.plural},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        });
        ApiRequest {
            method: "POST",
            path: DEFINITIONS.into(),
            media: JSON,
            body: body.to_string(),
        }
    }
}
