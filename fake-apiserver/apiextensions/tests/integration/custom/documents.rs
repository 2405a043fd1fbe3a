//! Discovery and OpenAPI documents of custom resources.

use super::super::client::TestServer;
use super::{DEFINITIONS, definition, foos, with_spec};
use serde_json::{Value, json};

fn described() -> Value {
    let mut version = with_spec(json!({
        "color": {"type": "string", "description": "How it looks.", "default": "red", "enum": ["red"]},
        "port": {"x-kubernetes-int-or-string": true},
        "maybe": {"type": "string", "nullable": true},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true,
            "properties": {"spec": {"type": "object"}}},
    }));
    version["subresources"] = json!({"status": {}});
    version["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    version["schema"]["openAPIV3Schema"]["description"] = "A thing.".into();
    version
}

#[tokio::test]
async fn discovery_lists_custom_resources_while_they_are_served() {
    let wire = TestServer::start().await;
    let mut sent = definition("foos", "Foo", described());
    sent["spec"]["names"]["shortNames"] = json!(["fo"]);
    sent["spec"]["names"]["categories"] = json!(["all"]);
    wire.create(DEFINITIONS, sent).await;
    let list = wire.get("/apis/example.com/v1").await.body;
    let entry = &list["resources"][0];
    assert_eq!(
        (&entry["name"], &entry["shortNames"], &entry["categories"]),
        (&json!("foos"), &json!(["fo"]), &json!(["all"]))
    );
    assert_eq!(list["resources"][1]["name"], "foos/status");
    assert_eq!(
        wire.get("/apis/example.com").await.body["preferredVersion"]["version"],
        "v1"
    );
    let accept = [(
        "accept",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    )];
    let all = wire.send("GET", "/apis", &accept, String::new()).await.body;
    let groups = all["items"].as_array().unwrap().iter();
    let group = groups
        .into_iter()
        .find(|group| group["metadata"]["name"] == "example.com")
        .unwrap();
    assert_eq!(group["versions"][0]["resources"][0]["resource"], "foos");
    wire.delete(&format!("{DEFINITIONS}/foos.example.com")).await;
    assert_eq!(wire.get("/apis/example.com/v1").await.code, 404);
    assert_eq!(wire.get("/apis/example.com").await.code, 404);
}

#[tokio::test]
async fn openapi_v3_describes_custom_resources_in_a_document_of_their_own() {
    let wire = TestServer::start().await;
    foos(&wire, described()).await;
    let index = wire.get("/openapi/v3").await.body;
    let place = index["paths"]["apis/example.com/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap()
        .to_owned();
    let document = wire.get(&place).await.body;
    let schema = &document["components"]["schemas"]["com.example.v1.Foo"];
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{"group": "example.com", "version": "v1", "kind": "Foo"}])
    );
    assert_eq!(
        schema["x-kubernetes-selectable-fields"],
        json!([{"fieldPath": "spec.color"}])
    );
    assert_eq!(schema["description"], "A thing.");
    let spec = &schema["properties"]["spec"]["properties"];
    assert_eq!(spec["color"]["default"], "red");
    assert_eq!(
        spec["port"]["anyOf"],
        json!([{"type": "integer"}, {"type": "string"}])
    );
    assert_eq!(spec["template"]["required"], json!(["kind", "apiVersion"]));
    assert_eq!(
        schema["properties"]["metadata"]["allOf"][0]["$ref"],
        "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/foos/{name}"]["patch"];
    assert_eq!(
        patch["requestBody"]["content"]["application/strategic-merge-patch+json"],
        Value::Null
    );
    assert_eq!(
        document["components"]["schemas"]["com.example.v1.FooList"]["required"],
        json!(["items"])
    );
}
