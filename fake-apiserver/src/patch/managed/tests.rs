//! Tests of field set operations, and property tests of apply and update.

use super::compare::{compare, fields};
use super::entries::Entries;
use super::merge::merge;
use super::set::{Element, Node, Set};
use super::type_structure::TypeStructure;
use super::{FieldManager, fields_v1, is_reset};
use crate::kinds::{Catalogue, POD, Part};
use crate::machinery::json;
use crate::object::Object;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NOW: &str = "2026-11-21T12:00:00Z";

fn pods(manager: &str) -> FieldManager<'_> {
    FieldManager {
        kind: &POD,
        manager,
        part: Part::Main,
    }
}

fn config_maps(manager: &str) -> FieldManager<'_> {
    let kind = Catalogue::built_in()
        .find("", "v1", "configmaps")
        .expect("configmaps is a built-in resource");
    FieldManager {
        kind,
        manager,
        part: Part::Main,
    }
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

/// The object after an apply by a manager.
fn applied(
    by: FieldManager<'_>,
    live: Option<&Object>,
    document: &Value,
    force: bool,
) -> std::sync::Arc<Object> {
    let (mut object, owners) = by.apply(NOW, live, document, force).expect("no conflicts");
    super::set_managed_fields(&mut object, owners);
    Object::new(object, 1)
}

/// The fields that a manager owns, as FieldsV1.
fn owned(object: &Object, manager: &str) -> Value {
    let entries: Value = serde_json::from_str(object.managed_fields()).unwrap_or_default();
    let mine = entries.as_array().into_iter().flatten();
    mine.filter(|entry| entry["manager"] == manager)
        .map(|entry| entry["fieldsV1"].clone())
        .next()
        .unwrap_or_default()
}

fn text(set: &Set<'_>) -> String {
    let mut out = Vec::new();
    fields_v1::write(set, false, &mut out);
    String::from_utf8(out).expect("FieldsV1 is UTF-8")
}

fn parsed(text: &str) -> Option<Set<'_>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    fields_v1::read(&mut reader).ok()
}

fn any_set() -> impl Strategy<Value = Set<'static>> {
    let element = prop_oneof![
        "[a-c]".prop_map(|name| Element::Field(name.into())),
        "[a-c]".prop_map(|name| Element::Key(json!({"name": name}).to_string().into())),
        "[a-c\"]".prop_map(|value| Element::Value(Value::from(value).to_string().into())),
    ];
    let leaf = Just(Set::default());
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop::collection::vec((element.clone(), any::<bool>(), inner), 0..4).prop_map(|nodes| {
            Set::new(
                nodes
                    .into_iter()
                    .map(|(element, member, inner)| Node {
                        element,
                        member,
                        inner,
                    })
                    .collect(),
            )
        })
    })
}

fn any_data() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-e]", "[x-z]", 0..5)
        .prop_map(|map| Value::Object(map.into_iter().map(|(k, v)| (k, v.into())).collect::<Map<_, _>>()))
}

fn names() -> impl Strategy<Value = Vec<String>> {
    Just(vec!["a", "b", "c", "d", "e", "f"])
        .prop_shuffle()
        .prop_flat_map(|names| {
            (0..=names.len()).prop_map(move |n| names[..n].iter().map(|n| (*n).to_owned()).collect())
        })
}

fn finalizers(names: &[String]) -> Value {
    json!({"metadata": {"finalizers": names}})
}

#[test]
fn sets_are_serialized_as_in_kube_apiserver() {
    let written = concat!(
        r#"{"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}}},"#,
        r#""f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}}"#
    );
    let set = parsed(written).expect("the FieldsV1 is valid");
    assert_eq!(text(&set), written);
    assert_eq!(
        set.paths(),
        [
            ".metadata.finalizers",
            ".metadata.finalizers[=\"x/y\"]",
            ".spec.containers[name=\"a\"]",
            ".spec.containers[name=\"a\"].image"
        ]
    );
}

#[test]
fn invalid_field_sets_are_rejected() {
    for text in [
        r#"{"spec":{}}"#,
        r#"{"f:a":1}"#,
        r#"{"f:a":{"b":{}}}"#,
        r#"{"k:x":{}}"#,
        "[]",
    ] {
        assert_eq!(parsed(text), None, "{text}");
    }
    let deep = format!(
        "{}{}",
        r#"{"f:a":"#.repeat(100),
        "{}".to_owned() + &"}".repeat(100)
    );
    assert_eq!(parsed(&deep), None, "the set exceeds the depth limit");
}

#[test]
fn entries_that_are_not_applied_stay_before_the_next_shared_entry() {
    for (live, apply, after) in [
        (vec!["a", "b"], vec!["c"], vec!["a", "b", "c"]),
        (vec!["a", "b", "c"], vec!["c", "a"], vec!["b", "c", "a"]),
        (vec!["a", "b", "c"], vec!["x", "b"], vec!["a", "x", "b", "c"]),
        (vec![], vec!["b", "a"], vec!["b", "a"]),
        (vec!["a"], vec![], vec!["a"]),
    ] {
        let of = |names: &[&str]| finalizers(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        let mut object = of(&live);
        merge(TypeStructure::of_kind(&POD), &mut object, &of(&apply));
        assert_eq!(object, of(&after), "{live:?} and {apply:?}");
    }
}

#[test]
fn ports_are_keyed_by_number_and_protocol() {
    let container = |ports: Value| json!({"spec": {"containers": [{"name": "a", "ports": ports}]}});
    let document = container(json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]));
    let set = fields(TypeStructure::of_kind(&POD), &document);
    assert_eq!(
        set.paths()[1..3],
        [
            ".spec.containers[name=\"a\"].name",
            ".spec.containers[name=\"a\"].ports[containerPort=80,protocol=\"TCP\"]"
        ]
    );
}

#[test]
fn duplicate_list_entries_are_one_field() {
    let pod = |env: Value| json!({"spec": {"containers": [{"name": "a", "env": env}]}});
    let twice = pod(json!([{"name": "x", "value": "1"}, {"name": "x", "value": "2"}]));
    let other = pod(json!([{"name": "x", "value": "1"}, {"name": "x", "value": "3"}]));
    let structure = TypeStructure::of_kind(&POD);
    let path = ".spec.containers[name=\"a\"].env[name=\"x\"]";
    assert_eq!(compare(structure, &twice, &other).modified.paths(), [path]);
    assert!(compare(structure, &twice, &twice).modified.is_empty());
    let once = pod(json!([{"name": "x", "value": "1"}]));
    let changes = compare(structure, &twice, &once);
    assert_eq!(changes.removed.paths(), [path]);
    assert!(changes.added.paths().contains(&path.to_owned()));
}

#[test]
fn an_empty_list_or_entry_resets_managed_fields() {
    assert!(is_reset(&json!([])) && is_reset(&json!([{}])));
    assert!(!is_reset(&json!([{"manager": "a"}])) && !is_reset(&Value::Null));
}

#[test]
fn creating_a_pod_records_fields_of_its_containers() {
    let mut pod = json!({"metadata": {"name": "p", "labels": {"a": "1"}}, "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {}}]}, "status": {"phase": "Running"}});
    pods("m").track(NOW, None, &mut pod);
    let object = Object::new(pod, 1);
    assert_eq!(
        owned(&object, "m"),
        json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {
                ".": {}, "f:name": {}, "f:image": {}, "f:resources": {}}}}})
    );
}

#[test]
fn the_oldest_updaters_are_merged_beyond_the_limit() {
    let mut object = Object::new(config_map(&json!({})), 1);
    for n in 0..14 {
        let now = format!("2026-11-21T12:00:{n:02}Z");
        let mut next = object.value().clone();
        next["data"][format!("k{n}")] = "v".into();
        let old = (n > 0).then_some(&*object);
        config_maps(&format!("m{n}")).track(&now, old, &mut next);
        object = Object::new(next, n + 2);
    }
    let entries: Value = serde_json::from_str(object.managed_fields()).expect("managedFields is JSON");
    let managers: Vec<&str> = (entries.as_array().into_iter().flatten())
        .filter_map(|entry| entry["manager"].as_str())
        .collect();
    assert_eq!(managers.len(), 10);
    assert_eq!(managers[..2], ["ancient-changes", "m5"]);
    let ancient = owned(&object, "ancient-changes");
    assert_eq!(
        ancient["f:data"].as_object().map(Map::len),
        Some(6),
        "five keys and the map: {ancient}"
    );
}

proptest! {
    #[test]
    fn union_difference_and_intersection_satisfy_set_algebra(a in any_set(), b in any_set(), c in any_set()) {
        prop_assert_eq!(a.clone().difference(&b).union(a.intersection(&b)), a.clone());
        prop_assert_eq!(a.clone().union(b.clone()), b.clone().union(a.clone()));
        prop_assert_eq!(a.clone().union(b.clone()).union(c.clone()), a.clone().union(b.clone().union(c.clone())));
        prop_assert!(a.clone().difference(&a).is_empty());
        prop_assert!(a.clone().difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.clone().difference(&b).difference(&c), a.clone().difference(&b.clone().union(c)));
    }

    #[test]
    fn a_set_survives_a_round_trip_through_fields_v1(set in any_set()) {
        let text = text(&set);
        prop_assert_eq!(parsed(&text), Some(set));
    }

    /// Property: any text is either rejected or parsed as entries, and parsed entries can be serialized and parsed again.
    #[test]
    fn parsed_entries_can_be_serialized_and_parsed_again(text in r#"\[?(\{|\}|"|:|,|\.|[a-z]|f:|FieldsV1|Apply|manager)*\]?"#) {
        if let Some(entries) = Entries::read(&POD, &text) {
            let written = entries.write();
            prop_assert!(Entries::read(&POD, &written).is_some());
        }
    }

    #[test]
    fn a_repeated_apply_changes_nothing(live in any_data(), data in any_data()) {
        let live = applied(config_maps("other"), None, &config_map(&live), true);
        let once = applied(config_maps("me"), Some(&live), &config_map(&data), true);
        let twice = applied(config_maps("me"), Some(&once), &config_map(&data), false);
        prop_assert_eq!(twice.value(), once.value());
        prop_assert_eq!(twice.managed_fields(), once.managed_fields());
    }

    #[test]
    fn fields_no_longer_applied_are_removed_unless_another_manager_owns_them(mine in any_data(), theirs in any_data()) {
        let live = applied(config_maps("other"), None, &config_map(&theirs), true);
        let both = applied(config_maps("me"), Some(&live), &config_map(&mine), true);
        let after = applied(config_maps("me"), Some(&both), &config_map(&json!({})), false);
        for (key, value) in theirs.as_object().into_iter().flatten() {
            let taken = mine.get(key).is_some_and(|mine| mine != value);
            let left = after.value()["data"].get(key);
            prop_assert_eq!(left.is_none(), taken, "{}", key);
        }
        for key in mine.as_object().into_iter().flatten().map(|(key, _)| key) {
            prop_assert!(theirs.get(key).is_some() || after.value()["data"].get(key).is_none(), "{}", key);
        }
    }

    #[test]
    fn applies_of_disjoint_fields_commute(data in any_data(), split in 0..6usize) {
        let members: Vec<(String, Value)> = data.as_object().expect("a map").clone().into_iter().collect();
        let (a, b) = members.split_at(split.min(members.len()));
        let of = |part: &[(String, Value)]| config_map(&Value::Object(part.iter().cloned().collect()));
        let (a, b) = (of(a), of(b));
        let one = applied(config_maps("a"), None, &a, false);
        let one = applied(config_maps("b"), Some(&one), &b, false);
        let other = applied(config_maps("b"), None, &b, false);
        let other = applied(config_maps("a"), Some(&other), &a, false);
        let bare = |object: &Object| {
            let mut value = object.value().clone();
            if value["data"] == json!({}) {
                json::assign(&mut value, "data", Value::Null);
            }
            value
        };
        prop_assert_eq!(bare(&one), bare(&other));
        for manager in ["a", "b"] {
            prop_assert_eq!(owned(&one, manager), owned(&other, manager));
        }
    }

    /// Property: each applied entry occurs once, in the applied order, and the other entries retain their order.
    #[test]
    fn merged_lists_retain_applied_and_live_order(live in names(), apply in names()) {
        let mut object = finalizers(&live);
        merge(TypeStructure::of_kind(&POD), &mut object, &finalizers(&apply));
        let after: Vec<String> = serde_json::from_value(object["metadata"]["finalizers"].take()).expect("a list");
        let of = |list: &[String], among: bool| -> Vec<String> {
            list.iter().filter(|name| apply.contains(name) == among).cloned().collect()
        };
        prop_assert_eq!(of(&after, true), apply.clone());
        prop_assert_eq!(of(&after, false), of(&live, false));
    }

    /// Property: after an update, its manager is the only owner of the changed fields.
    #[test]
    fn an_update_takes_ownership_of_changed_fields(before in any_data(), after in any_data()) {
        let mut first = config_map(&before);
        config_maps("first").track(NOW, None, &mut first);
        let first = Object::new(first, 1);
        let mut second = config_map(&after);
        config_maps("second").track(NOW, Some(&first), &mut second);
        let second = Object::new(second, 2);
        for key in after.as_object().into_iter().flatten().map(|(key, _)| key) {
            let owner = if before.get(key) == after.get(key) { "first" } else { "second" };
            for manager in ["first", "second"] {
                let has = owned(&second, manager)["f:data"].get(format!("f:{key}")).is_some();
                let tracked = !first.managed_fields().is_empty();
                prop_assert_eq!(has, tracked && manager == owner, "{} of {}", key, manager);
            }
        }
    }
}
