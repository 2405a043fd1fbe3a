//! The judge over journals written by hand: what has to be seen before silence counts, and what a busy machine excuses.

mod deadline;
mod duplicates;
mod ends;
mod findings;
mod monitor;
mod placement;
mod specification;

use serde_json::{Value, json};

use super::*;
use crate::journal::BoundKind;
use crate::plan::resolve;
use crate::scenario::Mode;
use crate::scenario::parse;

/// Facts of a case with a publisher and a scheduler, judged as they come.
struct Story {
    judge: Judge<'static>,
    seq: u64,
    at_us: u64,
}

/// The step has been acted: a pod of 10Gi has come, and one expectation is about it.
fn story(expect: &Value) -> Story {
    let step = json!({"id": "a", "do": [{"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}}], "expect": [expect]});
    steps(&json!([step]))
}

fn steps(steps: &Value) -> Story {
    let text = json!({
        "id": "story/unit/test",
        "title": "a case of a test",
        "cluster": {"nodes": ["n1"], "classes": ["fast"], "backend": {"n1": "5Gi"}},
        "steps": steps,
    });
    let scenarios = parse("test.yaml", &text.to_string()).expect("the case is well-formed");
    let plan = resolve(&scenarios[0]).expect("the case makes sense");
    let mut story = Story {
        judge: Judge::new(Box::leak(Box::new(plan))),
        seq: 0,
        at_us: 0,
    };
    story.tell(json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 1.0, "format": 1}));
    story.tell(json!({"fact": "stepStarted", "step": 0}));
    for role in ["publisher", "scheduler"] {
        story.tell(json!({"fact": "process", "client": role, "role": role, "event": "started"}));
        story.first_request(role);
    }
    story.commit("harness", "added", "pods", "app", &pod(None, &json!({})));
    story.tell(json!({"fact": "stepActed", "step": 0}));
    story
}

fn pod(node: Option<&str>, status: &Value) -> Value {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "app-0"}});
    json!({"metadata": {"name": "app"}, "spec": {"nodeName": node, "volumes": [volume]}, "status": status})
}

impl Story {
    /// A program makes its first request, so that it is no longer starting.
    fn first_request(&mut self, client: &str) {
        self.tell(
            json!({"fact": "request", "client": client, "verb": "list", "resource": "leases", "namespace": null,
            "name": null, "code": 200, "message": null, "revision": 1}),
        );
    }

    fn tell(&mut self, what: Value) {
        let what: What = serde_json::from_value(what).expect("it is a fact");
        self.at_us += 1_000;
        let fact = Fact {
            seq: self.seq,
            at_us: self.at_us,
            what,
        };
        self.seq += 1;
        self.judge.observe(fact);
    }

    fn commit(&mut self, client: &str, change: &str, resource: &str, name: &str, object: &Value) {
        let is_spaced = ["pods", "persistentvolumeclaims"].contains(&resource);
        self.tell(
            json!({"fact": "commit", "client": client, "change": change, "resource": resource,
            "namespace": is_spaced.then_some("default"), "name": name, "revision": self.seq, "object": object}),
        );
    }

    fn refuse(&mut self, text: &str) {
        self.condition("Unschedulable", text);
    }

    /// The scheduler could not go through with what it had chosen.
    fn give_back(&mut self, text: &str) {
        self.condition("SchedulerError", text);
    }

    fn condition(&mut self, reason: &str, text: &str) {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": reason, "message": text});
        let pod = pod(None, &json!({"conditions": [condition]}));
        self.commit("scheduler", "modified", "pods", "app", &pod);
    }

    fn place(&mut self) {
        let pod = pod(Some("n1"), &json!({}));
        self.commit("scheduler", "modified", "pods", "app", &pod);
    }

    /// The publisher asks the driver so many times about the same thing.
    fn ask(&mut self, times: usize) {
        for _ in 0..times {
            self.hear(5);
        }
    }

    /// The publisher asks the driver, and hears how much there is.
    fn hear(&mut self, available: i64) {
        self.tell(
            json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": "n1", "parameters": {},
            "volume": null, "requiredBytes": null, "code": "OK", "message": null, "available": available,
            "maximum": null}),
        );
    }

    /// The scheduler hears of a new figure.
    fn news(&mut self) {
        self.tell(
            json!({"fact": "delivery", "client": "scheduler", "change": "modified",
            "resource": "csistoragecapacities", "namespace": "csi", "name": "csisc-1", "revision": self.seq}),
        );
    }

    fn lag(&mut self, milliseconds: u64) {
        self.at_us += milliseconds * 1_000;
        self.tell(json!({"fact": "lag", "late_us": milliseconds * 1_000}));
    }

    /// The harness reaches the next bound that the judge names.
    fn next_bound(&mut self) -> BoundKind {
        let (at, bound) = self.judge.next_bound().expect("something is waited for");
        self.at_us = self.at_us.max(u64::try_from(at.as_micros()).expect("it is soon"));
        let (step, expect) = (bound.step, bound.expect);
        self.tell(json!({"fact": "bound", "step": step, "expect": expect, "bound": bound.bound}));
        bound.bound
    }

    /// Whether the step is done if nothing more happens now.
    fn is_done_when_quiet(&mut self) -> bool {
        if self.judge.progress() == (Progress::Running { quiet: true }) {
            self.tell(json!({"fact": "quiet"}));
        }
        self.judge.progress() == Progress::StepDone
    }
}

#[test]
fn refused_requests_are_the_first_missing_link_where_no_call_was_answered() {
    for is_answered in [false, true] {
        let mut story = story(&json!({"capacities": {"fast": {"n1": "5Gi"}}, "why": "w"}));
        let path = "/csi.v1.Identity/Probe";
        story.tell(
            json!({"fact": "refused", "node": null, "program": "python3", "pid": 7, "path": path,
            "reason": "stream reset with PROTOCOL_ERROR"}),
        );
        if is_answered {
            story.ask(1);
        }
        let event = json!({"exited": {"how": "exit status 1"}});
        story.tell(json!({"fact": "process", "client": "publisher", "role": "publisher", "event": event}));
        let verdict = story.judge.verdict();
        let chain = &verdict.failure().expect("the program has ended").chain;
        let note = chain.first_missing().map(|link| link.note.as_str());
        let words = "never, 1 × refused: the driver's socket refused /csi.v1.Identity/Probe of python3: stream reset with PROTOCOL_ERROR";
        assert_eq!(note, (!is_answered).then_some(words));
    }
}

/// What decides a case.
type Decide = fn(&mut Story, &Value);

/// Every form in which a case can say that something does not happen.
fn negatives() -> Vec<Value> {
    let placed = json!({"resource": "pods", "having": {"spec": {"nodeName": "n1"}}, "count": 0});
    let forms = [
        json!({"placement": {"app": "none"}}),
        json!({"refusal": {"app": "full"}}),
        json!({"claims": {"app-0": "absent"}}),
        json!({"objects": [placed]}),
        json!({"objects": [placed], "always": true}),
        json!({"never": {"call": "CreateVolume"}}),
        json!({"never": {"call": "CreateVolume", "after": {"write": "update pods"}}}),
        json!({"count": {"of": {"call": "CreateVolume"}, "max": 0}}),
        json!({"count": {"of": {"write": "update pods"}, "min": 1, "max": 9}}),
    ];
    let why = |mut form: Value| {
        form["why"] = "because".into();
        form
    };
    forms.into_iter().map(why).collect()
}

#[test]
fn nothing_negative_is_judged_before_the_publisher_has_asked_again() {
    for form in negatives() {
        let mut story = story(&form);
        story.refuse("full");
        assert!(!story.is_done_when_quiet(), "{form}");
        story.ask(2);
        assert!(
            !story.is_done_when_quiet(),
            "the second call may have begun before: {form}"
        );
        story.ask(1);
        assert!(story.is_done_when_quiet(), "{form}");
    }
}

#[test]
fn nothing_negative_is_judged_before_the_scheduler_has_decided_on_what_it_was_told() {
    for form in negatives() {
        let mut story = story(&form);
        story.refuse("full");
        story.ask(3);
        story.news();
        assert!(!story.is_done_when_quiet(), "{form}");
        story.refuse("still full");
        assert!(story.is_done_when_quiet(), "{form}");
    }
}

#[test]
fn news_that_come_with_the_silence_are_waited_for_again() {
    let mut story = story(&json!({"placement": {"app": "none"}, "why": "because"}));
    story.refuse("full");
    story.ask(3);
    assert_eq!(story.judge.progress(), Progress::Running { quiet: true });
    story.news();
    assert_eq!(story.judge.progress(), Progress::Running { quiet: false });
    story.place();
    assert!(!story.is_done_when_quiet());
    assert_eq!(story.next_bound(), BoundKind::Within);
    assert!(matches!(story.judge.verdict(), Verdict::Fail(_)));
}

#[test]
fn systems_that_do_nothing_more_have_a_time_to_do_it_in() {
    let mut story = story(&json!({"placement": {"app": "none"}, "why": "because"}));
    story.refuse("full");
    story.news();
    assert_eq!(story.next_bound(), BoundKind::Unasked);
    assert!(!story.is_done_when_quiet());
    assert_eq!(story.next_bound(), BoundKind::Undecided);
    assert!(story.is_done_when_quiet());
}

#[test]
fn the_time_of_a_publisher_runs_from_its_last_call_and_longer_on_a_slow_machine() {
    let expect = json!({"never": {"call": "CreateVolume"}, "why": "because"});
    let wait = |story: &Story| story.judge.next_bound().map(|(at, _)| at).unwrap_or_default();
    let mut quick = story(&expect);
    let first = wait(&quick);
    quick.ask(1);
    assert!(wait(&quick) > first);
    let mut slow = story(&expect);
    slow.lag(500);
    assert!(wait(&slow) > first);
    slow.lag(500_000);
    assert!(wait(&slow) < first * 4, "it does not recede for ever");
}

#[test]
fn the_refusal_of_an_earlier_step_does_not_count() {
    let none = json!({"placement": {"app": "none"}, "why": "because"});
    let pod = json!({"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}});
    let grow = json!({"backend": {"n1": "20Gi"}});
    let mut story = steps(
        &json!([{"id": "a", "do": [pod], "expect": [none]}, {"id": "b", "do": [grow], "expect": [none]}]),
    );
    story.refuse("full");
    story.ask(3);
    assert!(story.is_done_when_quiet());
    story.tell(json!({"fact": "stepStarted", "step": 1}));
    story.tell(json!({"fact": "stepActed", "step": 1}));
    story.ask(3);
    assert!(!story.is_done_when_quiet(), "nobody has decided in this step");
    story.refuse("fuller");
    assert!(story.is_done_when_quiet());
}

#[test]
fn a_refusal_is_history_once_the_pod_is_placed() {
    let mut story = story(&json!({"refusal": {"app": "full"}, "why": "because"}));
    story.refuse("full");
    story.place();
    story.ask(3);
    assert!(!story.is_done_when_quiet());
}

#[test]
fn what_is_about_others_is_no_news() {
    let mut story = story(&json!({"placement": {"app": "none"}, "why": "because"}));
    story.commit(
        "publisher",
        "added",
        "persistentvolumes",
        "pv",
        &json!({"spec": {"claimRef": {"name": "other"}}}),
    );
    story.refuse("full");
    for (resource, name) in [
        ("persistentvolumes", "pv"),
        ("persistentvolumeclaims", "other"),
        ("pods", "other"),
    ] {
        story.tell(
            json!({"fact": "delivery", "client": "scheduler", "change": "modified",
            "resource": resource, "namespace": null, "name": name, "revision": 9}),
        );
    }
    story.ask(3);
    assert!(story.is_done_when_quiet());
}

#[test]
fn only_calls_count_as_refreshes() {
    let mut story = story(
        &json!({"objects": [{"resource": "pods", "name": "app"}], "stays": "1 refresh", "why": "because"}),
    );
    story.refuse("full");
    story.refuse("fuller");
    story.refuse("fullest");
    assert!(
        !story.is_done_when_quiet(),
        "pods were tried again, and nobody has asked the driver"
    );
    story.ask(2);
    assert!(story.is_done_when_quiet());
}

#[test]
fn lag_between_cause_and_effect_excuses_and_other_lag_does_not() {
    let expect = json!({"placement": {"app": "n1"}, "why": "because"});
    let verdict = |lags: &[u64]| {
        let mut story = story(&expect);
        lags.iter().for_each(|lag| story.lag(*lag));
        assert_eq!(story.next_bound(), BoundKind::Within);
        story.judge.verdict()
    };
    assert!(matches!(verdict(&[]), Verdict::Fail(_)));
    assert!(
        matches!(verdict(&[1000, 1000, 1000]), Verdict::Fail(_)),
        "less than half of ten seconds"
    );
    assert!(matches!(verdict(&[3000, 3000]), Verdict::Inconclusive(_)));
}

#[test]
fn lag_that_is_told_after_a_crash_or_a_violation_counts_as_far_as_it_came_before() {
    let ended = json!({"fact": "process", "client": "scheduler", "role": "scheduler", "event": {"exited": {"how": "exit status: 1"}}});
    let never = json!({"never": {"write": "update pods"}, "why": "because"});
    let decide: [(&str, Decide); 2] = [
        ("crash", |story, ended| story.tell(ended.clone())),
        ("violation", |story, _| story.place()),
    ];
    for (what, decide) in decide {
        let mut calm = story(&never);
        decide(&mut calm, &ended);
        assert!(matches!(calm.judge.verdict(), Verdict::Fail(_)), "{what}");
        let mut late = story(&never);
        late.at_us += 500_000;
        decide(&mut late, &ended);
        late.tell(json!({"fact": "lag", "late_us": 400_000}));
        assert!(matches!(late.judge.verdict(), Verdict::Inconclusive(_)), "{what}");
        let mut after = story(&never);
        decide(&mut after, &ended);
        after.lag(400);
        assert!(matches!(after.judge.verdict(), Verdict::Fail(_)), "{what}");
    }
}

#[test]
fn no_lack_of_time_excuses_a_flood() {
    let mut story = story(&json!({"never": {"call": "CreateVolume"}, "why": "because"}));
    story.lag(500);
    story.tell(json!({"fact": "process", "client": "publisher", "role": "publisher", "event": {"flooded": "too much"}}));
    assert!(matches!(story.judge.verdict(), Verdict::Fail(_)));
}

#[test]
fn a_flood_is_explained_by_what_is_not_as_expected() {
    let mut story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
    story.tell(json!({"fact": "process", "client": "publisher", "role": "publisher", "event": {"flooded": "too much"}}));
    let verdict = story.judge.verdict();
    let failure = verdict.failure().unwrap();
    assert_eq!(failure.summary, "publisher floods: too much in one case");
    assert_eq!(failure.expect, Some(0));
    assert_eq!(failure.rows.len(), 1, "{:?}", failure.rows);
    let missing = failure.chain.first_missing().unwrap();
    assert!(missing.text.contains("app"), "{missing:?}");
}

#[test]
fn what_is_wrong_beside_the_point_is_found_once_per_cause() {
    let mut story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
    let call = json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": "n1", "parameters": {}, "volume": null,
        "requiredBytes": null, "code": "OK", "message": null, "available": 5, "maximum": null,
        "violations": ["a volume capability has no access_mode"]});
    let request = |code: u16, message: Value, version: &str| {
        json!({"fact": "request", "client": "publisher", "verb": "create", "resource": "csistoragecapacities",
            "version": version, "namespace": "csi", "name": "c", "code": code, "message": message, "revision": null})
    };
    for _ in 0..30 {
        story.tell(call.clone());
    }
    story.tell(request(201, Value::Null, "storage.k8s.io/v1"));
    story.tell(request(201, Value::Null, "storage.k8s.io/v1beta1"));
    story.tell(request(422, "is invalid".into(), "storage.k8s.io/v1"));
    story.tell(request(404, "not found".into(), "storage.k8s.io/v1alpha1"));
    let mut injected = request(422, "perturbed with status 422".into(), "storage.k8s.io/v1");
    injected["injected"] = true.into();
    story.tell(injected);
    let labels =
        json!({"csi.storage.k8s.io/drivername": "disk.example.com", "csi.storage.k8s.io/managed-by": "me"});
    story.commit(
        "publisher",
        "added",
        "csistoragecapacities",
        "good",
        &json!({"metadata": {"labels": labels}}),
    );
    story.commit(
        "publisher",
        "added",
        "csistoragecapacities",
        "bad",
        &json!({"metadata": {}, "storageClassName": "fast"}),
    );
    story.commit(
        "harness",
        "added",
        "csistoragecapacities",
        "by-hand",
        &json!({"metadata": {}}),
    );
    let found = findings(story.judge.plan, story.judge.facts());
    let found: Vec<(&str, u64)> = found
        .iter()
        .map(|finding| (finding.rule, finding.count))
        .collect();
    // The twenty that may come at once are not too many, but at the start two are enough.
    let expected = [
        ("csi-arguments", 30),
        ("csi-calls-at-start", 28),
        ("csi-calls", 10),
        ("api-version", 1),
        ("api-invalid", 1),
        ("object-labels", 1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn each_volume_is_a_reason_to_ask_again() {
    let found = |volumes: usize| {
        let mut story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
        let call = |method: &str, volume: Value| {
            json!({"fact": "call", "method": method, "node": null, "segment": "n1", "parameters": {}, "volume": volume,
                "requiredBytes": 1, "code": "OK", "message": null, "available": 5, "maximum": null})
        };
        for _ in 0..volumes {
            story.tell(call("CreateVolume", "v".into()));
        }
        for _ in 0..25 {
            story.tell(call("GetCapacity", Value::Null));
        }
        findings(story.judge.plan, story.judge.facts()).len()
    };
    assert_eq!((found(0), found(5)), (2, 0));
}

#[test]
fn a_write_that_is_refused_is_a_reason_to_ask_again_at_the_start() {
    let found = |code: u16| {
        let mut story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
        story.ask(1);
        story.tell(
            json!({"fact": "request", "client": "publisher", "verb": "create", "resource": "csistoragecapacities",
            "namespace": "csi", "name": null, "code": code, "message": null, "revision": 7}),
        );
        story.ask(4);
        findings(story.judge.plan, story.judge.facts()).len()
    };
    assert_eq!((found(201), found(403)), (1, 0));
}

#[test]
fn classes_with_the_same_parameters_each_have_their_question() {
    let is_too_often = |plan: &'static Plan, calls: usize| {
        let mut story = Story {
            judge: Judge::new(plan),
            seq: 0,
            at_us: 0,
        };
        story.tell(json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 1.0, "format": 1}));
        story.ask(calls);
        findings(plan, story.judge.facts())
            .iter()
            .any(|it| it.rule == "csi-calls")
    };
    let one = story(&json!({"placement": {"app": "n1"}, "why": "because"}))
        .judge
        .plan;
    let mut two = one.clone();
    two.class_parameters
        .extend(["fast", "slow"].map(|name| (name.to_owned(), [].into())));
    // The driver is not told of what is meant for sidecars.
    let mut other = one.clone();
    let fstype = [("csi.storage.k8s.io/fstype".to_owned(), "ext4".to_owned())];
    other
        .class_parameters
        .extend([("fast".to_owned(), [].into()), ("slow".to_owned(), fstype.into())]);
    for several in [two, other] {
        let several: &Plan = Box::leak(Box::new(several));
        assert!(!is_too_often(several, 30) && is_too_often(several, 60));
    }
    assert!(is_too_often(one, 30));
}

#[test]
fn an_instance_on_a_node_may_ask_for_each_claim_that_waits_for_no_consumer() {
    let plan = story(&json!({"placement": {"app": "n1"}, "why": "because"}))
        .judge
        .plan;
    let is_too_often = |mode: Mode, binding: &str| {
        let mut plan = plan.clone();
        plan.mode = mode;
        let plan: &Plan = Box::leak(Box::new(plan));
        let mut story = Story {
            judge: Judge::new(plan),
            seq: 0,
            at_us: 0,
        };
        story.tell(json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 1.0, "format": 1}));
        story.commit(
            "harness",
            "added",
            "storageclasses",
            "fast",
            &json!({"volumeBindingMode": binding}),
        );
        story.ask(30);
        findings(plan, story.judge.facts())
            .iter()
            .any(|it| it.rule == "csi-calls")
    };
    assert!(!is_too_often(Mode::Distributed, "Immediate"));
    assert!(is_too_often(Mode::Distributed, "WaitForFirstConsumer"));
    assert!(is_too_often(Mode::Central, "Immediate"));
}
