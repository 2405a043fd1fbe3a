//! Examples of strategic merge patches. Tests over HTTP cover lists of real types.

use super::{StrategicPatchError, apply};
use crate::schema::Type;
use proptest::prelude::*;
use serde_json::{Value, json};

fn patched(kind: &str, object: &Value, patch: &Value) -> Result<Value, StrategicPatchError> {
    let mut object = object.clone();
    let of = Type::find("v1", kind).expect("the kind has a type");
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
        .expect("containers is a list")
        .iter()
        .map(|c| c["name"].as_str().expect("each container has a name"))
        .collect()
}

#[test]
fn lists_of_structs_merge_by_key() {
    let patch = json!({"spec": {"containers": [{"name": "b", "image": "new", "tty": null}]}});
    let after = patched("Pod", &pod(&["a", "b"]), &patch).expect("the patch applies");
    assert_eq!(
        after,
        json!({"spec": {"containers": [
        {"name": "a", "image": "old"}, {"name": "b", "image": "new"}]}})
    );
}

#[test]
fn new_entries_precede_entries_that_the_patch_does_not_contain() {
    let patch = json!({"spec": {"containers": [{"name": "c"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("the patch applies")),
        ["c", "a", "b"]
    );
}

#[test]
fn patch_directives_delete_entries_and_replace_lists() {
    let patch =
        json!({"spec": {"containers": [{"$patch": "delete", "name": "a"}, {"name": "b", "image": "new"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("the patch applies")),
        ["b"]
    );
    let patch = json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "z"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("the patch applies")),
        ["z"]
    );
}

#[test]
fn set_element_order_sorts_a_list() {
    let patch = json!({"spec": {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        "containers": [{"name": "c", "image": "new"}]}});
    let after = patched("Pod", &pod(&["a", "b"]), &patch).expect("the patch applies");
    assert_eq!(order(&after), ["c", "a", "b"]);
    let patch = json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}});
    assert_eq!(
        order(&patched("Pod", &pod(&["a", "b"]), &patch).expect("the patch applies")),
        ["b", "a"]
    );
}

#[test]
fn a_patch_that_contradicts_its_set_element_order_is_rejected() {
    let patch =
        json!({"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}});
    let refused = patched("Pod", &pod(&["a"]), &patch).expect_err("the patch contradicts its order");
    assert!(
        matches!(refused, StrategicPatchError::Fit(text) if text.starts_with("The order in patch list:"))
    );
}

#[test]
fn lists_of_scalars_merge_as_sets() {
    let object = json!({"metadata": {"finalizers": ["a", "b"]}});
    let patch = json!({"metadata": {"finalizers": ["b", "c"]}});
    assert_eq!(
        patched("ConfigMap", &object, &patch).expect("the patch applies")["metadata"]["finalizers"],
        json!(["a", "b", "c"])
    );
    let patch = json!({"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["b"]}});
    assert_eq!(
        patched("ConfigMap", &object, &patch).expect("the patch applies")["metadata"]["finalizers"],
        json!(["b"])
    );
}

#[test]
fn lists_without_a_merge_key_are_replaced() {
    let object = json!({"spec": {"tolerations": [{"key": "a"}]}});
    let patch = json!({"spec": {"tolerations": [{"key": "b"}]}});
    assert_eq!(patched("Pod", &object, &patch).expect("the patch applies"), patch);
}

#[test]
fn retain_keys_removes_all_other_members() {
    let object = json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}});
    let patch = json!({"spec": {"volumes": [
        {"name": "v", "emptyDir": null, "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}]}});
    assert_eq!(
        patched("Pod", &object, &patch).expect("the patch applies")["spec"]["volumes"],
        json!([{"name": "v", "hostPath": {"path": "/x"}}])
    );
    let patch = json!({"metadata": {"labels": {"a": "1", "$retainKeys": ["b"]}}});
    let refused =
        patched("Pod", &json!({"metadata": {"labels": {}}}), &patch).expect_err("retainKeys does not list a");
    assert_eq!(
        refused,
        StrategicPatchError::Form("invalid patch format of retainKeys".to_owned())
    );
}

#[test]
fn patch_directives_and_nulls_replace_and_clear_maps() {
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
        assert_eq!(
            patched("ConfigMap", &object, &patch).expect("the patch applies"),
            after
        );
    }
    let refused = patched("ConfigMap", &object, &json!({"data": {"$patch": "explode"}}))
        .expect_err("unknown directive");
    assert_eq!(
        refused,
        StrategicPatchError::Fit("unknown patch type [explode] in map".to_owned())
    );
}

#[test]
fn an_entry_without_its_merge_key_is_rejected() {
    let patch = json!({"spec": {"containers": [{"image": "x"}]}});
    let refused = patched("Pod", &pod(&["a"]), &patch).expect_err("no merge key");
    let text = "map: map[image:x] does not contain declared merge key: name";
    assert_eq!(refused, StrategicPatchError::Fit(text.to_owned()));
}

proptest! {
    /// Property: each patched entry occurs once, in the order of the patch, and the other entries retain their order.
    #[test]
    fn keyed_merges_retain_patch_and_object_order(
        before in prop::collection::hash_set(0..12u8, 0..8), patch in prop::collection::hash_set(0..12u8, 1..8)
    ) {
        let names = |set: &std::collections::HashSet<u8>| set.iter().map(|n| format!("c{n}")).collect::<Vec<_>>();
        let (before, patch) = (names(&before), names(&patch));
        let refs = |names: &[String]| pod(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let after = patched("Pod", &refs(&before), &refs(&patch)).expect("the patch applies");
        let after = order(&after);
        let retained = |names: &[String], among: &dyn Fn(&String) -> bool| {
            names.iter().filter(|name| among(name)).cloned().collect::<Vec<_>>()
        };
        let of_patch: Vec<&str> = after.iter().copied().filter(|n| patch.iter().any(|p| p == n)).collect();
        prop_assert_eq!(of_patch, patch.clone());
        let others: Vec<&str> = after.iter().copied().filter(|n| !patch.iter().any(|p| p == n)).collect();
        prop_assert_eq!(others, retained(&before, &|name| !patch.contains(name)));
        prop_assert_eq!(after.len(), retained(&before, &|name| !patch.contains(name)).len() + patch.len());
    }

    /// Property: applying a patch twice has the same result as applying it once.
    #[test]
    fn a_repeated_patch_changes_nothing(
        before in prop::collection::vec("[a-e]", 0..6), patch in prop::collection::vec("[a-e]", 0..6)
    ) {
        let object = json!({"metadata": {"finalizers": before}});
        let patch = json!({"metadata": {"finalizers": patch}});
        let once = patched("ConfigMap", &object, &patch).expect("the patch applies");
        prop_assert_eq!(patched("ConfigMap", &once, &patch).expect("it applies"), once);
    }
}
