//! Tests of the judge with handwritten journals: evidence for negative expectations, and failures that harness lag excuses.

mod deadline;
mod duplicates;
mod ends;
mod findings;
mod monitor;
mod placement;
mod specification;

use serde_json::{Value, json};

use super::*;
use crate::journal::DeadlineKind;
use crate::plan::resolve;
use crate::scenario::Mode;
use crate::scenario::parse;

/// A journal of a case with a publisher and a scheduler. The judge processes each fact when the test appends it.
struct TestJournal {
    judge: Judge<'static>,
    seq: u64,
    at_us: u64,
}

/// A journal after the step's actions: a pod with a PVC of 10Gi exists, and one expectation is not met yet.
fn journal(expect: &Value) -> TestJournal {
    let step = json!({"id": "a", "do": [{"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}}], "expect": [expect]});
    journal_of_steps(&json!([step]))
}

fn journal_of_steps(steps: &Value) -> TestJournal {
    let text = json!({
        "id": "story/unit/test",
        "title": "a case of a test",
        "cluster": {"nodes": ["n1"], "classes": ["fast"], "backend": {"n1": "5Gi"}},
        "steps": steps,
    });
    let scenarios = parse("test.yaml", &text.to_string()).expect("well-formed case");
    let plan = resolve(&scenarios[0]).expect("valid case");
    let mut journal = TestJournal {
        judge: Judge::new(Box::leak(Box::new(plan))),
        seq: 0,
        at_us: 0,
    };
    journal.record(json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 1.0, "format": 1}));
    journal.record(json!({"fact": "stepStarted", "step": 0}));
    for role in ["publisher", "scheduler"] {
        journal.record(json!({"fact": "process", "client": role, "role": role, "event": "started"}));
        journal.first_request(role);
    }
    journal.commit("harness", "added", "pods", "app", &pod(None, &json!({})));
    journal.record(json!({"fact": "stepActed", "step": 0}));
    journal
}

fn pod(node: Option<&str>, status: &Value) -> Value {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "app-0"}});
    json!({"metadata": {"name": "app"}, "spec": {"nodeName": node, "volumes": [volume]}, "status": status})
}

impl TestJournal {
    /// Appends the first request of a started program, after which the program no longer counts as starting.
    fn first_request(&mut self, client: &str) {
        self.record(
            json!({"fact": "request", "client": client, "verb": "list", "resource": "leases", "namespace": null,
            "name": null, "code": 200, "message": null, "revision": 1}),
        );
    }

    fn record(&mut self, what: Value) {
        let what: Observation = serde_json::from_value(what).expect("valid fact");
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
        self.record(
            json!({"fact": "commit", "client": client, "change": change, "resource": resource,
            "namespace": is_spaced.then_some("default"), "name": name, "revision": self.seq, "object": object}),
        );
    }

    fn reject_pod(&mut self, text: &str) {
        self.condition("Unschedulable", text);
    }

    fn fail_binding(&mut self, text: &str) {
        self.condition("SchedulerError", text);
    }

    fn condition(&mut self, reason: &str, text: &str) {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": reason, "message": text});
        let pod = pod(None, &json!({"conditions": [condition]}));
        self.commit("scheduler", "modified", "pods", "app", &pod);
    }

    fn bind_pod(&mut self) {
        let pod = pod(Some("n1"), &json!({}));
        self.commit("scheduler", "modified", "pods", "app", &pod);
    }

    /// Appends this many GetCapacity calls of the publisher for the same class and segment.
    fn get_capacity(&mut self, times: usize) {
        for _ in 0..times {
            self.get_capacity_returning(5);
        }
    }

    fn get_capacity_returning(&mut self, available: i64) {
        self.record(
            json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": "n1", "parameters": {},
            "volume": null, "requiredBytes": null, "code": "OK", "message": null, "available": available,
            "maximum": null}),
        );
    }

    /// Appends the delivery of a CSIStorageCapacity watch event to the scheduler.
    fn deliver_capacity(&mut self) {
        self.record(
            json!({"fact": "delivery", "client": "scheduler", "change": "modified",
            "resource": "csistoragecapacities", "namespace": "csi", "name": "csisc-1", "revision": self.seq}),
        );
    }

    fn lag(&mut self, milliseconds: u64) {
        self.at_us += milliseconds * 1_000;
        self.record(json!({"fact": "lag", "late_us": milliseconds * 1_000}));
    }

    /// Appends a fact for the next deadline of the judge.
    fn next_bound(&mut self) -> DeadlineKind {
        let (at, bound) = self.judge.next_bound().expect("pending bound");
        self.at_us = self.at_us.max(u64::try_from(at.as_micros()).expect("near bound"));
        let (step, expect) = (bound.step, bound.expect);
        self.record(json!({"fact": "bound", "step": step, "expect": expect, "bound": bound.bound}));
        bound.bound
    }

    fn is_done_when_quiet(&mut self) -> bool {
        if self.judge.progress() == (Progress::Running { quiet: true }) {
            self.record(json!({"fact": "quiet"}));
        }
        self.judge.progress() == Progress::StepDone
    }
}

#[test]
fn rejected_calls_are_the_first_missing_link_unless_the_driver_answered_one() {
    for is_answered in [false, true] {
        let mut journal = journal(&json!({"capacities": {"fast": {"n1": "5Gi"}}, "why": "w"}));
        let path = "/csi.v1.Identity/Probe";
        journal.record(
            json!({"fact": "refused", "node": null, "program": "python3", "pid": 7, "path": path,
            "reason": "stream reset with PROTOCOL_ERROR"}),
        );
        if is_answered {
            journal.get_capacity(1);
        }
        let event = json!({"exited": {"how": "exit status 1"}});
        journal
            .record(json!({"fact": "process", "client": "publisher", "role": "publisher", "event": event}));
        let verdict = journal.judge.verdict();
        let chain = &verdict.failure().expect("failure by exit").chain;
        let note = chain.first_missing().map(|link| link.note.as_str());
        let words = "never, 1 × refused: the driver's socket refused /csi.v1.Identity/Probe of python3: stream reset with PROTOCOL_ERROR";
        assert_eq!(note, (!is_answered).then_some(words));
    }
}

/// Appends the fact that decides the case. The second parameter is a fact about a program that exited.
type Decide = fn(&mut TestJournal, &Value);

/// One example of every negative expectation in the case format.
fn negative_expectations() -> Vec<Value> {
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
fn negative_expectations_wait_for_further_get_capacity_calls() {
    for form in negative_expectations() {
        let mut journal = journal(&form);
        journal.reject_pod("full");
        assert!(!journal.is_done_when_quiet(), "{form}");
        journal.get_capacity(2);
        assert!(
            !journal.is_done_when_quiet(),
            "the first call may have started earlier: {form}"
        );
        journal.get_capacity(1);
        assert!(journal.is_done_when_quiet(), "{form}");
    }
}

#[test]
fn negative_expectations_wait_for_a_decision_after_the_last_watch_event() {
    for form in negative_expectations() {
        let mut journal = journal(&form);
        journal.reject_pod("full");
        journal.get_capacity(3);
        journal.deliver_capacity();
        assert!(!journal.is_done_when_quiet(), "{form}");
        journal.reject_pod("still full");
        assert!(journal.is_done_when_quiet(), "{form}");
    }
}

#[test]
fn watch_events_before_quiet_restart_the_wait() {
    let mut journal = journal(&json!({"placement": {"app": "none"}, "why": "because"}));
    journal.reject_pod("full");
    journal.get_capacity(3);
    assert_eq!(journal.judge.progress(), Progress::Running { quiet: true });
    journal.deliver_capacity();
    assert_eq!(journal.judge.progress(), Progress::Running { quiet: false });
    journal.bind_pod();
    assert!(!journal.is_done_when_quiet());
    assert_eq!(journal.next_bound(), DeadlineKind::Within);
    assert!(matches!(journal.judge.verdict(), Verdict::Fail(_)));
}

#[test]
fn bounds_limit_the_wait_for_idle_systems() {
    let mut journal = journal(&json!({"placement": {"app": "none"}, "why": "because"}));
    journal.reject_pod("full");
    journal.deliver_capacity();
    assert_eq!(journal.next_bound(), DeadlineKind::PublisherIdle);
    assert!(!journal.is_done_when_quiet());
    assert_eq!(journal.next_bound(), DeadlineKind::SchedulerIdle);
    assert!(journal.is_done_when_quiet());
}

#[test]
fn the_wait_for_a_publisher_starts_at_its_last_call_and_grows_with_lag() {
    let expect = json!({"never": {"call": "CreateVolume"}, "why": "because"});
    let wait = |journal: &TestJournal| journal.judge.next_bound().map(|(at, _)| at).unwrap_or_default();
    let mut quick = journal(&expect);
    let first = wait(&quick);
    quick.get_capacity(1);
    assert!(wait(&quick) > first);
    let mut slow = journal(&expect);
    slow.lag(500);
    assert!(wait(&slow) > first);
    slow.lag(500_000);
    assert!(wait(&slow) < first * 4, "the extension is limited");
}

#[test]
fn a_rejection_in_an_earlier_step_does_not_count() {
    let none = json!({"placement": {"app": "none"}, "why": "because"});
    let pod = json!({"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}});
    let grow = json!({"backend": {"n1": "20Gi"}});
    let mut journal = journal_of_steps(
        &json!([{"id": "a", "do": [pod], "expect": [none]}, {"id": "b", "do": [grow], "expect": [none]}]),
    );
    journal.reject_pod("full");
    journal.get_capacity(3);
    assert!(journal.is_done_when_quiet());
    journal.record(json!({"fact": "stepStarted", "step": 1}));
    journal.record(json!({"fact": "stepActed", "step": 1}));
    journal.get_capacity(3);
    assert!(!journal.is_done_when_quiet(), "no decision in this step");
    journal.reject_pod("fuller");
    assert!(journal.is_done_when_quiet());
}

#[test]
fn an_earlier_rejection_of_a_placed_pod_does_not_count() {
    let mut journal = journal(&json!({"refusal": {"app": "full"}, "why": "because"}));
    journal.reject_pod("full");
    journal.bind_pod();
    journal.get_capacity(3);
    assert!(!journal.is_done_when_quiet());
}

#[test]
fn events_about_other_pvcs_and_pods_do_not_restart_the_wait() {
    let mut journal = journal(&json!({"placement": {"app": "none"}, "why": "because"}));
    journal.commit(
        "publisher",
        "added",
        "persistentvolumes",
        "pv",
        &json!({"spec": {"claimRef": {"name": "other"}}}),
    );
    journal.reject_pod("full");
    for (resource, name) in [
        ("persistentvolumes", "pv"),
        ("persistentvolumeclaims", "other"),
        ("pods", "other"),
    ] {
        journal.record(
            json!({"fact": "delivery", "client": "scheduler", "change": "modified",
            "resource": resource, "namespace": null, "name": name, "revision": 9}),
        );
    }
    journal.get_capacity(3);
    assert!(journal.is_done_when_quiet());
}

#[test]
fn only_get_capacity_calls_count_as_refreshes() {
    let mut journal = journal(
        &json!({"objects": [{"resource": "pods", "name": "app"}], "stays": "1 refresh", "why": "because"}),
    );
    journal.reject_pod("full");
    journal.reject_pod("fuller");
    journal.reject_pod("fullest");
    assert!(
        !journal.is_done_when_quiet(),
        "scheduling attempts, but no GetCapacity call"
    );
    journal.get_capacity(2);
    assert!(journal.is_done_when_quiet());
}

#[test]
fn only_lag_above_half_of_the_time_excuses_a_timeout() {
    let expect = json!({"placement": {"app": "n1"}, "why": "because"});
    let verdict = |lags: &[u64]| {
        let mut journal = journal(&expect);
        lags.iter().for_each(|lag| journal.lag(*lag));
        assert_eq!(journal.next_bound(), DeadlineKind::Within);
        journal.judge.verdict()
    };
    assert!(matches!(verdict(&[]), Verdict::Fail(_)));
    assert!(
        matches!(verdict(&[1000, 1000, 1000]), Verdict::Fail(_)),
        "lag below half of ten seconds"
    );
    assert!(matches!(verdict(&[3000, 3000]), Verdict::Inconclusive(_)));
}

#[test]
fn lag_recorded_after_the_deciding_fact_counts_as_far_as_it_occurred_before() {
    let ended = json!({"fact": "process", "client": "scheduler", "role": "scheduler", "event": {"exited": {"how": "exit status: 1"}}});
    let never = json!({"never": {"write": "update pods"}, "why": "because"});
    let decide: [(&str, Decide); 2] = [
        ("crash", |journal, ended| journal.record(ended.clone())),
        ("violation", |journal, _| journal.bind_pod()),
    ];
    for (what, decide) in decide {
        let mut calm = journal(&never);
        decide(&mut calm, &ended);
        assert!(matches!(calm.judge.verdict(), Verdict::Fail(_)), "{what}");
        let mut late = journal(&never);
        late.at_us += 500_000;
        decide(&mut late, &ended);
        late.record(json!({"fact": "lag", "late_us": 400_000}));
        assert!(matches!(late.judge.verdict(), Verdict::Inconclusive(_)), "{what}");
        let mut after = journal(&never);
        decide(&mut after, &ended);
        after.lag(400);
        assert!(matches!(after.judge.verdict(), Verdict::Fail(_)), "{what}");
    }
}

#[test]
fn lag_does_not_excuse_excessive_activity() {
    let mut journal = journal(&json!({"never": {"call": "CreateVolume"}, "why": "because"}));
    journal.lag(500);
    journal.record(json!({"fact": "process", "client": "publisher", "role": "publisher", "event": {"flooded": "too much"}}));
    assert!(matches!(journal.judge.verdict(), Verdict::Fail(_)));
}

#[test]
fn excessive_activity_is_explained_by_an_unmet_expectation() {
    let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
    journal.record(json!({"fact": "process", "client": "publisher", "role": "publisher", "event": {"flooded": "too much"}}));
    let verdict = journal.judge.verdict();
    let failure = verdict.failure().unwrap();
    assert_eq!(failure.summary, "publisher exceeds a limit: too much in one case");
    assert_eq!(failure.expect, Some(0));
    assert_eq!(failure.rows.len(), 1, "{:?}", failure.rows);
    let missing = failure.chain.first_missing().unwrap();
    assert!(missing.text.contains("app"), "{missing:?}");
}

#[test]
fn findings_are_counted_once_per_cause() {
    let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
    let call = json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": "n1", "parameters": {}, "volume": null,
        "requiredBytes": null, "code": "OK", "message": null, "available": 5, "maximum": null,
        "violations": ["a volume capability has no access_mode"]});
    let request = |code: u16, message: Value, version: &str| {
        json!({"fact": "request", "client": "publisher", "verb": "create", "resource": "csistoragecapacities",
            "version": version, "namespace": "csi", "name": "c", "code": code, "message": message, "revision": null})
    };
    for _ in 0..30 {
        journal.record(call.clone());
    }
    journal.record(request(201, Value::Null, "storage.k8s.io/v1"));
    journal.record(request(201, Value::Null, "storage.k8s.io/v1beta1"));
    journal.record(request(422, "is invalid".into(), "storage.k8s.io/v1"));
    journal.record(request(404, "not found".into(), "storage.k8s.io/v1alpha1"));
    let mut injected = request(
        422,
        "refused by a fault rule with status 422".into(),
        "storage.k8s.io/v1",
    );
    injected["injected"] = true.into();
    journal.record(injected);
    let labels =
        json!({"csi.storage.k8s.io/drivername": "disk.example.com", "csi.storage.k8s.io/managed-by": "me"});
    journal.commit(
        "publisher",
        "added",
        "csistoragecapacities",
        "good",
        &json!({"metadata": {"labels": labels}}),
    );
    journal.commit(
        "publisher",
        "added",
        "csistoragecapacities",
        "bad",
        &json!({"metadata": {}, "storageClassName": "fast"}),
    );
    journal.commit(
        "harness",
        "added",
        "csistoragecapacities",
        "by-hand",
        &json!({"metadata": {}}),
    );
    let found = findings(journal.judge.plan, journal.judge.facts());
    let found: Vec<(&str, u64)> = found
        .iter()
        .map(|finding| (finding.rule, finding.count))
        .collect();
    // A burst of twenty calls is tolerated, but before the first poll only two calls are.
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
fn each_volume_allows_another_get_capacity_call() {
    let found = |volumes: usize| {
        let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
        let call = |method: &str, volume: Value| {
            json!({"fact": "call", "method": method, "node": null, "segment": "n1", "parameters": {}, "volume": volume,
                "requiredBytes": 1, "code": "OK", "message": null, "available": 5, "maximum": null})
        };
        for _ in 0..volumes {
            journal.record(call("CreateVolume", "v".into()));
        }
        for _ in 0..25 {
            journal.record(call("GetCapacity", Value::Null));
        }
        findings(journal.judge.plan, journal.judge.facts()).len()
    };
    assert_eq!((found(0), found(5)), (2, 0));
}

#[test]
fn a_rejected_write_allows_repeated_calls_at_the_start() {
    let found = |code: u16| {
        let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
        journal.get_capacity(1);
        journal.record(
            json!({"fact": "request", "client": "publisher", "verb": "create", "resource": "csistoragecapacities",
            "namespace": "csi", "name": null, "code": code, "message": null, "revision": 7}),
        );
        journal.get_capacity(4);
        findings(journal.judge.plan, journal.judge.facts()).len()
    };
    assert_eq!((found(201), found(403)), (1, 0));
}

#[test]
fn the_call_limit_counts_each_class_with_the_same_parameters() {
    let is_too_often = |plan: &'static Plan, calls: usize| {
        let mut journal = TestJournal {
            judge: Judge::new(plan),
            seq: 0,
            at_us: 0,
        };
        journal.record(
            json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 1.0, "format": 1}),
        );
        journal.get_capacity(calls);
        findings(plan, journal.judge.facts())
            .iter()
            .any(|it| it.rule == "csi-calls")
    };
    let one = journal(&json!({"placement": {"app": "n1"}, "why": "because"}))
        .judge
        .plan;
    let mut two = one.clone();
    two.class_parameters
        .extend(["fast", "slow"].map(|name| (name.to_owned(), [].into())));
    // Parameters with the prefix of a sidecar are not sent to the driver.
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
fn distributed_publishers_may_call_for_each_pvc_with_immediate_binding() {
    let plan = journal(&json!({"placement": {"app": "n1"}, "why": "because"}))
        .judge
        .plan;
    let is_too_often = |mode: Mode, binding: &str| {
        let mut plan = plan.clone();
        plan.mode = mode;
        let plan: &Plan = Box::leak(Box::new(plan));
        let mut journal = TestJournal {
            judge: Judge::new(plan),
            seq: 0,
            at_us: 0,
        };
        journal.record(
            json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 1.0, "format": 1}),
        );
        journal.commit(
            "harness",
            "added",
            "storageclasses",
            "fast",
            &json!({"volumeBindingMode": binding}),
        );
        journal.get_capacity(30);
        findings(plan, journal.judge.facts())
            .iter()
            .any(|it| it.rule == "csi-calls")
    };
    assert!(!is_too_often(Mode::Distributed, "Immediate"));
    assert!(is_too_often(Mode::Distributed, "WaitForFirstConsumer"));
    assert!(is_too_often(Mode::Central, "Immediate"));
}
