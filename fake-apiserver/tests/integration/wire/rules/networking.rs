//! Ingresses and their classes, network policies, addresses and ranges of services.

use super::super::client::Wire;
use super::{change_faults, create_faults, faults, warnings};
use serde_json::{Value, json};

const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const CLASSES: &str = "/apis/networking.k8s.io/v1/ingressclasses";
const POLICIES: &str = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";
const RANGES: &str = "/apis/networking.k8s.io/v1/servicecidrs";
const NO_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

fn object(spec: &Value) -> Value {
    json!({"metadata": {"name": "a"}, "spec": spec})
}

#[tokio::test]
async fn an_ingress_leads_somewhere() {
    let wire = Wire::start().await;
    assert_eq!(
        create_faults(&wire, INGRESSES, object(&json!({}))).await,
        ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]
    );
    let service = |port: Value| json!({"service": {"name": "s", "port": port}});
    let path = |of: &str, path: &str| json!({"pathType": of, "path": path, "backend": service(json!({"number": 80}))});
    let paths = json!([
        {"path": "/", "backend": service(json!({"number": 80}))},
        path("Exact", "a//b/.."),
        path("Prefix", ""),
        path("ImplementationSpecific", "a"),
        path("Odd", "/"),
        {"pathType": "Exact", "path": "/", "backend": {}},
    ]);
    let rules =
        json!([{"host": "10.0.0.1", "http": {"paths": []}}, {"host": "a.*.com"}, {"http": {"paths": paths}}]);
    let both =
        json!({"service": {"name": "s", "port": {"number": 1}}, "resource": {"kind": "k", "name": "n"}});
    let spec = json!({
        "defaultBackend": both, "rules": rules, "ingressClassName": "A",
        "tls": [{"hosts": ["*.example.com", "A"], "secretName": "S"}],
    });
    let found = create_faults(&wire, INGRESSES, object(&spec)).await;
    let at = "spec.rules[2].http.paths";
    let wildcard = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
        consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
        '*.example.com', regex used for validation is \
        '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    assert_eq!(
        found[..12],
        [
            "spec.defaultBackend: Invalid value: \"\": cannot set both resource and service backends"
                .to_owned(),
            "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address"
                .to_owned(),
            "spec.rules[0].http.paths: Required value".to_owned(),
            format!("spec.rules[1].host: Invalid value: \"a.*.com\": {wildcard}"),
            format!("{at}[0].pathType: Required value: pathType must be specified"),
            format!("{at}[1].path: Invalid value: \"a//b/..\": must be an absolute path"),
            format!("{at}[1].path: Invalid value: \"a//b/..\": must not contain '//'"),
            format!("{at}[1].path: Invalid value: \"a//b/..\": cannot end with '/..'"),
            format!("{at}[2].path: Invalid value: \"\": must be an absolute path"),
            format!("{at}[3].path: Invalid value: \"a\": must be an absolute path"),
            format!(
                "{at}[4].pathType: Unsupported value: \"Odd\": supported values: \"Exact\", \"ImplementationSpecific\", \
                 \"Prefix\""
            ),
            format!("{at}[5].backend: Invalid value: \"\": resource or service backend is required"),
        ]
    );
    let begins = [
        "spec.tls[0].hosts[1]: Invalid value: \"A\": a lowercase RFC 1123 subdomain",
        "spec.tls[0].secretName: Invalid value: \"S\": a lowercase RFC 1123 subdomain",
        "spec.ingressClassName: Invalid value: \"A\": a lowercase RFC 1123 subdomain",
    ];
    assert_eq!(found.len(), 12 + begins.len(), "{found:?}");
    for (fault, begin) in found[12..].iter().zip(begins) {
        assert!(fault.starts_with(begin), "{fault}");
    }
}

#[tokio::test]
async fn a_backend_has_a_name_and_one_port() {
    let wire = Wire::start().await;
    let at = "spec.defaultBackend";
    for (backend, expected) in [
        (
            json!({"service": {"name": "", "port": {}}}),
            vec![
                format!("{at}.service.name: Required value"),
                format!("{at}: Required value: port name or number is required"),
            ],
        ),
        (
            json!({"service": {"name": "1a", "port": {"number": 70_000}}}),
            vec![format!(
                "{at}.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive"
            )],
        ),
        (
            json!({"service": {"name": "a.b", "port": {"name": "80"}}}),
            vec![
                format!("{at}.service.name: Invalid value: \"a.b\": must not contain dots"),
                format!(
                    "{at}.service.port.name: Invalid value: \"80\": must contain at least one letter (a-z)"
                ),
            ],
        ),
        (
            json!({"service": {"name": "a", "port": {"name": "a", "number": 1}}}),
            vec![format!(
                "{at}: Invalid value: \"\": cannot set both port name & port number"
            )],
        ),
        (
            json!({"resource": {"kind": "", "name": "a/b"}}),
            vec![
                format!("{at}.resource.kind: Required value"),
                format!("{at}.resource.name: Invalid value: \"a/b\": may not contain '/'"),
            ],
        ),
    ] {
        let body = object(&json!({"defaultBackend": backend}));
        assert_eq!(create_faults(&wire, INGRESSES, body).await, expected, "{backend}");
    }
}

#[tokio::test]
async fn an_ingress_has_one_class_and_a_status_of_its_own() {
    let wire = Wire::start().await;
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    let mut body = object(&json!({"defaultBackend": backend, "ingressClassName": "b"}));
    body["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "c"});
    assert_eq!(
        create_faults(&wire, INGRESSES, body.clone()).await,
        [
            "annotations.kubernetes.io/ingress.class: Invalid value: \"c\": must match `ingressClassName` when both are \
          specified"
        ]
    );
    body["spec"] = json!({"defaultBackend": backend});
    let made = wire.post(INGRESSES, body).await;
    assert_eq!(
        warnings(&made),
        [
            "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"
        ]
    );
    let path = format!("{INGRESSES}/a");
    assert_eq!(
        change_faults(&wire, &path, json!({"spec": {"defaultBackend": null}})).await,
        ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]
    );
    let status = |entries: Value| json!({"status": {"loadBalancer": {"ingress": entries}}});
    let odd = status(json!([{"ip": "10.0.0"}, {"hostname": "10.0.0.1"}, {"hostname": "a.example.com"}]));
    assert_eq!(
        change_faults(&wire, &format!("{path}/status"), odd).await,
        [
            "status.loadBalancer.ingress[0].ip: Invalid value: \"10.0.0\": must be a valid IP address, (e.g. 10.9.8.7 \
             or 2001:db8::ffff)",
            "status.loadBalancer.ingress[1].hostname: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address",
        ]
    );
    let told = wire
        .merge(&format!("{path}/status"), status(json!([{"ip": "2001:DB8::1"}])))
        .await;
    assert_eq!(
        (told.code, warnings(&told)),
        (
            200,
            vec![
                "status.loadBalancer.ingress[0]: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format \
                 (\"2001:db8::1\")"
                    .to_owned()
            ]
        )
    );
    let changed = wire
        .merge(&path, json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    assert_eq!(changed.body["metadata"]["generation"], 1);
}

#[tokio::test]
async fn a_class_names_its_controller_for_good() {
    let wire = Wire::start().await;
    for (spec, expected) in [
        (json!({}), vec!["spec.controller: Required value"]),
        (
            json!({"controller": "example.com"}),
            vec![
                "spec.controller: Invalid value: \"example.com\": must be a domain-prefixed path (such as \
                 \"acme.io/foo\")",
            ],
        ),
        (
            json!({"controller": "example.com/a b"}),
            vec![
                "spec.controller: Invalid value: \"a b\": Invalid path (regex used for validation is \
                 '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
            ],
        ),
        (
            json!({"controller": "example.com/a", "parameters": {"kind": "", "name": "", "scope": "Odd"}}),
            vec![
                "spec.parameters.kind: Required value",
                "spec.parameters.name: Required value",
                "spec.parameters.scope: Unsupported value: \"Odd\": supported values: \"Cluster\", \"Namespace\"",
            ],
        ),
        (
            json!({"controller": "example.com/a", "parameters": {"kind": "k", "name": "n", "scope": "Namespace"}}),
            vec!["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
        ),
        (
            json!({"controller": "example.com/a", "parameters": {"kind": "k", "name": "n", "namespace": "m"}}),
            vec!["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
        ),
    ] {
        assert_eq!(
            create_faults(&wire, CLASSES, object(&spec)).await,
            expected,
            "{spec}"
        );
    }
    let spec = json!({"controller": "example.com/a", "parameters": {"kind": "k", "name": "n"}});
    let made = wire.create(CLASSES, object(&spec)).await;
    assert_eq!(made["spec"]["parameters"]["scope"], "Cluster");
    assert_eq!(
        change_faults(
            &wire,
            &format!("{CLASSES}/a"),
            json!({"spec": {"controller": "b"}})
        )
        .await,
        [
            "spec.controller: Invalid value: \"b\": field is immutable",
            "spec.controller: Invalid value: \"b\": must be a domain-prefixed path (such as \"acme.io/foo\")",
        ]
    );
}

#[tokio::test]
async fn the_ports_and_peers_of_a_policy_are_judged() {
    let wire = Wire::start().await;
    let ports = json!([
        {"port": 0, "protocol": "X"}, {"port": 10, "endPort": 9}, {"port": "80", "endPort": 81}, {"endPort": 1},
    ]);
    let block = |cidr: &str, except: Value| json!({"ipBlock": {"cidr": cidr, "except": except}});
    let mut two = block(
        "10.0.0.0/8",
        json!(["10.0.0.0/8", "11.0.0.0/16", "10.1.0.1/16", "x"]),
    );
    two["podSelector"] = json!({});
    let peers = json!([{}, block("", json!([])), block("10.0.0.0", json!([])), two]);
    let selector = json!({"matchExpressions": [{"key": "k", "operator": "Odd"}]});
    let spec = json!({
        "podSelector": selector, "ingress": [{"ports": ports}], "egress": [{"to": peers}],
        "policyTypes": ["Ingress", "Odd"],
    });
    let to = "spec.egress[0].to";
    assert_eq!(
        create_faults(&wire, POLICIES, object(&spec)).await,
        [
            "spec.podSelector.matchExpressions[0].operator: Invalid value: \"Odd\": not a valid selector operator"
                .to_owned(),
            "spec.ingress[0].ports[0].protocol: Unsupported value: \"X\": supported values: \"TCP\", \"UDP\", \"SCTP\""
                .to_owned(),
            "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive".to_owned(),
            "spec.ingress[0].ports[1].endPort: Invalid value: 10: must be greater than or equal to `port`".to_owned(),
            "spec.ingress[0].ports[2].endPort: Invalid value: 81: may not be specified when `port` is non-numeric"
                .to_owned(),
            "spec.ingress[0].ports[2].port: Invalid value: \"80\": must contain at least one letter (a-z)".to_owned(),
            "spec.ingress[0].ports[3].endPort: Invalid value: 1: may not be specified when `port` is not specified"
                .to_owned(),
            format!("{to}[0]: Required value: must specify a peer"),
            format!("{to}[1].ipBlock.cidr: Required value"),
            format!("{to}[2].ipBlock.cidr: Invalid value: \"10.0.0.0\": {NO_CIDR}"),
            format!("{to}[3].ipBlock.except[0]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`"),
            format!("{to}[3].ipBlock.except[1]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`"),
            format!(
                "{to}[3].ipBlock.except[2]: Invalid value: \"10.1.0.1/16\": must not have bits set beyond the prefix \
                 length"
            ),
            format!("{to}[3].ipBlock.except[3]: Invalid value: \"x\": {NO_CIDR}"),
            format!("{to}[3]: Forbidden: may not specify both ipBlock and another peer"),
            "spec.policyTypes[1]: Unsupported value: \"Odd\": supported values: \"Ingress\", \"Egress\"".to_owned(),
        ]
    );
    let three = json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]});
    assert_eq!(
        create_faults(&wire, POLICIES, object(&three)).await,
        [
            "spec.policyTypes: Invalid value: [\"Ingress\",\"Egress\",\"Ingress\"]: may not specify more than two policyTypes"
        ]
    );
}

#[tokio::test]
async fn a_policy_defaults_protocols_and_types() {
    let wire = Wire::start().await;
    let egress = json!([{"ports": [{"port": 53}], "to": [{"ipBlock": {"cidr": "2001:DB8::/32"}}]}]);
    let spec = json!({"podSelector": {}, "egress": egress, "policyTypes": []});
    let made = wire.post(POLICIES, object(&spec)).await;
    let spec = &made.body["spec"];
    assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
    assert_eq!(
        spec["egress"][0]["ports"],
        json!([{"port": 53, "protocol": "TCP"}])
    );
    assert_eq!(
        warnings(&made),
        [
            "spec.egress[0].to[0].ipBlock.cidr: IPv6 CIDR value \"2001:DB8::/32\" should be in RFC 5952 canonical format \
          (\"2001:db8::/32\")"
        ]
    );
}

#[tokio::test]
async fn an_address_belongs_to_its_parent_for_good() {
    let wire = Wire::start().await;
    let named = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    assert_eq!(
        create_faults(&wire, ADDRESSES, named("2001:DB8::1", json!({}))).await,
        [
            "metadata.name: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")",
            "spec.parentRef: Required value",
        ]
    );
    let parent = json!({"group": "A", "resource": "", "name": "a/b", "namespace": ".."});
    let found = create_faults(&wire, ADDRESSES, named("10.0.0.1", json!({"parentRef": parent}))).await;
    assert!(
        found[0].starts_with("spec.parentRef.group: Invalid value: \"A\": a lowercase RFC 1123 subdomain")
    );
    assert_eq!(
        found[1..],
        [
            "spec.parentRef.resource: Required value",
            "spec.parentRef.name: Invalid value: \"a/b\": may not contain '/'",
            "spec.parentRef.namespace: Invalid value: \"..\": may not be '..'",
        ]
    );
    let parent = json!({"resource": "services", "name": "a", "namespace": "b"});
    wire.create(ADDRESSES, named("10.0.0.1", json!({"parentRef": parent})))
        .await;
    let change = json!({"spec": {"parentRef": {"name": "c"}}});
    assert_eq!(
        change_faults(&wire, &format!("{ADDRESSES}/10.0.0.1"), change).await,
        [
            "spec.parentRef: Invalid value: {\"Group\":\"\",\"Resource\":\"services\",\"Namespace\":\"b\",\"Name\":\"c\"}: \
          field is immutable"
        ]
    );
}

#[tokio::test]
async fn ranges_may_only_get_a_second_family() {
    let wire = Wire::start().await;
    let ranges = |all: Value| object(&json!({"cidrs": all}));
    for (all, expected) in [
        (json!([]), vec!["spec.cidrs: Required value: at least one CIDR required".to_owned()]),
        (
            json!(["a", "b", "c"]),
            vec!["spec.cidrs: Invalid value: {\"CIDRs\":[\"a\",\"b\",\"c\"]}: may only hold up to 2 values".to_owned()],
        ),
        (
            json!(["10.0.0.1/8", "x"]),
            vec![
                "spec.cidrs[0]: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the prefix length".to_owned(),
                format!("spec.cidrs[1]: Invalid value: \"x\": {NO_CIDR}"),
            ],
        ),
        (
            json!(["10.0.0.0/8", "11.0.0.0/8"]),
            vec![
                "spec.cidrs: Invalid value: [\"10.0.0.0/8\",\"11.0.0.0/8\"]: may specify no more than one IP for each IP \
                 family, i.e 192.168.0.0/24 and 2001:db8::/64"
                    .to_owned(),
            ],
        ),
    ] {
        assert_eq!(create_faults(&wire, RANGES, ranges(all.clone())).await, expected, "{all}");
    }
    wire.create(RANGES, ranges(json!(["10.0.0.0/24"]))).await;
    let path = format!("{RANGES}/a");
    assert_eq!(
        change_faults(&wire, &path, json!({"spec": {"cidrs": ["10.0.1.0/24"]}})).await,
        ["spec.cidrs[0]: Invalid value: \"10.0.1.0/24\": field is immutable"]
    );
    let grown = wire
        .merge(
            &path,
            json!({"spec": {"cidrs": ["10.0.0.0/24", "2001:db8::/64"]}}),
        )
        .await;
    assert_eq!(grown.code, 200, "{}", grown.text);
    let mut status = grown.body;
    status["metadata"]["labels"] = json!({"a": "b"});
    let put = wire.put(&format!("{path}/status"), status).await;
    assert_eq!(put.body["metadata"].get("labels"), None, "{}", put.text);
    let gone = faults(&wire.merge(&path, json!({"spec": null})).await);
    assert_eq!(gone, ["spec.cidrs: Invalid value: null: field is immutable"]);
}
