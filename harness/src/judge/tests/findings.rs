//! Findings that are no fault of a program.

use super::*;

#[test]
fn a_request_that_is_cut_off_by_the_end_of_its_program_is_no_finding() {
    let request = json!({"fact": "request", "client": "publisher", "verb": "update", "resource": "csistoragecapacities",
        "namespace": "csi", "name": "a", "code": 400, "message": "the request body could not be read", "revision": null});
    let stopped = json!({"fact": "process", "client": "publisher", "role": "publisher", "event": "stopped"});
    let started = json!({"fact": "process", "client": "publisher", "role": "publisher", "event": "started"});
    for (next, count) in [(stopped, 0), (started, 1), (request.clone(), 2)] {
        let mut story = story(&json!({"claims": {"app-0": "pending"}, "why": "because"}));
        story.tell(request.clone());
        story.tell(next);
        let found = findings(story.judge.plan, story.judge.facts());
        let invalid = found.iter().find(|it| it.rule == "api-invalid");
        assert_eq!(invalid.map_or(0, |it| it.count), count);
    }
}
