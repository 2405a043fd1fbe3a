//! Patches by example. What the lists of real types do is in the tests on the wire.

use super::{Misuse, apply};
use crate::schema::Type;
use proptest::prelude::*;
use serde_json::{Value, json};

fn patched(kind: &str, object: &Value, patch: &Value) -> Result<Value, Misuse> {
    let mut object = object.clone();
    let of = Type::find("v1", kind).expect("the kind is known");
    apply(of, &mut object, patch).map(|()| object)
}

fn containers(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| json!({"name": name, "image": "old"}))
        .collect()
}

fn pod(names: &[&str]) -> Value {
    json!({"spec": {"containers": containers(names)}})
}

fn order(pod: &Value) -> Vec<&str> {
    pod["spec"]["containers"]
        .as_array()
        .expect("containers are a list")
        .iter()
        .map(|c| c["name"].as_str().expect("they have names"))
        .collect()
}

#[test]
fn lists_of_structs_merge_by_key() {
    let patch = json!({"spec": {"containers": [{"name": "b", "image": "new", "tty": null}]}});
    let after = patched("Pod", &pod(&["a", "b"]), &patch).expect("it applies");
    assert_eq!(
        after,
        json!({"spec": {"containers": [
        {"name": "a", "image": "old"}, {"name": "b", "image": "new"}]}})
    );
}

#[test]
fn new_entries_come_before_those_the_patch_does_not_name() {
    let patch = json!({"spec": {"containers": [{"name": "c"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("it applies")),
        ["c", "a", "b"]
    );
}

#[test]
fn entries_are_deleted_and_lists_replaced() {
    let patch =
        json!({"spec": {"containers": [{"$patch": "delete", "name": "a"}, {"name": "b", "image": "new"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("it applies")),
        ["b"]
    );
    let patch = json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "z"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("it applies")),
        ["z"]
    );
}

#[test]
fn an_order_may_be_set() {
    let patch = json!({"spec": {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        "containers": [{"name": "c", "image": "new"}]}});
    let after = patched("Pod", &pod(&["a", "b"]), &patch).expect("it applies");
    assert_eq!(order(&after), ["c", "a", "b"]);
    let patch = json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("it applies")),
        ["b", "a"]
    );
}

#[test]
fn a_patch_against_its_own_order_is_refused() {
    let patch =
        json!({"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}});
    let refused = patched("Pod", &pod(&["a"]), &patch).expect_err("the list is not in order");
    assert!(matches!(refused, Misuse::Fit(text) if text.starts_with("The order in patch list:")));
}

#[test]
fn lists_of_scalars_are_sets() {
    let object = json!({"metadata": {"finalizers": ["a", "b"]}});
    let patch = json!({"metadata": {"finalizers": ["b", "c"]}});
    assert_eq!(
        patched("ConfigMap", &object, &patch).expect("it applies")["metadata"]["finalizers"],
        json!(["a", "b", "c"])
    );
    let patch = json!({"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["b"]}});
    assert_eq!(
        patched("ConfigMap", &object, &patch).expect("it applies")["metadata"]["finalizers"],
        json!(["b"])
    );
}

#[test]
fn lists_without_a_key_are_replaced() {
    let object = json!({"spec": {"tolerations": [{"key": "a"}]}});
    let patch = json!({"spec": {"tolerations": [{"key": "b"}]}});
    assert_eq!(patched("Pod", &object, &patch).expect("it applies"), patch);
}

#[test]
fn keys_may_be_retained() {
    let object = json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let patch = json!({"spec": {"volumes": [
        {"name": "v", "emptyDir": null, "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}]}});
    assert_eq!(
        patched("Pod", &object, &patch).expect("it applies")["spec"]["volumes"],
        json!([{"name": "v", "hostPath": {"path": "/x"}}])
    );
    let patch = json!({"metadata": {"labels": {"a": "1", "$retainKeys": ["b"]}}});
    let refused =
        patched("Pod", &json!({"metadata": {"labels": {}}}), &patch).expect_err("a is not retained");
    assert_eq!(
        refused,
        Misuse::Form("invalid patch format of retainKeys".to_owned())
    );
}

#[test]
fn maps_may_be_replaced_or_emptied() {
    let object = json!({"data": {"a": "1", "b": "2"}});
    for (patch, after) in [
        (
            json!({"data": {"$patch": "replace", "c": "3"}}),
            json!({"data": {"c": "3"}}),
        ),
        (json!({"data": {"$patch": "delete"}}), json!({"data": {}})),
        (json!({"data": {"a": null}}), json!({"data": {"b": "2"}})),
        (json!({"data": null}), json!({})),
    ] {
        assert_eq!(patched("ConfigMap", &object, &patch).expect("it applies"), after);
    }
    let refused =
        patched("ConfigMap", &object, &json!({"data": {"$patch": "explode"}})).expect_err("no directive");
    assert_eq!(
        refused,
        Misuse::Fit("unknown patch type [explode] in map".to_owned())
    );
}

#[test]
fn an_entry_needs_its_key() {
    let patch = json!({"spec": {"containers": [{"image": "x"}]}});
    let refused = patched("Pod", &pod(&["a"]), &patch).expect_err("which container?");
    let text = "map: map[image:x] does not contain declared merge key: name";
    assert_eq!(refused, Misuse::Fit(text.to_owned()));
}

proptest! {
    /// Whatever is patched in by key is there afterwards, once, in the patch's order; the rest keeps its own.
    #[test]
    fn keyed_merges_keep_both_orders(
        before in prop::collection::hash_set(0..12u8, 0..8), patch in prop::collection::hash_set(0..12u8, 1..8)
    ) {
        let names = |set: &std::collections::HashSet<u8>| set.iter().map(|n| format!("c{n}")).collect::<Vec<_>>();
        let (before, patch) = (names(&before), names(&patch));
        let refs = |names: &[String]| pod(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let after = patched("Pod", &refs(&before), &refs(&patch)).expect("it applies");
        let after = order(&after);
        let kept = |names: &[String], among: &dyn Fn(&String) -> bool| {
            names.iter().filter(|name| among(name)).cloned().collect::<Vec<_>>()
        };
        let of_patch: Vec<&str> = after.iter().copied().filter(|n| patch.iter().any(|p| p == n)).collect();
        prop_assert_eq!(of_patch, patch.clone());
        let others: Vec<&str> = after.iter().copied().filter(|n| !patch.iter().any(|p| p == n)).collect();
        prop_assert_eq!(others, kept(&before, &|name| !patch.contains(name)));
        prop_assert_eq!(after.len(), kept(&before, &|name| !patch.contains(name)).len() + patch.len());
    }

    /// Patching a second time changes nothing.
    #[test]
    fn merging_twice_is_merging_once(
        before in prop::collection::vec("[a-e]", 0..6), patch in prop::collection::vec("[a-e]", 0..6)
    ) {
        let object = json!({"metadata": {"finalizers": before}});
        let patch = json!({"metadata": {"finalizers": patch}});
        let once = patched("ConfigMap", &object, &patch).expect("it applies");
        prop_assert_eq!(patched("ConfigMap", &once, &patch).expect("it applies"), once);
    }
}
