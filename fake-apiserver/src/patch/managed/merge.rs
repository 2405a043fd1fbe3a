//! Merging an applied configuration into an object, and removing fields from an object.
//!
//! Implements the algorithm of structured-merge-diff, including the order of lists.

use super::compare::fields;
use super::set::{Element, Node, Set};
use super::type_structure::{TypeStructure, is_empty_value};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Merges an applied configuration into a value. The configuration must have been validated.
pub(super) fn merge(structure: TypeStructure<'_>, live: &mut Value, applied: &Value) {
    // An empty applied list or map does not replace a non-empty one.
    let is_unchanged = !matches!(structure, TypeStructure::Leaf)
        && is_empty_value(Some(applied))
        && !is_empty_value(Some(live));
    if is_unchanged {
        return;
    }
    match (&mut *live, applied) {
        (Value::Object(members), Value::Object(applied)) if structure.has_members() => {
            for (name, value) in applied {
                match (members.get_mut(name), structure.member(name)) {
                    (Some(member), Some(inner)) => merge(inner, member, value),
                    _ => drop(members.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(items), Value::Array(applied)) if structure.has_entries() => {
            *items = merge_associative_lists(structure, std::mem::take(items), applied);
        }
        _ => *live = applied.clone(),
    }
}

/// Merges two associative lists.
///
/// Applied entries are in the applied order; each other entry remains before the next entry that both lists contain. In strategic merge
/// patches, in contrast, new entries are first.
fn merge_associative_lists(structure: TypeStructure<'_>, live: Vec<Value>, applied: &[Value]) -> Vec<Value> {
    let name = |item: &Value| structure.path_element(item).ok();
    let wanted: Vec<Option<Element<'_>>> = applied.iter().map(name).collect();
    let positions: HashMap<&Element<'_>, usize> = (0..)
        .zip(&wanted)
        .filter_map(|(at, name)| Some((name.as_ref()?, at)))
        .collect();
    // The live entries, each with its index in the applied list if that list contains it.
    let mut live: Vec<(Option<usize>, Option<Value>)> = live
        .into_iter()
        .map(|item| {
            (
                name(&item).and_then(|name| positions.get(&name).copied()),
                Some(item),
            )
        })
        .collect();
    let mut next_shared_entry: HashMap<usize, usize> = HashMap::new();
    for (at, (position, _)) in live.iter().enumerate() {
        if let Some(position) = position {
            next_shared_entry.entry(*position).or_insert(at);
        }
    }
    // For each applied entry, the index of the next applied entry (or itself) that both lists contain.
    let mut shared: Vec<Option<usize>> = (0..applied.len())
        .rev()
        .scan(None, |next, at| {
            *next = next_shared_entry.contains_key(&at).then_some(at).or(*next);
            Some(*next)
        })
        .collect();
    shared.reverse();
    let mut out = Vec::with_capacity(live.len() + applied.len());
    let mut cursor = 0;
    for (at, (value, next_shared)) in applied.iter().zip(shared).enumerate() {
        while let Some((position, item)) = live.get_mut(cursor) {
            match position {
                Some(_) if *position == next_shared => break,
                Some(_) => {}
                None => out.extend(item.take()),
            }
            cursor += 1;
        }
        let old = next_shared_entry.get(&at).and_then(|at| live[*at].1.take());
        out.push(match old {
            Some(mut old) => {
                merge(structure.entry(), &mut old, value);
                old
            }
            None => value.clone(),
        });
    }
    let rest = live.into_iter().filter(|(position, _)| position.is_none());
    out.extend(rest.filter_map(|(_, item)| item));
    out
}

/// Removes the fields in `last`, which the manager applied before but applies no longer, unless another manager owns the fields.
pub(super) fn prune(
    structure: TypeStructure<'_>,
    merged: &Value,
    last: &Set<'_>,
    managed: &Set<'_>,
) -> Value {
    let last = with_structs(structure, last);
    let everything = fields(structure, merged);
    let everything = with_structs(structure, &everything);
    let mut pruned = merged.clone();
    remove(structure, &mut pruned, &last);
    // First step: retains fields that another manager owns.
    let left = fields(structure, &pruned);
    let retained = with_structs(structure, &left).union(with_structs(structure, managed));
    let unmanaged = everything.clone().difference(&retained);
    let mut pruned = merged.clone();
    remove(structure, &mut pruned, &unmanaged);
    // Second step: retains fields without owner that this manager did not apply before.
    let left = fields(structure, &pruned);
    let removed = everything
        .difference(&with_structs(structure, &left))
        .intersection(&last);
    let mut out = merged.clone();
    remove(structure, &mut out, &removed);
    out
}

/// Adds the structs that contain the fields of a set: field sets contain only the fields of a struct, not the struct.
fn with_structs<'a>(structure: TypeStructure<'_>, set: &Set<'a>) -> Set<'a> {
    let nodes = set.nodes().iter().map(|node| {
        let (inner, named) = match &node.element {
            Element::Field(name) => {
                let inner = structure.member(name);
                let is_declared = inner.is_some() && structure.declares(name);
                (inner.unwrap_or(TypeStructure::Leaf), is_declared)
            }
            _ => (structure.entry(), false),
        };
        Node {
            element: node.element.clone(),
            member: node.member || (named && !node.inner.is_empty()),
            inner: with_structs(inner, &node.inner),
        }
    });
    Set::new(nodes.collect())
}

/// Removes the fields of a set from a value. A container that becomes empty is retained, unless the container itself is in the set.
fn remove(structure: TypeStructure<'_>, value: &mut Value, set: &Set<'_>) {
    if set.is_empty() {
        return;
    }
    match value {
        Value::Object(members) if structure.has_members() => {
            let mut retained = Map::new();
            for (name, mut member) in std::mem::take(members) {
                let node = set.node(&Element::Field(name.as_str().into()));
                match node {
                    Some(node) if node.member => continue,
                    Some(node) => {
                        let inner = structure.member(&name).unwrap_or(TypeStructure::Leaf);
                        remove(inner, &mut member, &node.inner);
                    }
                    None => {}
                }
                retained.insert(name, member);
            }
            *members = retained;
        }
        Value::Array(items) if structure.has_entries() => items.retain_mut(|item| {
            let name = structure.path_element(item).ok();
            match name.and_then(|name| set.node(&name)) {
                Some(node) if node.member => false,
                Some(node) => {
                    remove(structure.entry(), item, &node.inner);
                    true
                }
                None => true,
            }
        }),
        _ => {}
    }
}
