//! Tests when an expectation that does not hold fails: after its own timeout, which active programs and harness lag extend.

use super::*;

fn placement(within: Option<&str>) -> Value {
    let mut expect = json!({"placement": {"app": "n1"}, "why": "because"});
    if let Some(within) = within {
        expect["within"] = within.into();
    }
    expect
}

/// A journal in which the publisher has called GetCapacity and the scheduler has decided, without delay.
fn settled_journal(expect: &Value) -> TestJournal {
    let mut journal = journal(expect);
    journal.reject_pod("full");
    journal.get_capacity(3);
    journal
}

/// Milliseconds from the last action to the deadline of the expectation, which must be the next deadline.
fn milliseconds_to_deadline(journal: &TestJournal) -> u128 {
    let actions_done = journal.judge.actions_done.as_ref().expect("actions done").at_us;
    let (at, bound) = journal.judge.next_bound().expect("pending bound");
    assert_eq!(bound.bound, DeadlineKind::Within);
    (at - Duration::from_micros(actions_done)).as_millis()
}

/// The verdict of the case and its summary after the next deadline.
fn verdict(mut journal: TestJournal) -> (Verdict, String) {
    assert_eq!(journal.next_bound(), DeadlineKind::Within);
    let verdict = journal.judge.verdict();
    let summary = verdict.failure().map(|failure| failure.summary.clone());
    (verdict, summary.unwrap_or_default())
}

#[test]
fn a_missed_expectation_fails_one_second_after_the_last_change() {
    let journal = settled_journal(&placement(None));
    // The rejection is the first fact after the last action.
    assert_eq!(milliseconds_to_deadline(&journal), 1_001);
    let (verdict, summary) = verdict(journal);
    assert!(matches!(verdict, Verdict::Fail(_)));
    assert_eq!(
        summary,
        "timed out after 1 s (5 refreshes of 100 ms, extended until nothing had changed for 1 s)"
    );
}

#[test]
fn an_unbound_pvc_extends_the_wait_beyond_the_publishers_retry_interval() {
    let mut journal = settled_journal(&placement(None));
    let mut claim =
        json!({"metadata": {"name": "c", "namespace": "default"}, "spec": {"storageClassName": "fast"}});
    journal.commit_workload("harness", "added", "persistentvolumeclaims", &claim);
    let unbound = milliseconds_to_deadline(&journal);
    claim["spec"]["volumeName"] = "v".into();
    journal.commit_workload("controllers", "modified", "persistentvolumeclaims", &claim);
    let bound = milliseconds_to_deadline(&journal);
    assert!(1_200 < unbound && unbound < 1_210, "{unbound}");
    assert!(1_000 < bound && bound < 1_010, "{bound}");
}

#[test]
fn a_longer_timeout_applies_in_full() {
    let journal = settled_journal(&placement(Some("20s")));
    assert_eq!(milliseconds_to_deadline(&journal), 20_000);
    assert_eq!(verdict(journal).1, "timed out after 20 s");
    let journal = settled_journal(&placement(Some("30 refreshes")));
    assert_eq!(milliseconds_to_deadline(&journal), 3_000);
    assert_eq!(verdict(journal).1, "timed out after 3 s (30 refreshes of 100 ms)");
}

#[test]
fn a_starting_program_has_thirty_seconds_for_its_first_request() {
    for (within, has_more) in [(None, true), (Some("20s"), true), (Some("40s"), false)] {
        let mut journal = settled_journal(&placement(within));
        journal
            .record(json!({"fact": "process", "client": "cleaner", "role": "cleaner", "event": "started"}));
        let actions_done = journal.judge.actions_done.as_ref().expect("actions done").at_us;
        let started = u128::from(journal.at_us - actions_done) / 1_000;
        assert_eq!(
            milliseconds_to_deadline(&journal),
            if has_more { started + 30_000 } else { 40_000 },
            "{within:?}"
        );
        journal.first_request("cleaner");
        assert!(
            has_more == (milliseconds_to_deadline(&journal) < 30_000),
            "{within:?}"
        );
    }
}

#[test]
fn idle_systems_have_time_to_react() {
    let mut silent = journal(&placement(None));
    assert_eq!(
        milliseconds_to_deadline(&silent),
        3_000,
        "the scheduler has not decided"
    );
    silent.reject_pod("full");
    assert_eq!(
        milliseconds_to_deadline(&silent),
        1_200,
        "no GetCapacity call yet; the limit exceeds the publisher's retry interval"
    );
    silent.get_capacity(1);
    assert_eq!(milliseconds_to_deadline(&silent), 1_202, "it keeps calling");
    let (_, summary) = verdict(silent);
    assert!(
        summary.ends_with("extended until no GetCapacity call had been made for 1.2 s)"),
        "{summary}"
    );
    let (_, summary) = verdict(journal(&placement(None)));
    assert!(
        summary.ends_with("extended until the scheduler had been idle for 3 s)"),
        "{summary}"
    );
}

#[test]
fn a_scheduler_in_back_off_has_time_to_retry_the_pod() {
    let mut journal = settled_journal(&placement(None));
    journal.fail_binding("the volume was made elsewhere");
    assert_eq!(
        milliseconds_to_deadline(&journal),
        3_005,
        "the back-off ends within 3 s"
    );
    journal.reject_pod("full");
    assert_eq!(
        milliseconds_to_deadline(&journal),
        1_006,
        "now it waits for events"
    );
}

#[test]
fn a_changed_capacity_extends_the_wait() {
    let mut journal = settled_journal(&placement(None));
    journal.get_capacity(1);
    assert_eq!(
        milliseconds_to_deadline(&journal),
        1_001,
        "the capacity is unchanged"
    );
    journal.get_capacity_returning(6);
    assert_eq!(milliseconds_to_deadline(&journal), 1_006);
}

#[test]
fn active_systems_extend_the_wait_up_to_ten_seconds() {
    let mut busy = settled_journal(&placement(None));
    for second in 1..30 {
        busy.at_us = second * 900_000;
        busy.reject_pod("full");
        assert!(milliseconds_to_deadline(&busy) <= 10_000);
        if second == 5 {
            let actions_done = busy.judge.actions_done.as_ref().expect("actions done").at_us;
            assert_eq!(
                milliseconds_to_deadline(&busy),
                u128::from(busy.at_us - actions_done) / 1_000 + 1_000
            );
        }
    }
    assert_eq!(milliseconds_to_deadline(&busy), 10_000);
    busy.at_us = 10_100_000;
    let (_, summary) = verdict(busy);
    assert!(
        summary.ends_with("(5 refreshes of 100 ms, extended by up to 10 s, as programs were still active)"),
        "{summary}"
    );
}

#[test]
fn harness_lag_extends_the_wait_fourfold() {
    let mut slow = settled_journal(&placement(None));
    slow.lag(50);
    assert_eq!(milliseconds_to_deadline(&slow), 1_201);
    slow.lag(100);
    assert_eq!(milliseconds_to_deadline(&slow), 1_601);
    slow.lag(5_000);
    assert_eq!(milliseconds_to_deadline(&slow), 10_000, "limited to ten seconds");
}

#[test]
fn constant_harness_lag_does_not_extend_the_wait_forever() {
    let mut slow = settled_journal(&placement(None));
    let refused = json!({"fact": "fault", "rule": 1, "client": "publisher", "effect": {"status": {"code": 500}}, "verb": "create",
        "resource": "csistoragecapacities",
        "legal": true});
    slow.record(refused);
    let patient = milliseconds_to_deadline(&slow);
    for _ in 0..100 {
        slow.lag(1_000);
    }
    let late = milliseconds_to_deadline(&slow);
    assert!(patient < late && late <= patient + 10_000, "{patient} and {late}");
}

#[test]
fn lag_that_extended_a_bound_excuses_a_failure_only_above_half_of_the_time() {
    for (lag, is_undecided) in [
        (100, false),
        (400, false),
        (2_000, false),
        (4_000, false),
        (5_100, true),
    ] {
        let mut slow = settled_journal(&placement(None));
        slow.lag(lag);
        let (verdict, _) = verdict(slow);
        assert_eq!(
            matches!(verdict, Verdict::Inconclusive(_)),
            is_undecided,
            "{lag} ms"
        );
    }
}

#[test]
fn lag_during_the_actions_excuses_a_failure_as_it_extends_no_bound() {
    let pod = json!({"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}});
    let step =
        json!({"id": "a", "do": [pod], "expect": [{"objects": [{"resource": "pods"}], "why": "because"}]});
    let mut journal = journal_of_steps(&json!([step, {"id": "b", "expect": [placement(None)]}]));
    journal.get_capacity(3);
    assert!(journal.is_done_when_quiet());
    journal.record(json!({"fact": "stepStarted", "step": 1}));
    journal.lag(600);
    journal.record(json!({"fact": "stepActed", "step": 1}));
    journal.reject_pod("full");
    journal.get_capacity(3);
    assert!(matches!(verdict(journal).0, Verdict::Inconclusive(_)));
}

#[test]
fn patience_scales_all_waits() {
    let text = json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 3.0, "format": 1});
    let mut patient = settled_journal(&placement(None));
    patient.record(text);
    assert_eq!(milliseconds_to_deadline(&patient), 3_001);
    let (_, summary) = verdict(patient);
    assert!(
        summary.contains("5 refreshes of 100 ms, times --patience 3, extended until"),
        "{summary}"
    );
}

/// A fault fact for a request of the scheduler.
fn fault(effect: &Value, verb: &str, resource: &str) -> Value {
    json!({"fact": "fault", "rule": 1, "client": "scheduler", "effect": effect, "verb": verb, "resource": resource, "legal": true})
}

fn refusal(code: u16) -> Value {
    json!({"status": {"code": code}})
}

fn end_of_watch() -> Value {
    json!({"endWatch": {}})
}

/// A watch request of the scheduler for nodes.
fn watch_of_nodes(code: u16) -> Value {
    json!({"fact": "request", "client": "scheduler", "verb": "watch", "resource": "nodes", "namespace": null, "name": null,
        "code": code, "message": null, "revision": (code == 200).then_some(7)})
}

#[test]
fn delays_and_recovered_errors_do_not_extend_the_wait() {
    let call = |code: &str| {
        json!({"fact": "call", "method": "CreateVolume", "node": null, "segment": null, "parameters": {}, "volume": "v",
            "requiredBytes": 1, "code": code, "message": null, "available": null, "maximum": null})
    };
    for facts in [
        vec![fault(&json!({"delay": {"milliseconds": 500}}), "list", "nodes")],
        vec![
            fault(&refusal(503), "watch", "nodes"),
            watch_of_nodes(503),
            watch_of_nodes(200),
        ],
        vec![fault(&json!("disconnect"), "watch", "nodes"), watch_of_nodes(200)],
        vec![
            fault(&end_of_watch(), "watch", "nodes"),
            watch_of_nodes(503),
            watch_of_nodes(200),
        ],
        vec![call("RESOURCE_EXHAUSTED"), call("OK")],
    ] {
        let mut after = settled_journal(&placement(None));
        facts.iter().for_each(|fact| after.record(fact.clone()));
        assert!(milliseconds_to_deadline(&after) < 2_000, "{facts:?}");
    }
}

#[test]
fn an_expired_watch_has_not_recovered() {
    let mut after = settled_journal(&placement(None));
    for effect in [end_of_watch(), refusal(410)] {
        after.record(fault(&effect, "watch", "nodes"));
    }
    let mut expired = watch_of_nodes(200);
    expired["revision"] = Value::Null;
    after.record(expired);
    assert!(
        milliseconds_to_deadline(&after) > 9_000,
        "the error is sent as a watch event"
    );
    after.record(watch_of_nodes(200));
    assert!(milliseconds_to_deadline(&after) < 2_000);
}

#[test]
fn each_of_several_ended_watches_must_restart() {
    let mut after = settled_journal(&placement(None));
    let ended = fault(&end_of_watch(), "watch", "nodes");
    after.record(ended.clone());
    after.record(ended);
    after.record(watch_of_nodes(200));
    assert!(
        milliseconds_to_deadline(&after) > 9_000,
        "one of two watches has restarted"
    );
    after.record(watch_of_nodes(200));
    assert!(milliseconds_to_deadline(&after) < 2_000);
}

#[test]
fn held_watch_events_are_awaited_until_delivery() {
    let held = |milliseconds: Option<u64>| {
        let mut after = settled_journal(&placement(None));
        let effect = json!({"holdWatch": {"milliseconds": milliseconds}});
        after.record(fault(&effect, "watch", "nodes"));
        milliseconds_to_deadline(&after)
    };
    assert!((4_000..4_100).contains(&held(Some(3_000))));
    assert_eq!(held(None), 10_000, "held until the case ends the fault");
}

#[test]
fn success_of_another_attempt_does_not_end_an_error() {
    let mut after = settled_journal(&placement(None));
    after.record(json!({"fact": "fault", "rule": 1, "client": "publisher", "effect": {"status": {"code": 500}}, "verb": "create",
        "resource": "csistoragecapacities", "legal": true}));
    after.record(
        json!({"fact": "request", "client": "publisher", "verb": "create", "resource": "csistoragecapacities",
        "namespace": "csi", "name": "csisc-1", "code": 201, "message": null, "revision": 7}),
    );
    after.record(watch_of_nodes(200));
    assert_eq!(milliseconds_to_deadline(&after), 10_000);
}

#[test]
fn the_wait_after_an_error_covers_the_systems_longest_back_off() {
    let mut after = settled_journal(&placement(None));
    after.record(
        json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "retryIntervalMaxUs": 60_000_000, "patience": 1.0,
            "format": 1}),
    );
    after.record(watch_of_nodes(503));
    assert_eq!(milliseconds_to_deadline(&after), 60_000);
    let (_, summary) = verdict(after);
    assert!(
        summary.ends_with("extended by up to 60 s for retries, as an operation had failed)"),
        "{summary}"
    );
}

#[test]
fn a_system_that_recovers_after_ten_seconds_still_has_time_to_act() {
    let mut after = settled_journal(&placement(None));
    after.record(
        json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "retryIntervalMaxUs": 60_000_000, "patience": 1.0,
            "format": 1}),
    );
    after.record(watch_of_nodes(503));
    after.at_us += 12_000_000;
    after.record(watch_of_nodes(200));
    let until = milliseconds_to_deadline(&after);
    assert!((13_000..13_100).contains(&until), "{until}");
    // Each request extends the wait, up to the three seconds after which a scheduler counts as idle.
    after.at_us += 900_000;
    after.record(watch_of_nodes(200));
    after.at_us += 900_000;
    after.record(watch_of_nodes(200));
    after.at_us += 900_000;
    after.record(watch_of_nodes(200));
    let until = milliseconds_to_deadline(&after);
    assert!((15_000..15_100).contains(&until), "{until}");
}

#[test]
fn a_system_has_ten_seconds_to_retry_after_an_error() {
    let trouble = [
        fault(&refusal(503), "watch", "pods"),
        json!({"fact": "request", "client": "publisher", "verb": "create", "resource": "csistoragecapacities",
            "namespace": "csi", "name": "c", "code": 503, "message": "unavailable", "revision": null}),
        json!({"fact": "call", "method": "CreateVolume", "node": null, "segment": null, "parameters": {}, "volume": "v",
            "requiredBytes": 1, "code": "RESOURCE_EXHAUSTED", "message": "full", "available": null, "maximum": null}),
        json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": "n1", "parameters": {}, "volume": null,
            "requiredBytes": null, "code": "OK", "message": "the answer was lost", "available": 5, "maximum": null}),
        json!({"fact": "extender", "extender": "reserver", "verb": "filter", "pod": "app", "nodes": ["n1"], "kept": [],
            "error": "ask again"}),
    ];
    for trouble in trouble {
        let mut after = settled_journal(&placement(None));
        after.record(trouble.clone());
        assert_eq!(milliseconds_to_deadline(&after), 10_000, "{trouble}");
        let (_, summary) = verdict(after);
        assert!(
            summary.ends_with("extended by up to 10 s for retries, as an operation had failed)"),
            "{summary}"
        );
    }
    let mut before = journal_of_steps(&json!([
        {"id": "a", "do": [{"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}}],
            "expect": [{"objects": [{"resource": "pods"}], "why": "because"}]},
        {"id": "b", "expect": [placement(None)]},
    ]));
    before.get_capacity(3);
    before.record(fault(&refusal(503), "watch", "pods"));
    assert!(before.is_done_when_quiet());
    before.at_us += 6_000_000;
    before.record(json!({"fact": "stepStarted", "step": 1}));
    before.record(json!({"fact": "stepActed", "step": 1}));
    before.reject_pod("full");
    before.get_capacity(3);
    assert!(
        (3_900..4_000).contains(&milliseconds_to_deadline(&before)),
        "{}",
        milliseconds_to_deadline(&before)
    );
    let (_, summary) = verdict(before);
    assert!(
        summary.ends_with("extended by up to 10 s for retries, as an operation had failed)"),
        "{summary}"
    );
}

#[test]
fn each_match_of_a_fault_adds_a_back_off() {
    let met = fault(&end_of_watch(), "watch", "pods");
    for (times, milliseconds) in [(json!(2), 16_000), (Value::Null, 10_000)] {
        let mut journal = journal_of_steps(&json!([{"id": "a", "do": [
            {"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}},
            {"fault": {"api": "watch pods", "endAfter": 0, "times": times}},
        ], "expect": [placement(None)]}]));
        journal.get_capacity(3);
        journal.at_us += 6_000_000;
        journal.record(met.clone());
        let bound = journal.judge.next_bound().unwrap().0.as_millis();
        assert!(
            (milliseconds..milliseconds + 100).contains(&bound),
            "{times}: {bound}"
        );
    }
}

#[test]
fn unrecorded_calls_to_a_stopped_driver_count_as_errors() {
    let pod = json!({"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}});
    let mut before = journal_of_steps(&json!([
        {"id": "a", "do": [{"stop": "driver"}, pod], "expect": [{"objects": [{"resource": "pods"}], "why": "because"}]},
        {"id": "b", "do": [{"start": "driver"}], "expect": [placement(None)]},
    ]));
    before.get_capacity(3);
    assert!(before.is_done_when_quiet());
    before.record(json!({"fact": "stepStarted", "step": 1}));
    before.record(json!({"fact": "stepActed", "step": 1}));
    before.reject_pod("full");
    before.get_capacity(3);
    assert_eq!(milliseconds_to_deadline(&before), 10_000);
}

#[test]
fn a_delayed_call_extends_the_wait_as_it_may_block_others() {
    for (script, milliseconds) in [
        (json!({"method": "GetCapacity", "hang": true}), 10_000),
        (json!({"method": "GetCapacity", "delay": "30ms"}), 10_000),
        (json!({"method": "GetCapacity", "code": "INTERNAL"}), 1_001),
    ] {
        let pod = json!({"pod": {"name": "app", "claims": [{"class": "fast", "size": "10Gi"}]}});
        let step = json!({"id": "a", "do": [{"driverFault": script}, pod], "expect": [placement(None)]});
        let mut journal = journal_of_steps(&json!([step]));
        journal.reject_pod("full");
        journal.get_capacity(3);
        assert_eq!(milliseconds_to_deadline(&journal), milliseconds, "{script}");
    }
}
