//! One document applied to another, and fields taken out of one.
//!
//! Follows the algorithm of structured-merge-diff, down to the order of lists.

use super::compare::fields;
use super::nature::{Nature, is_hollow};
use super::set::{Element, Node, Set};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Applies a document, which is known to fit its type, to a value.
pub(super) fn merge(nature: Nature<'_>, live: &mut Value, applied: &Value) {
    // Where there is something, nothing takes nothing away.
    let keeps = !matches!(nature, Nature::Leaf) && is_hollow(Some(applied)) && !is_hollow(Some(live));
    if keeps {
        return;
    }
    match (&mut *live, applied) {
        (Value::Object(members), Value::Object(applied)) if nature.has_members() => {
            for (name, value) in applied {
                match (members.get_mut(name), nature.member(name)) {
                    (Some(member), Some(inner)) => merge(inner, member, value),
                    _ => drop(members.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(items), Value::Array(applied)) if nature.has_entries() => {
            *items = list(nature, std::mem::take(items), applied);
        }
        _ => *live = applied.clone(),
    }
}

/// Merges two lists by the names of their entries.
///
/// What the applied list names comes in its order; of the rest, each entry stays before the next one that both have.
/// Strategic merge patches have another rule: they put new entries first.
fn list(nature: Nature<'_>, live: Vec<Value>, applied: &[Value]) -> Vec<Value> {
    let name = |item: &Value| nature.name(item).ok();
    let wanted: Vec<Option<Element<'_>>> = applied.iter().map(name).collect();
    let places: HashMap<&Element<'_>, usize> = (0..)
        .zip(&wanted)
        .filter_map(|(at, name)| Some((name.as_ref()?, at)))
        .collect();
    // Where each entry of the old list is applied, if it is.
    let mut live: Vec<(Option<usize>, Option<Value>)> = live
        .into_iter()
        .map(|item| {
            (
                name(&item).and_then(|name| places.get(&name).copied()),
                Some(item),
            )
        })
        .collect();
    let mut held: HashMap<usize, usize> = HashMap::new();
    for (at, (place, _)) in live.iter().enumerate() {
        if let Some(place) = place {
            held.entry(*place).or_insert(at);
        }
    }
    // For each applied entry, the first from there on that both have.
    let mut shared: Vec<Option<usize>> = (0..applied.len())
        .rev()
        .scan(None, |next, at| {
            *next = held.contains_key(&at).then_some(at).or(*next);
            Some(*next)
        })
        .collect();
    shared.reverse();
    let mut out = Vec::with_capacity(live.len() + applied.len());
    let mut cursor = 0;
    for (at, (value, next_shared)) in applied.iter().zip(shared).enumerate() {
        while let Some((place, item)) = live.get_mut(cursor) {
            match place {
                Some(_) if *place == next_shared => break,
                Some(_) => {}
                None => out.extend(item.take()),
            }
            cursor += 1;
        }
        let old = held.get(&at).and_then(|at| live[*at].1.take());
        out.push(match old {
            Some(mut old) => {
                merge(nature.entry(), &mut old, value);
                old
            }
            None => value.clone(),
        });
    }
    let rest = live.into_iter().filter(|(place, _)| place.is_none());
    out.extend(rest.filter_map(|(_, item)| item));
    out
}

/// Takes out what a manager no longer applies: what it applied `last`, unless somebody manages it still.
pub(super) fn prune(nature: Nature<'_>, merged: &Value, last: &Set<'_>, managed: &Set<'_>) -> Value {
    let last = with_structs(nature, last);
    let everything = fields(nature, merged);
    let everything = with_structs(nature, &everything);
    let mut pruned = merged.clone();
    remove(nature, &mut pruned, &last);
    // First, fields that another manager owns come back.
    let left = fields(nature, &pruned);
    let kept = with_structs(nature, &left).union(with_structs(nature, managed));
    let unmanaged = everything.clone().difference(&kept);
    let mut pruned = merged.clone();
    remove(nature, &mut pruned, &unmanaged);
    // Then fields without an owner that this manager has not applied before.
    let left = fields(nature, &pruned);
    let gone = everything
        .difference(&with_structs(nature, &left))
        .intersection(&last);
    let mut out = merged.clone();
    remove(nature, &mut out, &gone);
    out
}

/// A set with the structs that its fields are in: those have no mark of their own.
fn with_structs<'a>(nature: Nature<'_>, set: &Set<'a>) -> Set<'a> {
    let nodes = set.nodes().iter().map(|node| {
        let (inner, named) = match &node.element {
            Element::Field(name) => {
                let inner = nature.member(name);
                let is_declared = inner.is_some() && nature.declares(name);
                (inner.unwrap_or(Nature::Leaf), is_declared)
            }
            _ => (nature.entry(), false),
        };
        Node {
            element: node.element.clone(),
            member: node.member || (named && !node.inner.is_empty()),
            inner: with_structs(inner, &node.inner),
        }
    });
    Set::new(nodes.collect())
}

/// Takes fields out of a value. What becomes empty stays, unless it is to go as well.
fn remove(nature: Nature<'_>, value: &mut Value, set: &Set<'_>) {
    if set.is_empty() {
        return;
    }
    match value {
        Value::Object(members) if nature.has_members() => {
            let mut kept = Map::new();
            for (name, mut member) in std::mem::take(members) {
                let node = set.node(&Element::Field(name.as_str().into()));
                match node {
                    Some(node) if node.member => continue,
                    Some(node) => {
                        let inner = nature.member(&name).unwrap_or(Nature::Leaf);
                        remove(inner, &mut member, &node.inner);
                    }
                    None => {}
                }
                kept.insert(name, member);
            }
            *members = kept;
        }
        Value::Array(items) if nature.has_entries() => items.retain_mut(|item| {
            let name = nature.name(item).ok();
            match name.and_then(|name| set.node(&name)) {
                Some(node) if node.member => false,
                Some(node) => {
                    remove(nature.entry(), item, &node.inner);
                    true
                }
                None => true,
            }
        }),
        _ => {}
    }
}
