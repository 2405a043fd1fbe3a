//! The fuzz target for webhook responses.

use super::bench::Bench;
use super::hook::Form;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The input is the whole body, the response of the AdmissionReview, or its patch.
pub(super) fn webhook_answer(bench: &mut Bench, bytes: &[u8]) {
    for form in [Form::Whole, Form::Response, Form::Patch] {
        bench.hook().say(form, bytes);
        let path = format!("{MAPS}?dryRun=All");
        let made = bench.answered(&path, br#"{"metadata":{"name":"reviewed"}}"#);
        // The webhook may change the object, except its kind and namespace.
        let object = made.json();
        let is_near = object["kind"] == "ConfigMap" && object["metadata"]["namespace"] == "default";
        assert!(made.code != 201 || is_near, "{}", made.text());
    }
}
