//! Discovery, health, content negotiation and tables.

use super::client::{CAPACITIES, PODS, TestServer, capacity, pod};
use serde_json::{Value, json};

const TABLE: [(&str, &str); 1] = [(
    "accept",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
)];

fn find_entry<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut entries = list.as_array().into_iter().flatten();
    entries
        .find(|entry| entry["name"] == name || entry["resource"] == name)
        .expect("the entry is listed")
}

#[tokio::test]
async fn resources_are_listed_with_names_and_subresources() {
    let wire = TestServer::start().await;
    let core = wire.get("/api/v1").await.body;
    let claims = find_entry(&core["resources"], "persistentvolumeclaims");
    assert_eq!(
        (&claims["shortNames"], &claims["namespaced"]),
        (&json!(["pvc"]), &json!(true))
    );
    assert_eq!(
        find_entry(&core["resources"], "pods/binding")["verbs"],
        json!(["create"])
    );
    let namespaces = find_entry(&core["resources"], "namespaces");
    assert!(
        !namespaces["verbs"]
            .as_array()
            .unwrap()
            .contains(&json!("deletecollection"))
    );
    let storage = wire.get("/apis/storage.k8s.io/v1").await.body;
    assert_eq!(
        find_entry(&storage["resources"], "csistoragecapacities")["kind"],
        "CSIStorageCapacity"
    );
}

#[tokio::test]
async fn aggregated_discovery_lists_the_same_resources_and_has_an_etag() {
    let wire = TestServer::start().await;
    let media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let answer = wire
        .send("GET", "/apis", &[("accept", media)], String::new())
        .await;
    assert_eq!(
        answer.headers["content-type"], media,
        "clients detect aggregated discovery by the content type"
    );
    let storage = answer.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|g| g["metadata"]["name"] == "storage.k8s.io");
    let plain = wire.get("/apis/storage.k8s.io/v1").await.body;
    for entry in plain["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["singularName"] != "")
    {
        let equivalent = find_entry(
            &storage.unwrap()["versions"][0]["resources"],
            entry["name"].as_str().unwrap(),
        );
        assert_eq!(
            (&equivalent["verbs"], &equivalent["responseKind"]["kind"]),
            (&entry["verbs"], &entry["kind"])
        );
    }
    let tag = answer.headers["etag"].to_str().unwrap();
    let again = wire
        .send(
            "GET",
            "/apis",
            &[("accept", media), ("if-none-match", tag)],
            String::new(),
        )
        .await;
    assert_eq!((again.code, again.text.as_str()), (304, ""));
}

#[tokio::test]
async fn unknown_paths_are_plain_text_and_missing_objects_return_a_status() {
    let wire = TestServer::start().await;
    let nowhere = wire.get("/apis/nothing.example.com/v1/things").await;
    assert_eq!(
        (nowhere.code, nowhere.text.as_str()),
        (404, "404 page not found\n")
    );
    for path in [
        "/apis/storage.k8s.io/v1/things",
        "/apis/storage.k8s.io/v7/csidrivers",
        "/api/v1/things",
    ] {
        let missing = wire.get(path).await;
        assert_eq!(
            (missing.code, &missing.body["reason"]),
            (404, &json!("NotFound")),
            "{path}"
        );
    }
    let wrong = wire.put("/apis/storage.k8s.io/v1/csidrivers", json!({})).await;
    assert_eq!(
        (wrong.code, &wrong.body["reason"]),
        (405, &json!("MethodNotAllowed"))
    );
}

#[tokio::test]
async fn version_and_health_endpoints_respond() {
    let wire = TestServer::start().await;
    let version = wire.get("/version").await.body;
    assert_eq!(version["gitVersion"], "v1.36.0");
    let platform = version["platform"].as_str().unwrap();
    assert!(
        !platform.ends_with("x86_64") && !platform.ends_with("aarch64"),
        "{platform}"
    );
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(wire.get(path).await.text, "ok");
    }
}

#[tokio::test]
async fn unsupported_media_types_are_not_acceptable() {
    let wire = TestServer::start().await;
    for (accept, code) in [
        ("text/html", 406),
        ("application/cbor", 406),
        ("application/cbor, */*", 200),
        ("application/cbor,application/json", 200),
    ] {
        let answer = wire.send("GET", PODS, &[("accept", accept)], String::new()).await;
        assert_eq!(answer.code, code, "{accept}");
    }
}

#[tokio::test]
async fn rows_of_an_empty_table_are_null_for_kinds_without_printer() {
    let wire = TestServer::start().await;
    let rows = async |path: &str| wire.send("GET", path, &TABLE, String::new()).await.body["rows"].clone();
    let storage = "/apis/storage.k8s.io/v1";
    assert_eq!(
        rows(&format!("{storage}/csistoragecapacities")).await,
        Value::Null
    );
    assert_eq!(rows(&format!("{storage}/storageclasses")).await, json!([]));
}

#[tokio::test]
async fn tables_have_the_columns_of_their_kind() {
    let wire = TestServer::start().await;
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    wire.create(PODS, pod("p")).await;
    let columns = |table: &Value| -> Vec<String> {
        let columns = table["columnDefinitions"].as_array().unwrap().iter();
        columns.map(|c| c["name"].as_str().unwrap().to_owned()).collect()
    };
    let capacities = wire.send("GET", CAPACITIES, &TABLE, String::new()).await.body;
    assert_eq!(columns(&capacities), ["Name", "Created At"]);
    assert_eq!(capacities["rows"][0]["cells"][0], "c");
    assert_eq!(capacities["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let pods = wire
        .send(
            "GET",
            &format!("{PODS}?includeObject=Object"),
            &TABLE,
            String::new(),
        )
        .await
        .body;
    assert_eq!(
        columns(&pods)[..5],
        ["Name", "Ready", "Status", "Restarts", "Age"]
    );
    assert_eq!(
        pods["rows"][0]["cells"].as_array().unwrap()[..4],
        [json!("p"), json!("0/1"), json!("Pending"), json!("0")]
    );
    assert_eq!(pods["rows"][0]["object"]["spec"]["containers"][0]["name"], "c");
    let one = wire
        .send(
            "GET",
            &format!("{PODS}/p?includeObject=None"),
            &TABLE,
            String::new(),
        )
        .await
        .body;
    assert!(one["rows"][0]["object"].is_null());
}

#[tokio::test]
async fn events_of_both_groups_have_the_same_table() {
    let wire = TestServer::start().await;
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "no room", "reason": "FailedScheduling", "type": "Warning",
    });
    wire.create("/api/v1/namespaces/default/events", event).await;
    for group in ["/api/v1", "/apis/events.k8s.io/v1"] {
        let path = format!("{group}/namespaces/default/events");
        let table = wire.send("GET", &path, &TABLE, String::new()).await.body;
        let cells = table["rows"][0]["cells"].as_array().unwrap();
        assert_eq!(
            cells[1..4],
            [json!("Warning"), json!("FailedScheduling"), json!("pod/p")],
            "{group}"
        );
        assert_eq!(cells[6], "no room", "{group}");
    }
}
