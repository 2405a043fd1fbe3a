//! Endpoints and endpoint slices.

use super::super::client::Wire;
use super::{change_faults, create_faults, warnings};
use serde_json::{Value, json};

const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
    and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NO_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

fn endpoints(subset: &Value) -> Value {
    json!({"metadata": {"name": "a"}, "subsets": [subset]})
}

fn slice(family: &str, endpoint: &Value) -> Value {
    json!({"metadata": {"name": "a"}, "addressType": family, "endpoints": [endpoint], "ports": []})
}

#[tokio::test]
async fn subsets_have_addresses_and_ports() {
    let wire = Wire::start().await;
    let subset =
        json!({"ports": [{"port": 0, "name": "A"}, {"port": 65536, "protocol": "X", "appProtocol": "/"}]});
    assert_eq!(
        create_faults(&wire, ENDPOINTS, endpoints(&subset)).await,
        [
            "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
            &format!("subsets[0].ports[0].name: Invalid value: \"A\": {LABEL}"),
            "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "subsets[0].ports[1].name: Required value",
            "subsets[0].ports[1].port: Invalid value: 65536: must be between 1 and 65535, inclusive",
            "subsets[0].ports[1].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            "subsets[0].ports[1].appProtocol: Invalid value: \"/\": prefix part must be non-empty",
            "subsets[0].ports[1].appProtocol: Invalid value: \"/\": name part must be non-empty",
            "subsets[0].ports[1].appProtocol: Invalid value: \"/\": name part must consist of alphanumeric characters, \
             '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
             '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ]
    );
    let addresses = json!([
        {"ip": "here", "hostname": "a.b"}, {"ip": "0.0.0.0"}, {"ip": "010.0.0.1"}, {"ip": "::ffff:10.0.0.1"}
    ]);
    let subset =
        json!({"addresses": addresses, "notReadyAddresses": [{"ip": "169.254.0.1"}, {"ip": "224.0.0.7"}]});
    assert_eq!(
        create_faults(&wire, ENDPOINTS, endpoints(&subset)).await,
        [
            &format!("subsets[0].addresses[0].ip: Invalid value: \"here\": {NO_IP}"),
            "subsets[0].addresses[0].hostname: Invalid value: \"a.b\": must not contain dots",
            "subsets[0].addresses[0].ip: Invalid value: \"here\": must be a valid IP address",
            "subsets[0].addresses[1].ip: Invalid value: \"0.0.0.0\": may not be unspecified (0.0.0.0)",
            "subsets[0].addresses[2].ip: Invalid value: \"010.0.0.1\": must not have leading 0s",
            "subsets[0].addresses[3].ip: Invalid value: \"::ffff:10.0.0.1\": must not be an IPv4-mapped IPv6 address",
            "subsets[0].notReadyAddresses[0].ip: Invalid value: \"169.254.0.1\": may not be in the link-local range \
             (169.254.0.0/16, fe80::/10)",
            "subsets[0].notReadyAddresses[1].ip: Invalid value: \"224.0.0.7\": may not be in the link-local multicast \
             range (224.0.0.0/24, ff02::/10)",
        ]
    );
}

#[tokio::test]
async fn endpoints_default_their_protocol_and_warn_of_odd_addresses() {
    let wire = Wire::start().await;
    let subset = json!({"addresses": [{"ip": "2001:DB8::1"}], "ports": [{"port": 80}]});
    let made = wire.post(ENDPOINTS, endpoints(&subset)).await;
    assert_eq!(
        (made.code, &made.body["subsets"][0]["ports"][0]["protocol"]),
        (201, &json!("TCP"))
    );
    let told = "subsets[0].addresses[0].ip: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format \
        (\"2001:db8::1\")";
    assert!(
        warnings(&made).contains(&told.to_owned()),
        "{:?}",
        warnings(&made)
    );
    let change = json!({"subsets": [{"addresses": [{"ip": ""}]}]});
    assert_eq!(
        change_faults(&wire, &format!("{ENDPOINTS}/a"), change).await,
        [
            &format!("subsets[0].addresses[0].ip: Invalid value: \"\": {NO_IP}"),
            "subsets[0].addresses[0].ip: Invalid value: \"\": must be a valid IP address",
        ]
    );
}

#[tokio::test]
async fn the_addresses_of_a_slice_are_of_its_family() {
    let wire = Wire::start().await;
    let none = json!({"metadata": {"name": "a"}, "endpoints": [], "ports": []});
    assert_eq!(
        create_faults(&wire, SLICES, none).await,
        ["addressType: Required value"]
    );
    assert_eq!(
        create_faults(&wire, SLICES, slice("IPv5", &json!({"addresses": []}))).await,
        [
            "addressType: Unsupported value: \"IPv5\": supported values: \"FQDN\", \"IPv4\", \"IPv6\"",
            "endpoints[0].addresses: Required value: must contain at least 1 address",
        ]
    );
    let endpoint = json!({"addresses": ["2001:db8::1", "10.0.0.256", "169.254.1.1"]});
    assert_eq!(
        create_faults(&wire, SLICES, slice("IPv4", &endpoint)).await,
        [
            "endpoints[0].addresses: Invalid value: \"2001:db8::1\": must be an IPv4 address",
            &format!("endpoints[0].addresses[1]: Invalid value: \"10.0.0.256\": {NO_IP}"),
            "endpoints[0].addresses[2]: Invalid value: \"169.254.1.1\": may not be in the link-local range \
             (169.254.0.0/16, fe80::/10)",
        ]
    );
    let endpoint = json!({"addresses": ["2001:DB8::1", "10.0.0.1"]});
    assert_eq!(
        create_faults(&wire, SLICES, slice("IPv6", &endpoint)).await,
        [
            "endpoints[0].addresses[0]: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")",
            "endpoints[0].addresses: Invalid value: \"10.0.0.1\": must be an IPv6 address",
        ]
    );
    let endpoint = json!({"addresses": ["", "example", "example.com."]});
    assert_eq!(
        create_faults(&wire, SLICES, slice("FQDN", &endpoint)).await,
        [
            "endpoints[0].addresses[0]: Required value",
            "endpoints[0].addresses[1]: Invalid value: \"example\": should be a domain with at least two segments \
             separated by dots",
        ]
    );
    let many = vec!["10.0.0.1"; 101];
    assert_eq!(
        create_faults(&wire, SLICES, slice("IPv4", &json!({"addresses": many}))).await,
        ["endpoints[0].addresses: Too many: 101: must have at most 100 items"]
    );
}

#[tokio::test]
async fn the_parts_of_an_endpoint_are_names() {
    let wire = Wire::start().await;
    let hints = json!({"forZones": [{"name": "a"}, {"name": "a"}, {"name": "b c"}], "forNodes": [{"name": "n"}, {"name": "n"}]});
    let endpoint = json!({"addresses": ["10.0.0.1"], "hostname": "a.b", "hints": hints});
    let mut body = slice("IPv4", &endpoint);
    body["ports"] = json!([{"name": "A"}, {"port": 1}, {"port": 2, "protocol": "X"}]);
    let found = create_faults(&wire, SLICES, body).await;
    assert_eq!(
        found[..5],
        [
            &format!("ports[0].name: Invalid value: \"A\": {LABEL}"),
            "ports[2].name: Duplicate value: \"\"",
            "ports[2].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            "endpoints[0].hostname: Invalid value: \"a.b\": must not contain dots",
            "endpoints[0].hints.forZones[1].name: Duplicate value: \"a\"",
        ]
    );
    assert!(
        found[5].starts_with(
            "endpoints[0].hints.forZones[2].name: Invalid value: \"b c\": a valid label must be"
        )
    );
    assert_eq!(
        found[6..],
        ["endpoints[0].hints.forNodes[1].name: Duplicate value: \"n\""]
    );
}

#[tokio::test]
async fn a_slice_keeps_its_family_and_counts_its_generations() {
    let wire = Wire::start().await;
    let endpoint = json!({"addresses": ["10.0.0.1"], "deprecatedTopology": {"a": "b"}});
    let mut body = slice("IPv4", &endpoint);
    body["ports"] = json!([{"port": 80}]);
    let made = wire.create(SLICES, body).await;
    assert_eq!(
        made["ports"],
        json!([{"name": "", "port": 80, "protocol": "TCP"}])
    );
    assert_eq!(made["endpoints"][0].get("deprecatedTopology"), None);
    assert_eq!(made["metadata"]["generation"], 1);
    let path = format!("{SLICES}/a");
    let change = json!({"addressType": "FQDN"});
    assert_eq!(
        change_faults(&wire, &path, change).await,
        ["addressType: Invalid value: \"FQDN\": field is immutable"]
    );
    for (change, generation) in [
        (json!({"metadata": {"annotations": {"a": "b"}}}), 1),
        (json!({"metadata": {"labels": {"a": "b"}}}), 2),
        (json!({"ports": [{"port": 81}]}), 3),
    ] {
        let changed = wire.merge(&path, change.clone()).await.body;
        assert_eq!(changed["metadata"]["generation"], generation, "{change}");
    }
    let mut named = slice("FQDN", &json!({"addresses": ["a.example.com"]}));
    named["metadata"]["name"] = json!("b");
    let made = wire.post(SLICES, named).await;
    assert_eq!(
        warnings(&made),
        ["spec.addressType: FQDN endpoints are deprecated"]
    );
}

#[tokio::test]
async fn loopback_addresses_are_those_of_this_machine() {
    let wire = Wire::start().await;
    wire.create(ENDPOINTS, endpoints(&json!({"addresses": [{"ip": "127.0.0.1"}]})))
        .await;
    wire.create(SLICES, slice("IPv6", &json!({"addresses": ["::1"]})))
        .await;
}
