//! Paged lists whose revision is compacted.

use super::client::{CONFIG_MAPS, TestServer};
use fake_apiserver::ServerOptions;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn expired_continue_tokens_return_410_with_a_token_for_the_current_state() {
    let options = ServerOptions {
        compaction: Duration::ZERO,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    for name in ["a", "b", "c"] {
        wire.create(CONFIG_MAPS, json!({"metadata": {"name": name}}))
            .await;
    }
    let first = wire.get(&format!("{CONFIG_MAPS}?limit=1")).await.body;
    let token = |body: &serde_json::Value| {
        let token = body["metadata"]["continue"].as_str();
        token.expect("the list has another page").to_owned()
    };
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "d"}})).await;
    let gone = wire
        .get(&format!("{CONFIG_MAPS}?limit=1&continue={}", token(&first)))
        .await;
    assert_eq!((gone.code, &gone.body["reason"]), (410, &json!("Expired")));
    let rest = wire
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={}", token(&gone.body)))
        .await;
    let items = rest.body["items"].as_array().expect("the list has items");
    let names: Vec<_> = items.iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(rest.body["metadata"]["remainingItemCount"], 1);
    let watch = format!(
        "{CONFIG_MAPS}?watch=1&resourceVersion={}",
        first["metadata"]["resourceVersion"].as_str().expect("a revision")
    );
    assert_eq!(
        wire.watch(&watch).await.next_events(1).await,
        ["ADDED d"],
        "watches from a compacted list revision still work"
    );
}
