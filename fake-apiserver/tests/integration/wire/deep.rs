//! Deeply nested, wide and long inputs for every parser of client input: each gets a response, and the server continues to serve requests.
//!
//! The server runs on a thread with half the stack of a tokio worker.

use super::client::TestServer;
use super::envelope::varint;
use serde_json::json;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const STACK: usize = 1 << 20;

/// Nesting depths or lengths of inputs: around the server's limits and far beyond these limits.
const SIZES: [usize; 6] = [1, 60, 95, 240, 400, 20_000];

/// The name of an input, and a function that builds a request with an input of a given size.
type Input = (&'static str, fn(usize) -> TestRequest);

struct TestRequest {
    method: &'static str,
    path: String,
    media_type: &'static str,
    body: Vec<u8>,
}

fn post(path: &str, media_type: &'static str, body: impl Into<Vec<u8>>) -> TestRequest {
    TestRequest {
        method: "POST",
        path: path.to_owned(),
        media_type,
        body: body.into(),
    }
}

/// Maximum length of a URL path; longer paths are truncated.
const PATH_MAX: usize = 60_000;

fn get(mut path: String) -> TestRequest {
    path.truncate(PATH_MAX);
    TestRequest {
        method: "GET",
        path,
        media_type: "application/json",
        body: Vec::new(),
    }
}

fn patch(media_type: &'static str, body: String) -> TestRequest {
    TestRequest {
        method: "PATCH",
        path: format!("{MAPS}/a?fieldManager=f&dryRun=All"),
        media_type,
        body: body.into_bytes(),
    }
}

/// A CustomResourceDefinition with the schema `spec`. Built as text, because the schema may nest deeper than JSON parsers allow.
fn crd_request(spec: &str, more: &str) -> TestRequest {
    let body = format!(
        r#"{{"metadata": {{"name": "foos.example.com"}}, "spec": {{"group": "example.com", "scope": "Namespaced",
        "names": {{"plural": "foos", "kind": "Foo"}}, "versions": [{{"name": "v1", "served": true, "storage": true {more},
        "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {{"spec": {spec}}}}}}}}}]}}}}"#
    );
    post(&format!("{DEFINITIONS}?dryRun=All"), "application/json", body)
}

fn rule(rule: &str) -> TestRequest {
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"x": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]});
    crd_request(&spec.to_string(), "")
}

fn nest(before: &str, inner: &str, after: &str, times: usize) -> String {
    format!("{}{inner}{}", before.repeat(times), after.repeat(times))
}

fn field_chain_request(part: &str, times: usize) -> TestRequest {
    rule(&format!("self.x{} > 0", part.repeat(times)))
}

fn pattern(pattern: &str) -> TestRequest {
    crd_request(&json!({"type": "string", "pattern": pattern}).to_string(), "")
}

fn column(path: &str) -> TestRequest {
    let columns = json!([{"name": "c", "type": "string", "jsonPath": path}]);
    crd_request(
        r#"{"type": "object"}"#,
        &format!(r#", "additionalPrinterColumns": {columns}"#),
    )
}

fn policy(expression: &str) -> TestRequest {
    let object = json!({"metadata": {"name": "p"}, "spec": {"validations": [{"expression": expression}],
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}]}}});
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All";
    post(path, "application/json", object.to_string())
}

/// Wraps `reversed` in a length-delimited protobuf field. All bytes are in reverse order, so that deep nesting takes linear time.
fn wrap(reversed: &mut Vec<u8>, before: &[u8], number: usize) {
    reversed.extend(before.iter().rev());
    let head = [varint(number << 3 | 2), varint(reversed.len())].concat();
    reversed.extend(head.iter().rev());
}

/// Wraps a protobuf message in the envelope of API objects (`runtime.Unknown`).
fn envelope(reversed: &mut Vec<u8>, version: &str, kind: &str) {
    let (version_field, kind_field) = (
        [&[10, version.len() as u8], version.as_bytes()],
        [&[18, kind.len() as u8], kind.as_bytes()],
    );
    let type_meta = [version_field.concat(), kind_field.concat()].concat();
    wrap(reversed, &[], 2);
    reversed.extend(
        [&b"k8s\0\x0a"[..], &varint(type_meta.len()), &type_meta]
            .concat()
            .iter()
            .rev(),
    );
}

fn protobuf(path: &str, version: &str, kind: &str, mut reversed: Vec<u8>) -> TestRequest {
    envelope(&mut reversed, version, kind);
    reversed.reverse();
    post(path, "application/vnd.kubernetes.protobuf", reversed)
}

/// A CustomResourceDefinition in protobuf whose schema is nested `times` times in field `number`. `key`: the map key, if the field is a
/// map.
fn protobuf_definition(times: usize, number: usize, key: Option<&[u8]>) -> TestRequest {
    let mut reversed = Vec::new();
    for _ in 0..times {
        match key {
            // A map entry: the key, and the schema as field 2.
            Some(key) => {
                wrap(&mut reversed, &[], 2);
                wrap(&mut reversed, key, number);
            }
            None => wrap(&mut reversed, &[], number),
        }
    }
    // Field numbers of CustomResourceValidation.openAPIV3Schema, CustomResourceDefinitionVersion.schema, spec.versions and spec.
    for number in [1, 4, 7, 2] {
        wrap(&mut reversed, &[], number);
    }
    protobuf(
        &format!("{DEFINITIONS}?dryRun=All"),
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        reversed,
    )
}

/// A ConfigMap in protobuf whose encoded message consists of these bytes.
fn protobuf_map(mut bytes: Vec<u8>) -> TestRequest {
    bytes.reverse();
    protobuf(MAPS, "v1", "ConfigMap", bytes)
}

/// ControllerRevisions in protobuf, each nested in the `data` of the next ControllerRevision.
fn protobuf_envelopes(times: usize) -> TestRequest {
    let mut reversed = Vec::new();
    for _ in 0..times {
        envelope(&mut reversed, "apps/v1", "ControllerRevision");
        wrap(&mut reversed, &[], 1);
        wrap(&mut reversed, &[], 2);
    }
    protobuf(
        "/apis/apps/v1/namespaces/default/controllerrevisions",
        "apps/v1",
        "ControllerRevision",
        reversed,
    )
}

/// JSON patch operations, each of which nests `data` of a ConfigMap one level deeper.
fn nesting_patch(times: usize) -> String {
    let one = json!([{"op": "add", "path": "/t", "value": {}}, {"op": "move", "from": "/data", "path": "/t/d"},
        {"op": "move", "from": "/t", "path": "/data"}]);
    let one = one.to_string();
    let first = json!({"op": "add", "path": "/data", "value": {}}).to_string();
    format!(
        "[{first},{}]",
        vec![one.trim_matches(['[', ']']); times].join(",")
    )
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const CODES: &[u16] = &[200, 201, 400, 404, 413, 414, 415, 422, 431, 500];

/// Names of the inputs that are invalid at every size.
const INVALID: &[&str] = &[
    "YAML aliases",
    "JSON patch moves",
    "protobuf groups",
    "protobuf varint",
    "protobuf lengths",
];

/// For every parser, inputs that make it recurse or allocate.
const INPUTS: &[Input] = &[
    ("CEL +", |n| field_chain_request("+1", n)),
    ("CEL *", |n| field_chain_request("*1", n)),
    ("CEL member", |n| field_chain_request(".a", n)),
    ("CEL index", |n| field_chain_request("[0]", n)),
    ("CEL call", |n| field_chain_request(".size()", n)),
    ("CEL relation", |n| rule(&format!("1{}", " == 1".repeat(n)))),
    ("CEL in", |n| rule(&format!("1{}", " in [1]".repeat(n)))),
    ("CEL in, after numbers", |n| {
        rule(&format!("1{}", "in 1".repeat(n)))
    }),
    ("CEL after a name that seems a comment", |n| {
        rule(&format!("self.`a//b`{} > 0", "+1".repeat(n)))
    }),
    ("CEL after a string without an end", |n| {
        rule(&format!("'\\q 1{}", "+1".repeat(n)))
    }),
    ("CEL not", |n| rule(&format!("{}true", "!".repeat(n)))),
    ("CEL minus", |n| rule(&format!("{}1 == 1", "-".repeat(n)))),
    ("CEL and", |n| rule(&format!("true{}", " && true".repeat(n)))),
    ("CEL or", |n| rule(&format!("true{}", " || true".repeat(n)))),
    ("CEL conditional", |n| {
        rule(&format!("{}true", "true ? true : ".repeat(n)))
    }),
    ("CEL parentheses", |n| rule(&nest("(", "true", ")", n))),
    ("CEL list", |n| rule(&format!("{} == []", nest("[", "", "]", n)))),
    ("CEL map", |n| {
        rule(&format!("{} == {{}}", nest("{1: ", "1", "}", n)))
    }),
    ("CEL function", |n| {
        rule(&nest("int(", "1", ") == 1", 1).replace("int(", &"int(".repeat(n)))
    }),
    ("CEL macro", |n| rule(&nest("[1].all(x, ", "true", ")", n))),
    ("CEL wide list", |n| rule(&format!("[{}] == []", "1,".repeat(n)))),
    ("CEL string", |n| rule(&format!("'{}' == ''", "x".repeat(n)))),
    ("CEL of a policy", |n| {
        policy(&format!("object.a{} == 1", ".a".repeat(n)))
    }),
    ("schema properties", |n| {
        crd_request(
            &nest(
                r#"{"type": "object", "properties": {"a": "#,
                r#"{"type": "string"}"#,
                "}}",
                n,
            ),
            "",
        )
    }),
    ("schema items", |n| {
        crd_request(
            &nest(r#"{"type": "array", "items": "#, r#"{"type": "string"}"#, "}", n),
            "",
        )
    }),
    ("schema allOf", |n| {
        crd_request(&nest(r#"{"allOf": ["#, "{}", "]}", n), "")
    }),
    ("schema not", |n| {
        crd_request(&nest(r#"{"not": "#, "{}", "}", n), "")
    }),
    ("schema default", |n| {
        crd_request(
            &format!(r#"{{"type": "object", "default": {}}}"#, nest("[", "", "]", n)),
            "",
        )
    }),
    ("pattern groups", |n| pattern(&nest("(", "a", ")", n))),
    ("pattern classes", |n| pattern(&nest("[", "a", "]", n))),
    ("pattern repetitions", |n| {
        pattern(&format!("{}a{}", "(".repeat(n.min(40)), "){9}".repeat(n.min(40))))
    }),
    ("JSONPath filters", |n| {
        column(&format!(".a{}", nest("[?(@.a", "", " == 1)]", n)))
    }),
    ("JSONPath members", |n| column(&".a".repeat(n))),
    ("JSONPath descent", |n| column(&"..a".repeat(n))),
    ("JSON arrays", |n| post(MAPS, JSON, nest("[", "", "]", n))),
    ("JSON objects", |n| {
        post(MAPS, JSON, nest(r#"{"a":"#, "1", "}", n))
    }),
    ("YAML flow", |n| post(MAPS, YAML, nest("[", "", "]", n))),
    ("YAML blocks", |n| {
        post(MAPS, YAML, format!("{}a", "- ".repeat(n)))
    }),
    ("YAML aliases", |n| post(MAPS, YAML, aliases(n.min(40)))),
    ("merge patch", |n| {
        patch("application/merge-patch+json", nest(r#"{"a":"#, "1", "}", n))
    }),
    ("strategic patch", |n| {
        patch(
            "application/strategic-merge-patch+json",
            nest(r#"{"a":"#, "1", "}", n),
        )
    }),
    ("apply patch", |n| {
        patch("application/apply-patch+yaml", nest("{a: ", "1", "}", n))
    }),
    ("JSON patch", |n| {
        patch(
            "application/json-patch+json",
            json!([{"op": "add", "path": "/a".repeat(n), "value": 1}]).to_string(),
        )
    }),
    ("JSON patch operations", |n| {
        patch(
            "application/json-patch+json",
            json!(vec![
                json!({"op": "test", "path": "/data", "value": null});
                n.min(20_000)
            ])
            .to_string(),
        )
    }),
    ("JSON patch moves", |n| {
        patch("application/json-patch+json", nesting_patch(n.min(3_300)))
    }),
    ("protobuf messages", |n| protobuf_definition(n, 28, None)),
    ("protobuf map entries", |n| {
        protobuf_definition(n, 29, Some(b"\x0a\x01a"))
    }),
    ("protobuf envelopes", protobuf_envelopes),
    ("protobuf groups", |n| protobuf_map([0xa3, 6].repeat(n))),
    ("protobuf varint", |n| {
        protobuf_map([vec![0x80; n], vec![1]].concat())
    }),
    ("protobuf lengths", |n| {
        protobuf_map([vec![0x12], varint(usize::MAX >> n.min(40))].concat())
    }),
    ("protobuf empty entries", |n| {
        protobuf_map([0x12, 0].repeat(10 * n))
    }),
    ("label selector", |n| {
        get(format!("{MAPS}?labelSelector=a{}", ",a".repeat(n)))
    }),
    ("label values", |n| {
        get(format!("{MAPS}?labelSelector=a+in+(b{})", ",b".repeat(n)))
    }),
    ("field selector", |n| {
        get(format!(
            "{MAPS}?fieldSelector=metadata.name%3da{}",
            ",metadata.name%3da".repeat(n)
        ))
    }),
    ("path", |n| get("/a".repeat(n))),
    ("continue token", |n| {
        get(format!("{MAPS}?limit=1&continue={}", "a".repeat(n)))
    }),
    ("quantity", |n| {
        post(
            "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities?dryRun=All",
            JSON,
            json!({"metadata": {"name": "a"}, "storageClassName": "c", "capacity": "9".repeat(n)})
                .to_string(),
        )
    }),
];

/// YAML aliases, each of which expands to nine copies of the previous alias.
fn aliases(levels: usize) -> String {
    let mut text = "a0: &a0 x\n".to_owned();
    for level in 1..=levels {
        let before = format!("*a{}", level - 1);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", vec![before; 9].join(", ")));
    }
    text
}

async fn send_and_check(wire: &TestServer, input: &Input, size: usize) -> Result<u16, String> {
    let sent = (input.1)(size);
    let (method, headers) = (sent.method, [("content-type", sent.media_type)]);
    let answer = wire.send(method, &sent.path, &headers, sent.body).await;
    let is_expected = CODES.contains(&answer.code) && (answer.code >= 400 || !INVALID.contains(&input.0));
    match is_expected {
        true => Ok(answer.code),
        false => Err(format!("{} of {size}: {} {}", input.0, answer.code, answer.text)),
    }
}

#[test]
fn deep_wide_and_long_inputs_get_a_response() {
    for input in INPUTS {
        // A stack overflow aborts the process and prints the name of the thread.
        let thread = std::thread::Builder::new()
            .name(input.0.to_owned())
            .stack_size(STACK);
        let ended = thread
            .spawn(|| all_sizes(input))
            .expect("the operating system starts a thread")
            .join();
        assert!(ended.is_ok(), "{}", input.0);
    }
}

fn all_sizes(input: &Input) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the runtime starts").block_on(async {
        let wire = TestServer::start().await;
        wire.create(MAPS, json!({"metadata": {"name": "a"}})).await;
        for size in SIZES {
            let code = send_and_check(&wire, input, size).await;
            assert!(code.is_ok(), "{code:?}");
            assert_eq!(wire.get(&format!("{MAPS}/a")).await.code, 200);
        }
    });
}

/// The parser of stored objects accepts 127 levels of nesting. `managedFields` nest five levels deeper than the fields that they describe.
#[tokio::test]
async fn objects_nested_too_deep_to_be_decoded_are_not_stored() {
    let wire = TestServer::start().await;
    const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";
    const PATCH: &str = "application/json-patch+json";
    let send = async |method: &str, path: &str, media_type: &str, body: Vec<u8>| {
        let headers = [("content-type", media_type)];
        wire.send(method, path, &headers, body).await.code
    };
    let definition = crd_request(
        r#"{"type": "object", "x-kubernetes-preserve-unknown-fields": true}"#,
        "",
    );
    assert_eq!(send("POST", DEFINITIONS, JSON, definition.body).await, 201);
    let foo = format!("{FOOS}/a");
    for (levels, patched) in [(122, 200), (124, 422), (125, 422)] {
        let spec = nest(r#"{"a":"#, "{}", "}", levels);
        let head = r#""apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}"#;
        let object = format!(r#"{{{head}, "spec": {spec}}}"#);
        assert_eq!(send("POST", FOOS, JSON, object.into()).await, 201, "{levels}");
        let accept = [("accept", "application/json;as=Table;g=meta.k8s.io;v=v1")];
        let table = wire
            .send("GET", &format!("{FOOS}?includeObject=Object"), &accept, "")
            .await;
        assert_eq!(table.code, 200, "{levels}");
        let path = format!("/spec{}/b", "/a".repeat(levels));
        let deeper = json!([{"op": "add", "path": path, "value": {"c": {}}}]).to_string();
        assert_eq!(
            send("PATCH", &foo, PATCH, deeper.into()).await,
            patched,
            "{levels}"
        );
        let deeper = nesting_patch(3_300).replace("/data", "/spec");
        assert_eq!(send("PATCH", &foo, PATCH, deeper.into()).await, 422, "{levels}");
        assert_eq!(send("DELETE", &foo, JSON, Vec::new()).await, 200, "{levels}");
    }
}
