//! What the rules of kinds refuse, in which words and order, and what becomes of objects before they are judged.
//!
//! What is expected was read off the code of Kubernetes 1.36 and written down by hand, not recorded.

mod endpoints;
mod networking;

use super::client::{Answer, Wire};
use serde_json::Value;

/// The faults of a refused object: each with its field.
fn faults(answer: &Answer) -> Vec<String> {
    assert_eq!(
        (answer.code, answer.body["reason"].as_str()),
        (422, Some("Invalid")),
        "{}",
        answer.text
    );
    let causes = answer.body["details"]["causes"].as_array();
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    let causes = causes.expect("a refusal has causes").iter();
    causes
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect()
}

/// Why an object cannot be made.
async fn create_faults(wire: &Wire, path: &str, body: Value) -> Vec<String> {
    faults(&wire.post(path, body).await)
}

/// Why an object cannot be changed.
async fn change_faults(wire: &Wire, path: &str, change: Value) -> Vec<String> {
    faults(&wire.merge(path, change).await)
}

/// The texts of the warnings that came with an answer.
fn warnings(answer: &Answer) -> Vec<String> {
    let all = answer.headers.get_all("warning").iter();
    let texts = all.map(|value| value.to_str().expect("warnings are texts"));
    let inner = |text: &str| {
        text.trim_start_matches("299 - \"")
            .trim_end_matches('"')
            .to_owned()
    };
    texts.map(|text| inner(text).replace("\\\"", "\"")).collect()
}
