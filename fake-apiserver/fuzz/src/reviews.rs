//! What webhooks answer.

use super::bench::Bench;
use super::hook::Form;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// As the whole answer, as the response in it, and as the patch in that.
pub(super) fn webhook_answer(bench: &mut Bench, bytes: &[u8]) {
    for form in [Form::Whole, Form::Response, Form::Patch] {
        bench.hook().say(form, bytes);
        let path = format!("{MAPS}?dryRun=All");
        let made = bench.answered(&path, br#"{"metadata":{"name":"reviewed"}}"#);
        // Whatever a webhook makes of an object, it stays one of its collection.
        let object = made.json();
        let is_near = object["kind"] == "ConfigMap" && object["metadata"]["namespace"] == "default";
        assert!(made.code != 201 || is_near, "{}", made.text());
    }
}
