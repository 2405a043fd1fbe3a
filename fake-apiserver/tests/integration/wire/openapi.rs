//! OpenAPI v3 documents: index, caching, completeness, and the properties that clients rely on.

use super::client::TestServer;
use fake_apiserver::{Release, ServerOptions};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The URL of an OpenAPI document, with the hash of its content, from the index. `place`: key of the document in the index.
async fn document_url(wire: &TestServer, place: &str) -> String {
    let index = wire.get("/openapi/v3").await.body;
    let url = &index["paths"][place]["serverRelativeURL"];
    url.as_str().expect("the index lists the document").to_owned()
}

async fn document(wire: &TestServer, place: &str) -> Value {
    wire.get(&document_url(wire, place).await).await.body
}

/// Collects all `$ref` targets in an OpenAPI document.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get("$ref") {
                found.insert(target.clone());
            }
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_discovered_version_has_a_document() {
    let wire = TestServer::start().await;
    let groups = wire.get("/apis").await.body;
    let mut expected: BTreeSet<String> = ["api", "api/v1", "apis", "version"].map(str::to_owned).into();
    for group in groups["groups"].as_array().unwrap() {
        expected.insert(format!("apis/{}", group["name"].as_str().unwrap()));
        for version in group["versions"].as_array().unwrap() {
            expected.insert(format!("apis/{}", version["groupVersion"].as_str().unwrap()));
        }
    }
    let index = wire.get("/openapi/v3").await.body;
    let found: BTreeSet<String> = index["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn connect_subresources_are_described_with_their_parameters() {
    let wire = TestServer::start().await;
    let document = document(&wire, "api/v1").await;
    const PROXY: &str = "delete get head options patch post put";
    for (path, methods, operation, kind, options) in [
        (
            "namespaces/{namespace}/pods/{name}/attach",
            "get post",
            "connectCoreV1GetNamespacedPodAttach",
            "PodAttachOptions",
            "container name namespace stderr stdin stdout tty",
        ),
        (
            "namespaces/{namespace}/pods/{name}/exec",
            "get post",
            "connectCoreV1GetNamespacedPodExec",
            "PodExecOptions",
            "command container name namespace stderr stdin stdout tty",
        ),
        (
            "namespaces/{namespace}/pods/{name}/portforward",
            "get post",
            "connectCoreV1GetNamespacedPodPortforward",
            "PodPortForwardOptions",
            "name namespace ports",
        ),
        (
            "namespaces/{namespace}/pods/{name}/log",
            "get",
            "readCoreV1NamespacedPodLog",
            "Pod",
            "container follow insecureSkipTLSVerifyBackend limitBytes name namespace pretty previous sinceSeconds stream tailLines timestamps",
        ),
        (
            "namespaces/{namespace}/services/{name}/proxy/{path}",
            PROXY,
            "connectCoreV1GetNamespacedServiceProxyWithPath",
            "ServiceProxyOptions",
            "name namespace path path",
        ),
        (
            "nodes/{name}/proxy",
            PROXY,
            "connectCoreV1GetNodeProxy",
            "NodeProxyOptions",
            "name path",
        ),
    ] {
        let mut item = document["paths"][format!("/api/v1/{path}")].clone();
        let parameters = item["parameters"].take();
        let parameters = parameters.as_array().expect("the path lists parameters");
        let names: Vec<&str> = parameters
            .iter()
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        assert_eq!(names.join(" "), options, "{path}");
        let operations = item.as_object().unwrap();
        let found: Vec<&str> = operations
            .keys()
            .map(String::as_str)
            .filter(|name| *name != "parameters")
            .collect();
        assert_eq!(found.join(" "), methods, "{path}");
        assert_eq!(item["get"]["operationId"], operation);
        let what = json!({"group": "", "version": "v1", "kind": kind});
        assert_eq!(item["get"]["x-kubernetes-group-version-kind"], what);
    }
}

#[tokio::test]
async fn documents_are_immutable_under_their_hash() {
    let wire = TestServer::start().await;
    let url = document_url(&wire, "apis/storage.k8s.io/v1").await;
    let stored = wire.get(&url).await;
    assert_eq!(stored.code, 200);
    assert_eq!(stored.headers["content-type"], "application/json");
    assert_eq!(stored.headers["cache-control"], "public, immutable");
    assert!(stored.headers["expires"].to_str().unwrap().ends_with(" GMT"));
    let (path, hash) = url.split_once("?hash=").unwrap();
    let tag = stored.headers["etag"].to_str().unwrap();
    assert_eq!(tag, format!("\"{hash}\""));
    let bare = wire.get(path).await;
    assert_eq!((bare.code, &bare.text), (200, &stored.text));
    assert_eq!(bare.headers["cache-control"], "no-cache, private");
    let known = wire
        .send("GET", path, &[("if-none-match", tag)], String::new())
        .await;
    assert_eq!((known.code, known.text.as_str()), (304, ""));
    let moved = wire.get(&format!("{path}?hash=0")).await;
    assert_eq!(
        (moved.code, &moved.headers["location"]),
        (301, &url.parse().unwrap())
    );
    assert_eq!(wire.get("/openapi/v3/apis/storage.k8s.io/v7").await.code, 404);
}

#[tokio::test]
async fn references_in_a_document_resolve_within_it() {
    let wire = TestServer::start().await;
    let index = wire.get("/openapi/v3").await.body;
    for place in index["paths"].as_object().unwrap().keys() {
        let document = document(&wire, place).await;
        let mut wanted = BTreeSet::new();
        references(&document, &mut wanted);
        assert!(!wanted.is_empty(), "{place}");
        for target in wanted {
            let schema = document.pointer(target.strip_prefix('#').unwrap());
            assert!(schema.is_some_and(Value::is_object), "{place}: {target}");
        }
    }
}

#[tokio::test]
async fn all_patch_operations_have_the_field_validation_parameter() {
    let wire = TestServer::start().await;
    let index = wire.get("/openapi/v3").await.body;
    for place in index["paths"].as_object().unwrap().keys() {
        let document = document(&wire, place).await;
        let resources = wire.get(&format!("/{place}")).await.body;
        for entry in resources["resources"].as_array().into_iter().flatten() {
            let name = entry["name"].as_str().unwrap();
            if name.contains('/') || !entry["verbs"].as_array().unwrap().contains(&json!("patch")) {
                continue;
            }
            let collection = match entry["namespaced"] == true {
                true => format!("/{place}/namespaces/{{namespace}}/{name}"),
                false => format!("/{place}/{name}"),
            };
            let patch = &document["paths"][format!("{collection}/{{name}}")]["patch"];
            assert_eq!(
                patch["x-kubernetes-group-version-kind"]["kind"], entry["kind"],
                "{place} {name}"
            );
            let parameters = patch["parameters"].as_array().unwrap();
            for wanted in ["fieldValidation", "dryRun"] {
                let has = parameters.iter().any(|parameter| parameter["name"] == wanted);
                assert!(has, "{place} {name}: {wanted}");
            }
            let target = patch["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].as_str();
            let schema = document.pointer(&target.unwrap()[1..]).unwrap();
            assert_eq!(
                schema["x-kubernetes-group-version-kind"][0]["kind"], entry["kind"],
                "{place} {name}"
            );
        }
    }
}

#[tokio::test]
async fn schemas_contain_merge_strategies_and_list_types() {
    let wire = TestServer::start().await;
    let document = document(&wire, "api/v1").await;
    let of = |name: &str| &document["components"]["schemas"][format!("io.k8s.api.core.v1.{name}")];
    let containers = &of("PodSpec")["properties"]["containers"];
    assert_eq!(
        containers,
        &json!({
            "type": "array",
            "description": "Containers of the pod.",
            "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
        })
    );
    assert_eq!(of("PodSpec")["required"], json!(["containers"]));
    let ports = &of("Container")["properties"]["ports"];
    assert_eq!(
        ports["x-kubernetes-list-map-keys"],
        json!(["containerPort", "protocol"])
    );
    let terms = &of("NodeSelector")["properties"]["nodeSelectorTerms"];
    assert_eq!(terms["x-kubernetes-list-type"], "atomic");
    let volumes = &of("PodSpec")["properties"]["volumes"];
    assert_eq!(volumes["x-kubernetes-patch-strategy"], "merge,retainKeys");
    let capacity = &of("PersistentVolumeSpec")["properties"]["capacity"]["additionalProperties"];
    let quantity = "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity";
    assert_eq!(capacity, &json!({"$ref": quantity}));
}

#[tokio::test]
async fn documents_describe_the_resources_of_the_release() {
    for (minor, has_capacities) in [("1.23", false), ("1.24", true)] {
        let release: Release = minor.parse().expect("the release is valid");
        let options = ServerOptions {
            release,
            ..ServerOptions::default()
        };
        let wire = TestServer::start_with(options, None).await;
        let document = document(&wire, "apis/storage.k8s.io/v1").await;
        let path = &document["paths"]["/apis/storage.k8s.io/v1/csistoragecapacities"];
        assert_eq!(path.is_object(), has_capacities, "{minor}");
    }
}

#[tokio::test]
async fn the_index_supports_if_modified_since() {
    let wire = TestServer::start().await;
    let index = wire.get("/openapi/v3").await;
    assert_eq!(index.headers["content-type"], "text/plain; charset=utf-8");
    let made = index.headers["last-modified"].to_str().unwrap().to_owned();
    let again = |since: String| {
        let wire = &wire;
        async move {
            let headers = [("if-modified-since", since.as_str())];
            wire.send("GET", "/openapi/v3", &headers, String::new())
                .await
                .code
        }
    };
    assert_eq!(again(made).await, 304);
    assert_eq!(again("Sat, 01 Jan 2000 00:00:00 GMT".to_owned()).await, 200);
    assert_eq!(again("yesterday".to_owned()).await, 200);
}

#[tokio::test]
async fn schemas_contain_required_fields_defaults_and_enums() {
    let wire = TestServer::start().await;
    let storage = document(&wire, "apis/storage.k8s.io/v1").await;
    let core = document(&wire, "api/v1").await;
    let field = |document: &Value, owner: &str, field: &str| {
        document["components"]["schemas"][format!("io.k8s.api.{owner}")]["properties"][field].clone()
    };
    let required = |document: &Value, owner: &str| {
        document["components"]["schemas"][format!("io.k8s.api.{owner}")]["required"].clone()
    };
    let driver = field(&storage, "storage.v1.CSIDriver", "spec");
    assert_eq!(driver["default"], json!({}));
    assert_eq!(
        required(&storage, "storage.v1.StorageClass"),
        json!(["provisioner"])
    );
    // The Go types of the fields below imply these required fields, defaults and enums.
    assert_eq!(
        required(&core, "core.v1.Event"),
        json!(["involvedObject", "metadata"])
    );
    assert_eq!(required(&core, "core.v1.ImageVolumeStatus"), json!(["imageRef"]));
    let modes = field(&core, "core.v1.PersistentVolumeClaimSpec", "accessModes");
    let all = [
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOnce",
        "ReadWriteOncePod",
    ];
    assert_eq!(modes["items"], json!({"type": "string", "enum": all}));
    let protocol = field(&core, "core.v1.ContainerPort", "protocol");
    assert_eq!(
        (&protocol["default"], &protocol["enum"]),
        (&json!("TCP"), &json!(["SCTP", "TCP", "UDP"]))
    );
    let reference = &core["components"]["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
    assert_eq!(reference["x-kubernetes-map-type"], "atomic");
    let profile = &core["components"]["schemas"]["io.k8s.api.core.v1.SeccompProfile"]["x-kubernetes-unions"];
    let members = json!({"localhostProfile": "LocalhostProfile"});
    assert_eq!(
        profile,
        &json!([{"discriminator": "type", "fields-to-discriminateBy": members}])
    );
}

#[tokio::test]
async fn all_kinds_and_all_storage_fields_have_descriptions() {
    let wire = TestServer::start().await;
    let index = wire.get("/openapi/v3").await.body;
    let has_text = |value: &Value| value["description"].as_str().is_some_and(|text| !text.is_empty());
    for place in index["paths"].as_object().unwrap().keys() {
        let document = document(&wire, place).await;
        let schemas = document["components"]["schemas"].as_object();
        assert!(schemas.is_some(), "{place}");
        for (name, schema) in schemas.into_iter().flatten() {
            let is_kind = schema.get("x-kubernetes-group-version-kind").is_some();
            assert!(!is_kind || has_text(schema), "{place}: {name}");
            let is_storage = name.starts_with("io.k8s.api.storage.v1.");
            for (field, property) in schema["properties"].as_object().into_iter().flatten() {
                assert!(!is_storage || has_text(property), "{place}: {name} {field}");
            }
        }
    }
}

#[tokio::test]
async fn common_parameters_are_listed_on_the_path_item() {
    let wire = TestServer::start().await;
    let document = document(&wire, "apis/storage.k8s.io/v1").await;
    let names = |value: &Value| -> Vec<String> {
        let named = |parameter: &Value| parameter["name"].as_str().unwrap().to_owned();
        value["parameters"]
            .as_array()
            .map_or(Vec::new(), |list| list.iter().map(named).collect())
    };
    let path =
        &document["paths"]["/apis/storage.k8s.io/v1/namespaces/{namespace}/csistoragecapacities/{name}"];
    assert_eq!(names(path), ["name", "namespace", "pretty"]);
    assert_eq!(names(&path["get"]), [""; 0]);
    assert_eq!(
        names(&path["patch"]),
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
    let medias: Vec<&String> = path["patch"]["requestBody"]["content"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(
        medias,
        [
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ]
    );
    let all = &document["paths"]["/apis/storage.k8s.io/v1/csistoragecapacities"];
    assert!(names(all).contains(&"labelSelector".to_owned()));
    assert_eq!(names(&all["get"]), [""; 0]);
    let old = &document["paths"]["/apis/storage.k8s.io/v1/watch/storageclasses/{name}"]["get"];
    assert_eq!(
        (&old["x-kubernetes-action"], &old["operationId"]),
        (&json!("watch"), &json!("watchStorageV1StorageClass"))
    );
}
