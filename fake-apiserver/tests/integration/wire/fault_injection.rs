//! Fault injection: the responses and watch events of clients, whether a faulty request is executed, and reports to the observer.

use super::client::{CAPACITIES, TestServer, capacity, type_and_name};
use super::observer::start_with_recorder;
use fake_apiserver::{Effect, Match, ResourceRef, Rule, RuleError, Verb};
use hyper::Request;
use kube::client::Body;

fn match_verb(verb: Verb) -> Match {
    Match {
        verbs: vec![verb],
        resource: Some("csistoragecapacities".to_owned()),
        ..Match::default()
    }
}

fn status(code: u16) -> Effect {
    Effect::Status {
        code,
        retry_after_seconds: 0,
    }
}

/// Creates a CSIStorageCapacity object; returns false if the server closes the connection instead of responding.
async fn create_gets_response(wire: &TestServer, name: &str) -> bool {
    let body = Body::from(capacity(name, "1Gi").to_string().into_bytes());
    let request = Request::post(CAPACITIES).header("content-type", "application/json");
    let request = request.body(body).expect("the request is well formed");
    wire.client.send(request).await.is_ok()
}

fn watch_path(revision: u64) -> String {
    format!("{CAPACITIES}?watch=true&resourceVersion={revision}")
}

#[tokio::test]
async fn status_faults_have_reason_and_retry_after_and_end_after_their_count() {
    let (wire, recorder) = start_with_recorder().await;
    let effect = Effect::Status {
        code: 503,
        retry_after_seconds: 7,
    };
    let id = wire
        .server
        .add_fault_rule(Rule::new(match_verb(Verb::Create), effect).times(1))
        .unwrap();
    let refused = wire.post(CAPACITIES, capacity("a", "1Gi")).await;
    assert_eq!(
        (refused.code, &refused.headers["retry-after"]),
        (503, &"7".parse().unwrap())
    );
    assert_eq!(refused.body["reason"], "ServiceUnavailable");
    assert_eq!(refused.body["details"]["retryAfterSeconds"], 7);
    assert_eq!(wire.post(CAPACITIES, capacity("a", "1Gi")).await.code, 201);
    assert_eq!(
        recorder.texts_containing("tester")[..2],
        [
            "tester suffers legal status 503: create csistoragecapacities",
            "tester create csistoragecapacities/ 503 ServiceUnavailable @0",
        ]
    );
    let listed = wire.server.fault_rules();
    assert_eq!((listed[0].id, listed[0].applied, listed[0].legal), (id, 1, true));
    assert!(wire.server.remove_fault_rule(id) && !wire.server.remove_fault_rule(id));
    assert!(wire.server.fault_rules().is_empty());
}

#[tokio::test]
async fn invalid_fault_rules_are_rejected() {
    let wire = TestServer::start().await;
    let refused = wire
        .server
        .add_fault_rule(Rule::new(Match::default(), status(200)));
    assert_eq!(refused, Err(RuleError::Code(200)));
}

#[tokio::test]
async fn disconnected_writes_are_not_executed_and_lost_responses_are() {
    let (wire, recorder) = start_with_recorder().await;
    wire.server
        .add_fault_rule(Rule::new(match_verb(Verb::Create), Effect::Disconnect).times(1))
        .unwrap();
    assert!(!create_gets_response(&wire, "cut").await);
    assert_eq!(wire.get(&format!("{CAPACITIES}/cut")).await.code, 404);
    wire.server
        .add_fault_rule(Rule::new(match_verb(Verb::Create), Effect::LoseAnswer).times(1))
        .unwrap();
    assert!(!create_gets_response(&wire, "lost").await);
    assert_eq!(wire.get(&format!("{CAPACITIES}/lost")).await.code, 200);
    assert_eq!(
        recorder
            .texts_containing("commits ADDED csistoragecapacities")
            .len(),
        1
    );
    assert!(create_gets_response(&wire, "next").await);
}

#[tokio::test]
async fn delayed_requests_get_a_response() {
    let (wire, recorder) = start_with_recorder().await;
    wire.server
        .add_fault_rule(Rule::new(
            match_verb(Verb::Create),
            Effect::Delay { milliseconds: 1 },
        ))
        .unwrap();
    assert!(create_gets_response(&wire, "late").await);
    assert_eq!(
        recorder.texts_containing("suffers"),
        ["tester suffers legal delayed by 1ms: create csistoragecapacities"]
    );
}

#[tokio::test]
async fn in_process_clients_are_exempt_from_faults() {
    let wire = TestServer::start().await;
    wire.server
        .add_fault_rule(Rule::new(Match::default(), status(500)))
        .unwrap();
    assert_eq!(wire.get(CAPACITIES).await.code, 500);
    let at = ResourceRef::new("storage.k8s.io", "csistoragecapacities");
    assert!(wire.server.client("truth").list(&at).is_ok());
}

#[tokio::test]
async fn ended_watches_can_resume_without_loss() {
    let (wire, recorder) = start_with_recorder().await;
    let mut watch = wire.watch(&watch_path(1)).await;
    wire.create(CAPACITIES, capacity("a", "1Gi")).await;
    let seen = watch.next().await.unwrap();
    let at: u64 = seen["object"]["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    wire.server
        .add_fault_rule(Rule::new(match_verb(Verb::Watch), Effect::EndWatch { after_events: 0 }).times(1))
        .unwrap();
    assert_eq!(watch.next().await, None);
    assert_eq!(
        recorder.texts_containing("unwatches"),
        ["tester unwatches csistoragecapacities FaultInjected"]
    );
    wire.create(CAPACITIES, capacity("b", "1Gi")).await;
    let mut again = wire.watch(&watch_path(at)).await;
    assert_eq!(again.next_events(1).await, ["ADDED b"]);
}

#[tokio::test]
async fn watches_can_be_ended_after_a_number_of_events() {
    let wire = TestServer::start().await;
    for name in ["a", "b", "c"] {
        wire.create(CAPACITIES, capacity(name, "1Gi")).await;
    }
    wire.server
        .add_fault_rule(Rule::new(match_verb(Verb::Watch), Effect::EndWatch { after_events: 2 }).times(1))
        .unwrap();
    let mut watch = wire.watch(&format!("{CAPACITIES}?watch=true")).await;
    assert_eq!(watch.next_events(2).await, ["ADDED a", "ADDED b"]);
    assert_eq!(watch.next().await, None);
    wire.server.quiet().await;
}

#[tokio::test]
async fn held_watches_are_delayed_without_loss() {
    let wire = TestServer::start().await;
    let mut watch = wire.watch(&watch_path(1)).await;
    let id = wire
        .server
        .add_fault_rule(Rule::new(
            match_verb(Verb::Watch),
            Effect::HoldWatch { milliseconds: None },
        ))
        .unwrap();
    wire.create(CAPACITIES, capacity("a", "1Gi")).await;
    wire.create(CAPACITIES, capacity("b", "1Gi")).await;
    let mut new = wire.watch(&watch_path(1)).await;
    // Watch events that a fault rule holds do not count as unfinished work, so `quiet` resolves.
    wire.server.quiet().await;
    tokio::select! {
        biased;
        early = watch.next() => panic!("delivered while held: {early:?}"),
        early = new.next() => panic!("delivered while held: {early:?}"),
        () = wire.server.quiet() => {}
    }
    assert!(wire.server.remove_fault_rule(id));
    assert_eq!(watch.next_events(2).await, ["ADDED a", "ADDED b"]);
    assert_eq!(new.next_events(2).await, ["ADDED a", "ADDED b"]);
    wire.server.quiet().await;
}

#[tokio::test]
async fn holds_can_expire() {
    let wire = TestServer::start().await;
    wire.server
        .add_fault_rule(Rule::new(
            match_verb(Verb::Watch),
            Effect::HoldWatch {
                milliseconds: Some(5),
            },
        ))
        .unwrap();
    let mut watch = wire.watch(&watch_path(1)).await;
    wire.create(CAPACITIES, capacity("a", "1Gi")).await;
    assert_eq!(watch.next_events(1).await, ["ADDED a"]);
}

#[tokio::test]
async fn compacted_revisions_are_gone_for_watches_and_pages() {
    let (wire, recorder) = start_with_recorder().await;
    for name in ["a", "b", "c"] {
        wire.create(CAPACITIES, capacity(name, "1Gi")).await;
    }
    let before = wire.server.revision() - 1;
    let page = wire.get(&format!("{CAPACITIES}?limit=1")).await;
    let token = page.body["metadata"]["continue"].as_str().unwrap().to_owned();
    wire.delete(&format!("{CAPACITIES}/c")).await;
    let mut open = wire.watch(&watch_path(wire.server.revision())).await;
    wire.server
        .add_fault_rule(Rule::new(Match::default(), Effect::Compact { revision: None }))
        .unwrap();
    let mut late = wire.watch(&watch_path(before)).await;
    let event = late.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&"ERROR".into(), &410.into())
    );
    assert_eq!(
        wire.get(&format!("{CAPACITIES}?limit=1&continue={token}"))
            .await
            .code,
        410
    );
    wire.create(CAPACITIES, capacity("d", "1Gi")).await;
    assert_eq!(open.next_events(1).await, ["ADDED d"], "current watches continue");
    assert_eq!(
        recorder
            .texts_containing("the server suffers legal compacted")
            .len(),
        1
    );
}

#[tokio::test]
async fn watches_are_rejected_with_410_as_an_error_event() {
    let wire = TestServer::start().await;
    wire.server
        .add_fault_rule(Rule::new(match_verb(Verb::Watch), status(410)).times(1))
        .unwrap();
    let mut watch = wire.watch(&watch_path(wire.server.revision())).await;
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["reason"]),
        (&"ERROR".into(), &"Expired".into())
    );
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn stale_reads_return_an_old_revision_only_if_the_client_allows_it() {
    let (wire, recorder) = start_with_recorder().await;
    wire.create(CAPACITIES, capacity("old", "1Gi")).await;
    let legal = Effect::Stale {
        revision: None,
        consistent: false,
    };
    let id = wire
        .server
        .add_fault_rule(Rule::new(Match::default(), legal))
        .unwrap();
    wire.create(CAPACITIES, capacity("new", "1Gi")).await;
    wire.delete(&format!("{CAPACITIES}/old")).await;
    let names = async |query: &str| {
        let list = wire.get(&format!("{CAPACITIES}{query}")).await.body;
        let items = list["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| item["metadata"]["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("?resourceVersion=0").await, ["old"]);
    assert_eq!(names("").await, ["new"]);
    assert_eq!(
        wire.get(&format!("{CAPACITIES}/old?resourceVersion=0"))
            .await
            .code,
        200
    );
    assert_eq!(
        wire.get(&format!("{CAPACITIES}/new?resourceVersion=0"))
            .await
            .code,
        404
    );
    assert_eq!(wire.get(&format!("{CAPACITIES}/old")).await.code, 404);
    wire.server.remove_fault_rule(id);
    assert_eq!(names("?resourceVersion=0").await, ["new"]);
    let illegal = Effect::Stale {
        revision: Some(1),
        consistent: true,
    };
    wire.server
        .add_fault_rule(Rule::new(match_verb(Verb::List), illegal))
        .unwrap();
    assert_eq!(names("").await, Vec::<&str>::new());
    assert_eq!(
        recorder.texts_containing("illegal"),
        ["tester suffers illegal state of revision 1 returned: list csistoragecapacities"]
    );
}

#[tokio::test]
async fn fault_rules_match_only_their_client() {
    let wire = TestServer::start().await;
    let mine = Match {
        client: Some("somebody*".to_owned()),
        ..Match::default()
    };
    wire.server.add_fault_rule(Rule::new(mine, status(500))).unwrap();
    assert_eq!(wire.get(CAPACITIES).await.code, 200);
    let token = wire.server.add_client("somebody-else");
    let other = super::client::client(&wire.running, Some(token));
    let answer = super::client::request(&other, "GET", CAPACITIES, &[], String::new()).await;
    assert_eq!(answer.status(), 500);
}

#[tokio::test]
async fn watches_with_a_lost_response_end() {
    let (wire, recorder) = start_with_recorder().await;
    wire.server
        .add_fault_rule(Rule::new(match_verb(Verb::Watch), Effect::LoseAnswer).times(1))
        .unwrap();
    let request = Request::get(watch_path(1)).body(Body::empty()).unwrap();
    assert!(wire.client.send(request).await.is_err());
    assert_eq!(
        recorder.texts_containing("unwatches"),
        ["tester unwatches csistoragecapacities Client"]
    );
    wire.create(CAPACITIES, capacity("a", "1Gi")).await;
    let mut watch = wire.watch(&watch_path(1)).await;
    assert_eq!(type_and_name(&watch.next().await.unwrap()), "ADDED a");
}
