//! OpenAPI documents, version 3: found, kept, complete, and fit for the clients that read them.

use crate::client::Wire;
use fake_apiserver::{Release, ServerOptions};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The address of a document with its hash, as the index gives it.
async fn address(wire: &Wire, place: &str) -> String {
    let index = wire.get("/openapi/v3").await.body;
    let url = &index["paths"][place]["serverRelativeURL"];
    url.as_str().expect("the index has the place").to_owned()
}

async fn document(wire: &Wire, place: &str) -> Value {
    wire.get(&address(wire, place).await).await.body
}

/// All targets of references in a document.
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
    let wire = Wire::start().await;
    let groups = wire.get("/apis").await.body;
    let mut expected = BTreeSet::from(["api/v1".to_owned()]);
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            expected.insert(format!("apis/{}", version["groupVersion"].as_str().unwrap()));
        }
    }
    let index = wire.get("/openapi/v3").await.body;
    let found: BTreeSet<String> = index["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_document_may_be_kept_under_its_hash() {
    let wire = Wire::start().await;
    let url = address(&wire, "apis/storage.k8s.io/v1").await;
    let kept = wire.get(&url).await;
    assert_eq!(kept.code, 200);
    assert_eq!(kept.headers["content-type"], "application/json");
    assert_eq!(kept.headers["cache-control"], "public, immutable");
    assert!(kept.headers["expires"].to_str().unwrap().ends_with(" GMT"));
    let (path, hash) = url.split_once("?hash=").unwrap();
    let tag = kept.headers["etag"].to_str().unwrap();
    assert_eq!(tag, format!("\"{hash}\""));
    let bare = wire.get(path).await;
    assert_eq!((bare.code, &bare.text), (200, &kept.text));
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
async fn documents_are_complete_in_themselves() {
    let wire = Wire::start().await;
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
async fn whatever_is_patched_says_that_fields_are_validated() {
    let wire = Wire::start().await;
    let index = wire.get("/openapi/v3").await.body;
    for place in index["paths"].as_object().unwrap().keys() {
        let document = document(&wire, place).await;
        let resources = wire.get(&format!("/{place}")).await.body;
        for entry in resources["resources"].as_array().unwrap() {
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
async fn schemas_say_how_lists_merge() {
    let wire = Wire::start().await;
    let document = document(&wire, "api/v1").await;
    let of = |name: &str| &document["components"]["schemas"][format!("io.k8s.api.core.v1.{name}")];
    let containers = &of("PodSpec")["properties"]["containers"];
    assert_eq!(
        containers,
        &json!({
            "type": "array",
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
async fn a_release_describes_what_it_serves() {
    for (minor, has_capacities) in [("1.23", false), ("1.24", true)] {
        let release: Release = minor.parse().expect("it is a release");
        let options = ServerOptions {
            release,
            ..ServerOptions::default()
        };
        let wire = Wire::with(options, None).await;
        let document = document(&wire, "apis/storage.k8s.io/v1").await;
        let path = &document["paths"]["/apis/storage.k8s.io/v1/csistoragecapacities"];
        assert_eq!(path.is_object(), has_capacities, "{minor}");
    }
}
