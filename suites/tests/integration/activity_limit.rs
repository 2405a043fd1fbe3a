//! A publisher that floods the API server fails soon, and the verdict states the number of requests.

use std::sync::Arc;

use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;
use suites::harness::journal::Observation;
use suites::harness::judge::{Verdict, verdict};
use suites::harness::scenario::Role;
use suites::harness::system::{ProgramInputs, Run, System, Systems};
use suites::harness::{RunOptions, run};
use suites::{case_files, plan};

const CASE: &str = "publisher/topology/new-node-gains-object/central";

/// A publisher that sends write requests as fast as it can until it is stopped.
fn flood() -> Systems {
    let run: Arc<Run> = Arc::new(|access, stop| {
        Box::pin(async move {
            let writers = (0..8).map(|_| tokio::spawn(write(access.clone())));
            let writers: Vec<_> = writers.collect();
            stop.cancelled().await;
            writers.iter().for_each(tokio::task::JoinHandle::abort);
            Ok(())
        })
    });
    let flood = System {
        metrics_url: None,
        name: "flood".to_owned(),
        run,
        is_child: false,
    };
    Systems {
        by_role: [(Role::Publisher, flood)].into(),
        ..Systems::default()
    }
}

async fn write(access: ProgramInputs) {
    let mut config = kube::Config::new(access.api_url.parse().unwrap());
    config.auth_info.token = Some(access.token.into());
    let client = kube::Client::try_from(config).unwrap();
    let kind = GroupVersionKind::gvk("storage.k8s.io", "v1", "CSIStorageCapacity");
    let objects: Api<DynamicObject> =
        Api::namespaced_with(client, &access.namespace, &ApiResource::from_gvk(&kind));
    let object = serde_json::from_value(json!({
        "metadata": {"generateName": "flood-", "labels": {
            "csi.storage.k8s.io/drivername": "disk.example.com", "csi.storage.k8s.io/managed-by": "flood",
        }},
        "storageClassName": "fast", "nodeTopology": {}, "capacity": "1Gi",
    }));
    let object = object.unwrap();
    // After the end of the case, the create request fails, which ends the loop.
    while objects.create(&PostParams::default(), &object).await.is_ok() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_that_floods_the_api_server_fails() {
    let plan = Arc::new(plan(&case_files(), CASE).unwrap().unwrap());
    // Timeouts are long, so that even on a slow host the publisher exceeds the limit of requests before a timeout ends.
    let patient = RunOptions {
        patience: 100.0,
        ..RunOptions::default()
    };
    let outcome = run(plan.clone(), &flood(), patient).await.unwrap();
    let Verdict::Fail(failure) = &outcome.verdict else {
        panic!("{:?}", outcome.verdict);
    };
    assert!(
        failure
            .summary
            .starts_with("publisher exceeds a limit: more than "),
        "{failure:?}"
    );
    let words = failure.summary.split(' ').filter_map(|word| word.parse().ok());
    let [limit]: [usize; 1] = words.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(
        failure.summary,
        format!("publisher exceeds a limit: more than {limit} changes of objects in one case")
    );
    let missing = failure.chain.first_missing().map(|link| link.text.as_str());
    assert!(missing.is_some(), "{failure:?}");
    let facts = outcome.journal.since(0);
    let written = facts
        .iter()
        .filter(|fact| matches!(&fact.what, Observation::Commit(commit) if &*commit.client == "publisher"));
    assert_eq!(written.count(), limit);
    let again = verdict(&plan, facts);
    assert_eq!(
        again.failure().map(|failure| &failure.summary),
        Some(&failure.summary)
    );
}
