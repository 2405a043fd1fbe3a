//! CEL validation rules: evaluation for objects, and validation of the rules themselves.

use super::super::client::{TestResponse, TestServer};
use super::{DEFINITIONS, FOOS, causes, create_rejected, definition, foo, foos, version, with_spec};
use serde_json::{Value, json};

/// A CRD version whose spec has the given properties and CEL rules.
fn ruled(properties: Value, rules: Value) -> Value {
    let mut version = with_spec(properties);
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = rules;
    version
}

async fn create_definition(wire: &TestServer, version: Value) -> TestResponse {
    wire.post(DEFINITIONS, definition("foos", "Foo", version)).await
}

#[tokio::test]
async fn objects_must_satisfy_the_rules() {
    let wire = TestServer::start().await;
    let number = json!({"type": "integer"});
    let rules = json!([
        {"rule": "self.x + self.y > 0"},
        {"rule": "self.x < 10", "message": "x is small", "reason": "FieldValueForbidden", "fieldPath": ".x"},
        {"rule": "self.y < 10", "messageExpression": "'y is %d, not below 10'.format([self.y])"},
    ]);
    foos(&wire, ruled(json!({"x": number, "y": number}), rules)).await;
    wire.create(FOOS, foo("a", json!({"x": 1, "y": 2}))).await;
    assert_eq!(
        create_rejected(&wire, json!({"x": -1, "y": 0})).await,
        ["spec: Invalid value: failed rule: self.x + self.y > 0"]
    );
    assert_eq!(
        create_rejected(&wire, json!({"x": 11, "y": 12})).await,
        [
            "spec.x: Forbidden: x is small",
            "spec: Invalid value: y is 12, not below 10"
        ]
    );
    assert_eq!(
        create_rejected(&wire, json!({"x": 1})).await,
        [
            "spec: Invalid value: \"object\": no such key: y evaluating rule: self.x + self.y > 0",
            "spec: Invalid value: \"object\": no such key: y evaluating rule: self.y < 10",
        ]
    );
}

#[tokio::test]
async fn rules_are_not_evaluated_for_values_of_the_wrong_type() {
    let wire = TestServer::start().await;
    let rules = json!([{"rule": "self.x > 0"}]);
    foos(&wire, ruled(json!({"x": {"type": "integer"}}), rules)).await;
    assert_eq!(
        create_rejected(&wire, json!({"x": "1"})).await,
        [
            "spec.x: Invalid value: \"string\": spec.x in body must be of type integer: \"string\"",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct \
             the existing errors to complete validation"
        ]
    );
}

#[tokio::test]
async fn transition_rules_use_the_old_value() {
    let wire = TestServer::start().await;
    let once = json!({"type": "string", "maxLength": 5, "x-kubernetes-validations": [
        {"rule": "self == oldSelf", "message": "it is immutable"}]});
    let item = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": once.clone()}});
    let list = json!({"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "items": item});
    let first = json!({"type": "integer", "x-kubernetes-validations": [
        {"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": true}]});
    foos(
        &wire,
        with_spec(json!({"once": once, "list": list, "first": first})),
    )
    .await;
    wire.create(
        FOOS,
        foo(
            "a",
            json!({"once": "1", "list": [{"k": "a", "v": "1"}], "first": 1}),
        ),
    )
    .await;
    let place = format!("{FOOS}/a");
    let changed = wire.merge(&place, json!({"spec": {"once": "2"}})).await;
    assert_eq!(
        causes(&changed),
        ["spec.once: Invalid value: \"2\": it is immutable"]
    );
    let list = json!([{"k": "b", "v": "9"}, {"k": "a", "v": "2"}]);
    let changed = wire.merge(&place, json!({"spec": {"list": list}})).await;
    assert_eq!(
        causes(&changed),
        ["spec.list[1].v: Invalid value: \"2\": it is immutable"]
    );
    let fine = wire
        .merge(&place, json!({"spec": {"first": 2, "once": null}}))
        .await;
    assert_eq!(fine.code, 200, "{}", fine.text);
    assert_eq!(
        create_rejected(&wire, json!({"first": 2})).await,
        ["spec.first: Invalid value: 2: failed rule: oldSelf.hasValue() || self == 1"]
    );
}

#[tokio::test]
async fn rule_violations_of_unchanged_values_are_warnings() {
    let wire = TestServer::start().await;
    let text = json!({"type": "string"});
    foos(&wire, with_spec(json!({"a": text, "b": text}))).await;
    wire.create(FOOS, foo("x", json!({"a": "bad", "b": "1"}))).await;
    let rule =
        json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != 'bad'", "message": "bad"}]});
    let place = format!("{DEFINITIONS}/foos.example.com");
    let other = json!({"spec": {"versions": [with_spec(json!({"a": rule, "b": text}))]}});
    assert_eq!(wire.merge(&place, other).await.code, 200);
    let fine = wire
        .merge(&format!("{FOOS}/x"), json!({"spec": {"b": "2"}}))
        .await;
    assert_eq!(fine.code, 200, "{}", fine.text);
    assert_eq!(
        fine.headers["warning"],
        "299 - \"spec.a: Invalid value: \\\"bad\\\": bad\""
    );
}

#[tokio::test]
async fn cel_libraries_are_available() {
    let wire = TestServer::start().await;
    let text = json!({"type": "string"});
    let properties = json!({
        "t": text, "list": {"type": "array", "items": text}, "map": {"type": "object", "additionalProperties": text},
        "q": text, "ip": text, "at": {"type": "string", "format": "date-time"}, "either": {"x-kubernetes-int-or-string": true},
        "set": {"type": "array", "items": text, "x-kubernetes-list-type": "set"}, "a-b": text, "if": text,
    });
    let rules = [
        "self.t.startsWith('a') && self.t.matches('^a.c$') && self.t.upperAscii() == 'ABC'",
        "self.list.all(x, x.size() == 1) && self.list.exists(x, x == 'b') && self.list.exists_one(x, x == 'a')",
        "self.list.map(x, x + x) == ['aa', 'bb'] && self.list.filter(x, x > 'a') == ['b'] && self.list.join() == 'ab'",
        "'k' in self.map && self.map['k'] == 'v' && self.map.all(k, k.startsWith('k')) && !('z' in self.map)",
        "quantity(self.q).isGreaterThan(quantity('1Gi')) && !isQuantity('x')",
        "isIP(self.ip) && ip(self.ip).family() == 4",
        "self.at < timestamp('2030-01-01T00:00:00Z') && self.at.getFullYear() == 2026",
        "type(self.either) == int ? self.either == 5 : self.either == '5'",
        "sets.equivalent(self.set, ['b', 'a']) && sets.contains(self.set, ['a'])",
        "self.?missing.orValue('d') == 'd' && !has(self.missing)",
        "self.a__dash__b == 'x' && self.__if__ == 'y'",
        "self.list.isSorted() && self.list.indexOf('b') == 1 && 'a%sc%d'.format(['b', 1]) == 'abc1'",
        "duration('1h') + duration('30m') == duration('90m') && [1, 3, 2].max() == 3",
        "self.?t.optMap(t, t.size()).orValue(0) == 3 && self.?missing.optMap(t, t) == optional.none()",
        "string(true) == 'true' && int(self.at) > 0 && dyn(self.t) == 'abc'",
        "'a b'.split(' ').size() == 2 && 'abc'.find('b.') == 'bc' && 'abc'.substring(1) == 'bc'",
    ];
    let mut all = properties.clone();
    all["missing"] = text.clone();
    let rules: Vec<Value> = rules.iter().map(|rule| json!({"rule": rule})).collect();
    foos(&wire, ruled(all, rules.into())).await;
    let spec = json!({"t": "abc", "list": ["a", "b"], "map": {"k": "v"}, "q": "2Gi", "ip": "10.0.0.1",
        "at": "2026-05-05T05:05:05Z", "either": 5, "set": ["a", "b"], "a-b": "x", "if": "y"});
    wire.create(FOOS, foo("a", spec)).await;
}

#[tokio::test]
async fn invalid_rules_are_rejected_with_the_definition() {
    let wire = TestServer::start().await;
    let properties =
        json!({"x": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}}});
    for (rule, expected) in [
        ("self.z == 1", "undefined field 'z'"),
        ("self.x +", "Syntax error"),
        ("1 + self.x", "cel expression must evaluate to a bool"),
        ("other == 1", "undeclared reference to 'other' (in container '')"),
        ("self.metadata.name == 'a'", "undefined field 'metadata'"),
        (
            "nothing(self.x)",
            "undeclared reference to 'nothing' (in container '')",
        ),
    ] {
        let answer = create_definition(&wire, ruled(properties.clone(), json!([{ "rule": rule }]))).await;
        assert_eq!(answer.code, 422, "{rule}: {}", answer.text);
        assert!(answer.text.contains(expected), "{rule}: {}", answer.text);
    }
    let lost = version(
        json!({"type": "object", "properties": {"list": {"type": "array", "items": {
        "type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}}),
    );
    let answer = create_definition(&wire, lost).await;
    assert!(
        answer
            .text
            .contains("oldSelf cannot be used on the uncorrelatable portion of the schema"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn too_expensive_rules_are_stopped() {
    let wire = TestServer::start().await;
    let list = json!({"type": "array", "maxItems": 1_000_000, "items": {"type": "integer"}});
    let rules = json!([{"rule": "self.list.all(x, x >= 0)"}]);
    foos(&wire, ruled(json!({"list": list}), rules)).await;
    let long: Vec<u32> = vec![1; 300_000];
    let reported = create_rejected(&wire, json!({"list": long})).await;
    // On a slow host, the time limit of the CEL evaluation is exceeded before the cost limit.
    let texts = ["call cost exceeds limit for rule", "running out of cost budget"];
    assert!(
        texts.iter().any(|text| reported[0].contains(text)),
        "{reported:?}"
    );
}

/// Without cost limits, each CEL rule in this test would run for hours or exhaust the memory.
#[tokio::test]
async fn unbounded_rules_are_stopped() {
    let text = "a".repeat(100_000);
    let list: Vec<u32> = (0..700).collect();
    let object = json!({"text": text, "list": list});
    let quote = format!("{}self.text{}", "strings.quote(".repeat(60), ")".repeat(60));
    let copies = format!("size([{}self]) > 0", "self,".repeat(5_000));
    for rule in [
        "self.list.all(a, self.list.all(b, self.list.all(c, self.list.all(d, a + b + c + d >= 0))))",
        "self.list.all(a, self.list.all(b, self.text != string(a) + string(b)))",
        "size(self.list.map(a, self.list.map(b, self))) > 0",
        "size(self.text.replace('', self.text)) > 0",
        "size(self.list.map(a, string(a)).join(self.text)) > 0",
        "lists.range(1000000000000).size() > 0",
        "size('%.1000000000f'.format([1.0])) >= 0",
        &format!("size({quote}) > 0"),
        &copies,
    ] {
        let wire = TestServer::start().await;
        let properties =
            json!({"text": {"type": "string"}, "list": {"type": "array", "items": {"type": "integer"}}});
        foos(
            &wire,
            ruled(properties, json!([{"rule": rule, "message": "stopped"}])),
        )
        .await;
        let began = std::time::Instant::now();
        let reported = create_rejected(&wire, object.clone()).await;
        assert!(began.elapsed().as_secs() < 20, "{rule}: {:?}", began.elapsed());
        assert!(
            reported[0].contains("cost") || reported[0].contains("the evaluation failed"),
            "{rule}: {}",
            &reported[0][..reported[0].len().min(300)]
        );
        assert_eq!(wire.get("/readyz").await.code, 200);
    }
}
