//! Workloads: what is wrong with their selectors and templates.

use super::client::Wire;
use serde_json::{Value, json};

const APPS: &str = "/apis/apps/v1/namespaces/default";

/// The spec of a workload that selects its own pods.
fn spec() -> Value {
    json!({
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "example.com/app:1"}]},
        },
    })
}

#[tokio::test]
async fn a_template_needs_containers_and_labels_that_are_selected() {
    let wire = Wire::start().await;
    for plural in ["deployments", "replicasets", "daemonsets", "statefulsets"] {
        let path = format!("{APPS}/{plural}");
        let refusal = async |change: fn(&mut Value)| {
            let mut spec = spec();
            change(&mut spec);
            let answer = wire
                .post(&path, json!({"metadata": {"name": "w"}, "spec": spec}))
                .await;
            assert_eq!(answer.code, 422, "{plural}: {}", answer.text);
            answer.body["message"].as_str().unwrap_or_default().to_owned()
        };
        let said = refusal(|spec| spec["template"]["spec"]["containers"] = json!([])).await;
        assert!(
            said.contains("spec.template.spec.containers: Required value"),
            "{said}"
        );
        let said = refusal(|spec| spec["template"]["metadata"]["labels"] = json!({"a": "c"})).await;
        let text = "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`";
        assert!(said.contains(text), "{said}");
        let said = refusal(|spec| spec["selector"] = json!({})).await;
        assert!(
            said.contains("spec.selector: Invalid value: {}: empty selector is invalid for"),
            "{said}"
        );
        let said = refusal(|spec| spec["template"]["spec"]["restartPolicy"] = "Never".into()).await;
        let text =
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"";
        assert!(said.contains(text), "{said}");
        let made = wire
            .create(&path, json!({"metadata": {"name": "w"}, "spec": spec()}))
            .await;
        assert_eq!(made["metadata"]["generation"], 1);
    }
}

#[tokio::test]
async fn a_stateful_set_mounts_its_claims() {
    let wire = Wire::start().await;
    let mut spec = spec();
    spec["template"]["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": "data", "mountPath": "/data"}]);
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    spec["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}, "spec": claim}]);
    let path = format!("{APPS}/statefulsets");
    wire.create(&path, json!({"metadata": {"name": "s"}, "spec": spec}))
        .await;
    let answer = wire
        .merge(&format!("{path}/s"), json!({"spec": {"serviceName": "other"}}))
        .await;
    assert_eq!(answer.code, 422, "{}", answer.text);
}

#[tokio::test]
async fn a_scale_is_applied_without_a_name() {
    let wire = Wire::start().await;
    let path = format!("{APPS}/deployments");
    wire.create(&path, json!({"metadata": {"name": "d"}, "spec": spec()}))
        .await;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}});
    let headers = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{path}/d/scale?fieldManager=me&force=true");
    let answer = wire.send("PATCH", &path, &headers, scale.to_string()).await;
    assert_eq!(
        (answer.code, &answer.body["spec"]["replicas"]),
        (200, &json!(3)),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_job_says_whether_its_pods_are_started_again() {
    let wire = Wire::start().await;
    let path = "/apis/batch/v1/namespaces/default/jobs";
    let template = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": template}});
    let answer = wire.post(path, job).await;
    let text = "Job.batch \"j\" is invalid: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"";
    assert_eq!((answer.code, &answer.body["message"]), (422, &json!(text)));
}

/// Fields that a version keeps in annotations are no metadata.
#[tokio::test]
async fn metadata_alone_has_no_fields_of_other_versions() {
    let wire = Wire::start().await;
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let sets = "/apis/apps/v1/namespaces/default/daemonsets";
    let set = wire
        .create(sets, json!({"metadata": {"name": "s"}, "spec": spec}))
        .await;
    let kept = "deprecated.daemonset.template.generation";
    assert_eq!(set["metadata"]["annotations"], json!({kept: "1"}));
    let scalers = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    let metrics = json!([{"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}}}]);
    let target = json!({"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"});
    let spec = json!({"maxReplicas": 3, "scaleTargetRef": target, "metrics": metrics});
    let metadata = json!({"name": "s", "annotations": {"x": "y"}});
    wire.create(
        &scalers.replace("v1", "v2"),
        json!({"metadata": metadata, "spec": spec}),
    )
    .await;
    for (path, annotations) in [(sets, Value::Null), (scalers, json!({"x": "y"}))] {
        for form in ["PartialObjectMetadata", "Table"] {
            let accept = format!("application/json;as={form};g=meta.k8s.io;v=v1");
            let headers = [("accept", accept.as_str())];
            let answer = wire
                .send("GET", &format!("{path}/s"), &headers, String::new())
                .await;
            let object = answer.body.pointer("/rows/0/object").unwrap_or(&answer.body);
            assert_eq!(
                object["metadata"]["annotations"], annotations,
                "{form} {}",
                answer.text
            );
        }
    }
}
