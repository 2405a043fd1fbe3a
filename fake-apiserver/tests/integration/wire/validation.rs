//! Validation of the storage kinds, with kube-apiserver's error messages.

use super::client::{CAPACITIES, PODS, TestServer, capacity};
use serde_json::{Value, json};

const DRIVERS: &str = "/apis/storage.k8s.io/v1/csidrivers";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

async fn create_invalid(wire: &TestServer, path: &str, body: Value) -> String {
    let answer = wire.post(path, body).await;
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (422, &json!("Invalid")),
        "{}",
        answer.text
    );
    answer.body["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_version_probe_of_external_provisioner_is_invalid() {
    // external-provisioner detects the served API version by creating an object with an invalid name.
    let wire = TestServer::start().await;
    let probe = json!({"metadata": {"name": "#%123-invalid-name"}});
    let message = create_invalid(&wire, CAPACITIES, probe).await;
    assert!(
        message.contains("metadata.name: Invalid value: \"#%123-invalid-name\""),
        "{message}"
    );
}

#[tokio::test]
async fn validation_errors_of_a_capacity_are_in_field_order() {
    let wire = TestServer::start().await;
    let mut body = capacity("c", "-1Gi");
    body["storageClassName"] = json!("");
    let message = create_invalid(&wire, CAPACITIES, body).await;
    let start = "CSIStorageCapacity.storage.k8s.io \"c\" is invalid: [storageClassName: Invalid value: \"\": a lowercase";
    assert!(message.starts_with(start), "{message}");
    assert!(
        message.ends_with("capacity: Invalid value: \"-1Gi\": must be greater than or equal to 0]"),
        "{message}"
    );
    let mut negative = capacity("c", "1Gi");
    negative["maximumVolumeSize"] = json!("-5");
    assert_eq!(
        wire.post(CAPACITIES, negative).await.code,
        201,
        "maximumVolumeSize is not validated"
    );
}

#[tokio::test]
async fn topology_selectors_are_validated() {
    let wire = TestServer::start().await;
    for (term, fault) in [
        (
            json!({"key": "k", "operator": "Gt", "values": ["1"]}),
            "operator: Invalid value: \"Gt\": not a valid selector operator",
        ),
        (
            json!({"key": "k", "operator": "In"}),
            "values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            json!({"key": "k", "operator": "Exists", "values": ["a"]}),
            "values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
    ] {
        let mut body = capacity("c", "1Gi");
        body["nodeTopology"] = json!({"matchExpressions": [term]});
        let message = create_invalid(&wire, CAPACITIES, body).await;
        assert!(
            message.ends_with(&format!("nodeTopology.matchExpressions[0].{fault}")),
            "{message}"
        );
    }
}

#[tokio::test]
async fn absent_empty_and_set_topologies_are_distinct() {
    let wire = TestServer::start().await;
    let topologies = [Value::Null, json!({}), json!({"matchLabels": {"zone": "a"}})];
    for (i, topology) in topologies.iter().enumerate() {
        let mut body = capacity(&format!("c{i}"), "1Gi");
        body["nodeTopology"] = topology.clone();
        let created = wire.create(CAPACITIES, body).await;
        assert_eq!(created["nodeTopology"], *topology);
        assert_eq!(
            created.get("nodeTopology").is_none(),
            topology.is_null(),
            "an unset field is absent, not null"
        );
        for other in topologies.iter().filter(|other| *other != topology) {
            let mut changed = created.clone();
            changed["nodeTopology"] = other.clone();
            let answer = wire.put(&format!("{CAPACITIES}/c{i}"), changed).await;
            assert_eq!(answer.code, 422, "{topology} to {other}");
            let expected = format!("nodeTopology: Invalid value: {other}: field is immutable");
            assert!(
                answer.text.contains(&expected.replace('"', "\\\"")),
                "{}",
                answer.text
            );
        }
    }
}

#[tokio::test]
async fn capacities_are_canonicalized_and_invalid_quantities_rejected() {
    let wire = TestServer::start().await;
    for (i, (sent, stored)) in [
        (json!("1024Mi"), "1Gi"),
        (json!(1_073_741_824), "1073741824"),
        (json!("1.5"), "1500m"),
        (json!("100Ei"), "9223372036854775807"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = capacity(&format!("q{i}"), "");
        body["capacity"] = sent;
        assert_eq!(wire.create(CAPACITIES, body).await["capacity"], stored);
    }
    let garbage = wire.post(CAPACITIES, capacity("c", "lots")).await;
    assert_eq!(
        (garbage.code, &garbage.body["reason"]),
        (400, &json!("BadRequest"))
    );
    assert!(
        garbage
            .text
            .contains("quantities must match the regular expression")
    );
}

#[tokio::test]
async fn unknown_fields_are_ignored_warned_or_rejected_by_field_validation() {
    let wire = TestServer::start().await;
    let mut body = capacity("c", "1Gi");
    body["capacitee"] = json!("2Gi");
    body["nodeTopology"] = json!({"matchLabel": {}});
    let warned = wire
        .post(&format!("{CAPACITIES}?fieldValidation=Warn"), body.clone())
        .await;
    assert_eq!(warned.code, 201);
    assert!(warned.body.get("capacitee").is_none());
    let warnings: Vec<&str> = warned
        .headers
        .get_all("warning")
        .iter()
        .map(|v| v.to_str().unwrap())
        .collect();
    assert_eq!(
        warnings,
        [
            r#"299 - "unknown field \"capacitee\"""#,
            r#"299 - "unknown field \"nodeTopology.matchLabel\"""#
        ]
    );
    let strict = wire
        .post(&format!("{CAPACITIES}?fieldValidation=Strict"), body.clone())
        .await;
    assert_eq!(strict.code, 400);
    assert!(
        strict.text.contains("strict decoding error: unknown field"),
        "{}",
        strict.text
    );
    body["metadata"]["name"] = json!("c2");
    let ignored = wire
        .post(&format!("{CAPACITIES}?fieldValidation=Ignore"), body.clone())
        .await;
    assert_eq!((ignored.code, ignored.headers.get("warning")), (201, None));
    let nonsense = wire
        .post(&format!("{CAPACITIES}?fieldValidation=Perhaps"), body)
        .await;
    assert_eq!(nonsense.code, 422);
}

#[tokio::test]
async fn storage_capacity_of_a_driver_defaults_to_false() {
    let wire = TestServer::start().await;
    let created = wire
        .create(
            DRIVERS,
            json!({"metadata": {"name": "d.example.com"}, "spec": {"storageCapacity": true}}),
        )
        .await;
    assert_eq!(
        (
            &created["spec"]["storageCapacity"],
            &created["spec"]["attachRequired"]
        ),
        (&json!(true), &json!(true))
    );
    let path = format!("{DRIVERS}/d.example.com");
    assert_eq!(
        wire.merge(&path, json!({"spec": {"storageCapacity": null}}))
            .await
            .body["spec"]["storageCapacity"],
        false
    );
    let attach = wire
        .merge(&path, json!({"spec": {"attachRequired": false}}))
        .await;
    assert!(
        attach
            .text
            .contains("spec.attachedRequired: Invalid value: false: field is immutable"),
        "{}",
        attach.text
    );
    let wrong = wire
        .merge(&path, json!({"spec": {"storageCapacity": "yes"}}))
        .await;
    assert_eq!(wrong.code, 422);
    let go =
        "json: cannot unmarshal string into Go struct field CSIDriverSpec.spec.storageCapacity of type bool";
    assert!(wrong.text.contains(go), "{}", wrong.text);
}

#[tokio::test]
async fn parameters_of_storage_classes_are_immutable() {
    let wire = TestServer::start().await;
    let created = wire
        .create(
            CLASSES,
            json!({"metadata": {"name": "s"}, "provisioner": "p.example.com"}),
        )
        .await;
    assert_eq!(
        (&created["volumeBindingMode"], &created["reclaimPolicy"]),
        (&json!("Immediate"), &json!("Delete"))
    );
    for (field, value) in [
        ("provisioner", json!("q.example.com")),
        ("parameters", json!({"a": "b"})),
        ("reclaimPolicy", json!("Retain")),
        ("volumeBindingMode", json!("WaitForFirstConsumer")),
    ] {
        let answer = wire.merge(&format!("{CLASSES}/s"), json!({field: value})).await;
        assert_eq!(answer.code, 422, "{field}");
        assert!(
            answer.text.contains(&format!("{field}: Invalid value")),
            "{}",
            answer.text
        );
    }
    assert_eq!(
        wire.merge(&format!("{CLASSES}/s"), json!({"allowVolumeExpansion": true}))
            .await
            .code,
        200
    );
}

#[tokio::test]
async fn claims_require_a_positive_request_and_can_be_resized_only_when_bound() {
    let wire = TestServer::start().await;
    let claim = |name: &str, size: &str| {
        json!({"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}},
        }})
    };
    for size in ["0", "-1Gi"] {
        let message = create_invalid(&wire, CLAIMS, claim("c", size)).await;
        assert!(message.ends_with(&format!(
            "spec.resources[storage]: Invalid value: {size:?}: must be greater than zero"
        )));
    }
    wire.create(CLAIMS, claim("c", "1Gi")).await;
    let path = format!("{CLAIMS}/c");
    let grow = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    assert_eq!(
        wire.merge(&path, grow.clone()).await.code,
        422,
        "unbound claims cannot be resized"
    );
    assert_eq!(
        wire.merge(&path, json!({"spec": {"volumeName": "pv-1"}}))
            .await
            .code,
        200,
        "volumeName may be set once"
    );
    assert_eq!(
        wire.merge(&path, json!({"spec": {"volumeName": "pv-2"}}))
            .await
            .code,
        422,
        "volumeName may be set only once"
    );
    wire.merge(
        &format!("{path}/status"),
        json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}),
    )
    .await;
    assert_eq!(
        wire.merge(&path, grow.clone()).await.code,
        403,
        "the StorageClass does not allow expansion"
    );
    let class = json!({"metadata": {"name": "fast"}, "provisioner": "example.com/disk", "allowVolumeExpansion": true});
    wire.create("/apis/storage.k8s.io/v1/storageclasses", class).await;
    assert_eq!(wire.merge(&path, grow).await.code, 200);
    let shrink = json!({"spec": {"resources": {"requests": {"storage": "512Mi"}}}});
    assert!(
        wire.merge(&path, shrink)
            .await
            .text
            .contains("field can not be less than status.capacity")
    );
}

#[tokio::test]
async fn namespace_and_name_of_an_object_must_match_the_request() {
    let wire = TestServer::start().await;
    let mut body = capacity("c", "1Gi");
    body["metadata"]["namespace"] = json!("kube-system");
    assert_eq!(wire.post(CAPACITIES, body.clone()).await.code, 400);
    let missing = CAPACITIES.replace("default", "nowhere");
    body["metadata"]["namespace"] = json!("nowhere");
    let answer = wire.post(&missing, body).await;
    assert_eq!(
        (answer.code, &answer.body["details"]["kind"]),
        (404, &json!("namespaces"))
    );
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    let renamed = wire.put(&format!("{CAPACITIES}/c"), capacity("d", "1Gi")).await;
    assert_eq!(renamed.code, 400);
    let mut other = capacity("e", "1Gi");
    other["kind"] = json!("StorageClass");
    assert_eq!(wire.post(CAPACITIES, other).await.code, 400);
}

#[tokio::test]
async fn enum_fields_of_pods_are_validated() {
    let wire = TestServer::start().await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {
        "dnsPolicy": "A", "restartPolicy": "B",
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "C", "terminationMessagePolicy": "D"}],
    }});
    let refused = wire.post(PODS, pod).await;
    assert_eq!(refused.code, 422);
    let causes = refused.body["details"]["causes"].as_array().unwrap();
    let fields: Vec<&str> = causes
        .iter()
        .map(|cause| cause["field"].as_str().unwrap())
        .collect();
    assert_eq!(
        fields,
        [
            "spec.containers[0].terminationMessagePolicy",
            "spec.containers[0].imagePullPolicy",
            "spec.restartPolicy",
            "spec.dnsPolicy",
        ]
    );
    let text = "Unsupported value: \"B\": supported values: \"Always\", \"OnFailure\", \"Never\"";
    assert_eq!(causes[2]["message"], text);
}
