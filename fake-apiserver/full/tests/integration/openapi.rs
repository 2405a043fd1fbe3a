//! OpenAPI documents for old clients: version 2, and both versions in protobuf.

use super::client::{TestServer, request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

/// A decoded protobuf message: its length-delimited fields by field number. Fields of other wire types are ignored.
struct Message(BTreeMap<u64, Vec<Vec<u8>>>);

impl Message {
    fn read(mut rest: &[u8]) -> Self {
        let mut fields: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
        while !rest.is_empty() {
            let tag = varint(&mut rest);
            match tag & 7 {
                0 => drop(varint(&mut rest)),
                1 => rest = &rest[8..],
                2 => {
                    let length = usize::try_from(varint(&mut rest)).expect("the length fits in usize");
                    let (field, after) = rest.split_at(length);
                    fields.entry(tag >> 3).or_default().push(field.to_vec());
                    rest = after;
                }
                other => panic!("wire type {other}"),
            }
        }
        Self(fields)
    }

    fn field_values(&self, number: u64) -> Vec<&[u8]> {
        self.0
            .get(&number)
            .into_iter()
            .flatten()
            .map(Vec::as_slice)
            .collect()
    }

    fn text(&self, number: u64) -> String {
        String::from_utf8(self.field_values(number).concat()).expect("the field is UTF-8")
    }

    fn nested_message(&self, number: u64) -> Self {
        Self::read(&self.field_values(number).concat())
    }

    /// The entries of a protobuf field that holds named values, by name.
    fn named_values(&self, number: u64) -> BTreeMap<String, Self> {
        let entries = self.field_values(number).into_iter().map(Self::read);
        entries
            .map(|entry| (entry.text(1), entry.nested_message(2)))
            .collect()
    }
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, after) = rest.split_first().expect("the varint is complete");
        *rest = after;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

/// Requests an OpenAPI document; returns status code, media type, ETag and body.
async fn fetch(wire: &TestServer, path: &str, accept: &str) -> (u16, String, String, Vec<u8>) {
    let response = request(&wire.client, "GET", path, &[("accept", accept)], String::new()).await;
    let (head, body) = response.into_parts();
    let bytes = body
        .collect()
        .await
        .expect("the response body is complete")
        .to_bytes()
        .to_vec();
    let header = |name: &str| {
        let value = head.headers.get(name);
        value.map_or(String::new(), |value| {
            value.to_str().expect("header values are ASCII").to_owned()
        })
    };
    (
        head.status.as_u16(),
        header("content-type"),
        header("etag"),
        bytes,
    )
}

async fn swagger(wire: &TestServer) -> Value {
    let answer = wire.get("/openapi/v2").await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.headers["content-type"], "application/json");
    answer.body
}

#[tokio::test]
async fn openapi_v2_contains_all_paths_and_schemas_of_v3() {
    let wire = TestServer::start().await;
    let second = swagger(&wire).await;
    let index = wire.get("/openapi/v3").await.body;
    let (mut paths, mut schemas) = (BTreeSet::new(), BTreeSet::new());
    for place in index["paths"].as_object().unwrap().values() {
        let document = wire.get(place["serverRelativeURL"].as_str().unwrap()).await.body;
        paths.extend(document["paths"].as_object().unwrap().keys().cloned());
        // OpenAPI documents of plain-text endpoints have no schemas.
        let own = document["components"]["schemas"].as_object();
        schemas.extend(own.into_iter().flat_map(|own| own.keys().cloned()));
    }
    let keys =
        |member: &str| -> BTreeSet<String> { second[member].as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys("paths"), paths);
    assert_eq!(keys("definitions"), schemas);
    assert_eq!(second["info"], json!({"title": "Kubernetes", "version": "1.36"}));
}

#[tokio::test]
async fn references_in_openapi_v2_resolve() {
    fn targets(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| targets(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| targets(item, found)),
            _ => {}
        }
    }
    let wire = TestServer::start().await;
    let second = swagger(&wire).await;
    let mut found = BTreeSet::new();
    targets(&second, &mut found);
    assert!(found.len() > 500, "{}", found.len());
    for target in found {
        let place = target.strip_prefix('#').unwrap();
        assert!(second.pointer(place).is_some_and(Value::is_object), "{target}");
    }
}

#[tokio::test]
async fn openapi_v2_uses_only_keywords_of_v2() {
    let wire = TestServer::start().await;
    let second = swagger(&wire).await;
    let quantity = &second["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
    assert_eq!(
        (&quantity["type"], quantity.get("oneOf")),
        (&json!("string"), None)
    );
    let spec = &second["definitions"]["io.k8s.api.core.v1.Pod"]["properties"]["spec"];
    assert_eq!(spec["$ref"], "#/definitions/io.k8s.api.core.v1.PodSpec");
    assert_eq!(
        (spec["description"].is_string(), spec.get("default")),
        (true, None)
    );
    let claims = "/api/v1/namespaces/{namespace}/persistentvolumeclaims";
    let patch = &second["paths"][format!("{claims}/{{name}}")]["patch"];
    assert!(
        patch["consumes"]
            .as_array()
            .unwrap()
            .contains(&json!("application/apply-patch+yaml"))
    );
    let parameters = patch["parameters"].as_array().unwrap();
    // Old clients look for these parameters in the operation itself to detect that the server supports them.
    for name in ["dryRun", "fieldValidation"] {
        let wanted = |parameter: &&Value| parameter["name"] == name && parameter["in"] == "query";
        assert_eq!(
            parameters.iter().find(wanted).unwrap()["type"],
            "string",
            "{name}"
        );
    }
    assert_eq!(parameters[0]["in"], "body");
    let created = &second["paths"][claims]["post"];
    let schema = json!({"$ref": "#/definitions/io.k8s.api.core.v1.PersistentVolumeClaim"});
    assert_eq!(
        created["parameters"][0],
        json!({"in": "body", "name": "body", "required": true, "schema": schema})
    );
    assert_eq!(created["responses"]["201"]["schema"], schema);
}

#[tokio::test]
async fn openapi_v2_is_served_in_protobuf_under_both_media_types() {
    let wire = TestServer::start().await;
    let second = swagger(&wire).await;
    let (code, media, tag, bytes) = fetch(&wire, "/openapi/v2", V2_PROTOBUF).await;
    assert_eq!((code, media.as_str()), (200, V2_PROTOBUF));
    let old = fetch(&wire, "/openapi/v2", &V2_PROTOBUF.replace(".v2.v1", ".v2@v1")).await;
    assert_eq!(old, (200, media, tag, bytes.clone()));
    let document = Message::read(&bytes);
    assert_eq!(document.text(1), "2.0");
    let definitions = document.nested_message(9).named_values(1);
    assert_eq!(
        definitions.len(),
        second["definitions"].as_object().unwrap().len()
    );
    let capacity = &definitions["io.k8s.api.storage.v1.CSIStorageCapacity"];
    assert_eq!(capacity.field_values(19), [b"storageClassName"]);
    let class = &capacity.nested_message(25).named_values(1)["storageClassName"];
    assert_eq!(class.nested_message(22).text(1), "string");
    let kind = capacity
        .named_values(31)
        .remove("x-kubernetes-group-version-kind")
        .unwrap();
    let kind: Value = serde_json::from_str(&kind.text(2)).unwrap();
    assert_eq!(
        kind,
        json!([{"group": "storage.k8s.io", "version": "v1", "kind": "CSIStorageCapacity"}])
    );
    let path = "/apis/storage.k8s.io/v1/namespaces/{namespace}/csistoragecapacities/{name}";
    let patch = document
        .nested_message(8)
        .named_values(2)
        .remove(path)
        .unwrap()
        .nested_message(8);
    let inline = patch.field_values(8).into_iter().map(|parameter| {
        // The nested message types are ParametersItem, Parameter, NonBodyParameter and QueryParameterSubSchema.
        Message::read(parameter)
            .nested_message(1)
            .nested_message(2)
            .nested_message(3)
            .text(4)
    });
    let inline: BTreeSet<String> = inline.collect();
    assert!(
        inline.contains("dryRun") && inline.contains("fieldValidation"),
        "{inline:?}"
    );
}

#[tokio::test]
async fn openapi_v3_is_served_in_protobuf_under_both_media_types() {
    let wire = TestServer::start().await;
    let path = "/openapi/v3/apis/storage.k8s.io/v1";
    let (_, _, tag, _) = fetch(&wire, path, "application/json").await;
    let (code, media, same_tag, bytes) = fetch(&wire, path, V3_PROTOBUF).await;
    assert_eq!((code, media.as_str(), same_tag), (200, V3_PROTOBUF, tag));
    let old = fetch(&wire, path, &V3_PROTOBUF.replace(".v3.v1", ".v3@v1")).await;
    assert_eq!(old.3, bytes);
    let document = Message::read(&bytes);
    assert_eq!(document.text(1), "3.0.0");
    let schemas = document.nested_message(5).nested_message(1).named_values(1);
    // The nested message types are SchemaOrReference and Schema.
    let class = schemas["io.k8s.api.storage.v1.StorageClass"].nested_message(1);
    assert_eq!(class.field_values(23), [b"provisioner"]);
    let metadata = &class.nested_message(31).named_values(1)["metadata"];
    let target = metadata
        .nested_message(1)
        .nested_message(26)
        .nested_message(2)
        .text(1);
    assert_eq!(
        target,
        "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
    let get = document
        .nested_message(4)
        .named_values(1)
        .remove("/apis/storage.k8s.io/v1/storageclasses/{name}")
        .unwrap()
        .nested_message(4);
    assert_eq!(get.text(5), "readStorageV1StorageClass");
}

#[tokio::test]
async fn documents_with_a_matching_etag_are_not_sent_again() {
    let wire = TestServer::start().await;
    for path in ["/openapi/v2", "/openapi/v3/api/v1"] {
        let first = wire.get(path).await;
        let tag = first.headers["etag"].to_str().unwrap();
        let many = format!("\"other\", W/{tag}");
        for (name, value, code) in [
            ("if-none-match", tag, 304),
            ("if-none-match", many.as_str(), 304),
            ("if-none-match", "*", 304),
            ("if-none-match", "\"other\"", 200),
            (
                "if-modified-since",
                first.headers["last-modified"].to_str().unwrap(),
                304,
            ),
        ] {
            let again = wire.send("GET", path, &[(name, value)], String::new()).await;
            assert_eq!(
                (again.code, again.text.is_empty()),
                (code, code == 304),
                "{path} {name}: {value}"
            );
        }
    }
}

#[tokio::test]
async fn unsupported_media_types_return_an_empty_406() {
    let wire = TestServer::start().await;
    for path in ["/openapi/v2", "/openapi/v3/api/v1"] {
        for accept in ["application/yaml", "application/vnd.kubernetes.protobuf"] {
            let (code, _, _, body) = fetch(&wire, path, accept).await;
            assert_eq!((code, body.len()), (406, 0), "{path} {accept}");
        }
        let liked = "application/yaml, application/json;q=0.5";
        assert_eq!(fetch(&wire, path, liked).await.0, 200);
    }
    // The OpenAPI v3 index ignores the Accept header.
    assert_eq!(fetch(&wire, "/openapi/v3", "application/yaml").await.0, 200);
}

#[tokio::test]
async fn openapi_v2_is_compressed_and_openapi_v3_is_not() {
    let wire = TestServer::start().await;
    let requested = [("accept-encoding", "gzip")];
    let zipped = request(&wire.client, "GET", "/openapi/v2", &requested, String::new()).await;
    assert_eq!(zipped.headers()["content-encoding"], "gzip");
    let vary: Vec<_> = zipped.headers().get_all("vary").iter().collect();
    assert_eq!(vary, ["Accept", "Accept-Encoding"]);
    let plain = request(
        &wire.client,
        "GET",
        "/openapi/v3/api/v1",
        &requested,
        String::new(),
    )
    .await;
    assert_eq!(plain.headers().get("content-encoding"), None);
}

#[tokio::test]
async fn openapi_v2_of_custom_resources_omits_keywords_that_it_does_not_have() {
    let wire = TestServer::start().await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "color": {"type": "string", "description": "How it looks.", "default": "red", "enum": ["red"]},
                "port": {"x-kubernetes-int-or-string": true},
                "maybe": {"type": "string", "nullable": true},
            }},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    }}});
    let definition = json!({"metadata": {"name": "foos.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": [version],
    }});
    wire.create(definitions, definition).await;
    let of = async |name: &str| wire.get("/openapi/v2").await.body["definitions"][name].clone();
    let schema = of("com.example.v1.Foo").await;
    let spec = &schema["properties"]["spec"]["properties"];
    assert_eq!(
        spec["color"],
        json!({"type": "string", "description": "How it looks.", "enum": ["red"]})
    );
    assert_eq!(spec["port"], json!({"x-kubernetes-int-or-string": true}));
    assert_eq!(spec["maybe"], json!({}));
    assert_eq!(
        schema["properties"]["status"],
        json!({"x-kubernetes-preserve-unknown-fields": true})
    );
    version["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] = true.into();
    let path = format!("{definitions}/foos.example.com");
    assert_eq!(
        wire.merge(&path, json!({"spec": {"versions": [version]}}))
            .await
            .code,
        200
    );
    let schema = of("com.example.v1.Foo").await;
    assert_eq!(schema["properties"], Value::Null, "any properties are valid");
    wire.delete(&path).await;
    assert_eq!(of("com.example.v1.Foo").await, Value::Null);
}
