//! Computes the field set of a value, and the difference between two values.

use super::set::{Element, Node, Set};
use super::type_structure::{TypeStructure, is_empty_value};
use serde_json::{Map, Value};

/// The field sets in which two objects differ, by type of change.
#[derive(Debug, Default)]
pub(super) struct Changes<'a> {
    pub(super) added: Set<'a>,
    pub(super) modified: Set<'a>,
    pub(super) removed: Set<'a>,
}

/// The field set of a value: all fields that the value contains.
pub(super) fn fields<'a>(structure: TypeStructure<'_>, value: &'a Value) -> Set<'a> {
    let node = |element, inner: TypeStructure<'_>, value, named| Node {
        element,
        // A struct field is in the set only through its inner fields; map members and list entries are in the set themselves.
        member: named || matches!(inner.of_value(value), TypeStructure::Leaf) || is_nothing(value),
        inner: fields(inner, value),
    };
    let nodes = match value {
        Value::Object(members) if structure.has_members() => members
            .iter()
            .filter_map(|(name, value)| {
                let inner = structure.member(name)?;
                Some(node(
                    Element::Field(name.into()),
                    inner,
                    value,
                    !structure.declares(name),
                ))
            })
            .collect(),
        Value::Array(items) if structure.has_entries() => group(structure, Some(value))
            .into_iter()
            .map(|(element, entries)| match entries.as_slice() {
                [one] => node(element, structure.entry(), one, true),
                _ => Node {
                    element,
                    member: true,
                    inner: Set::default(),
                },
            })
            .take(items.len())
            .collect(),
        _ => Vec::new(),
    };
    Set::new(nodes)
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

pub(super) fn compare<'a>(structure: TypeStructure<'_>, old: &'a Value, new: &'a Value) -> Changes<'a> {
    let difference = compare_at_path(structure, Some(old), Some(new));
    Changes {
        added: difference.added.1,
        modified: difference.modified.1,
        removed: difference.removed.1,
    }
}

/// The difference at one path: for each type of change, whether the path itself changed, and the changed fields below the path.
#[derive(Default)]
struct Difference<'a> {
    added: (bool, Set<'a>),
    modified: (bool, Set<'a>),
    removed: (bool, Set<'a>),
}

fn compare_at_path<'a>(
    structure: TypeStructure<'_>,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
) -> Difference<'a> {
    let mut out = Difference::default();
    // A value without schema is compared by member only if both values are objects.
    let structure = old
        .into_iter()
        .chain(new)
        .fold(structure, TypeStructure::of_value);
    let leaf = matches!(structure, TypeStructure::Leaf) || (is_empty_value(old) && is_empty_value(new));
    match (old, new) {
        (None, _) => out.added.0 = true,
        (_, None) => out.removed.0 = true,
        _ => out.modified.0 = leaf && old != new,
    }
    if !leaf {
        let mut level = PathChanges::default();
        match structure.has_entries() {
            true => entries(structure, old, new, &mut level),
            false => members(structure, old, new, &mut level),
        }
        out.added.1 = Set::new(level.added);
        out.modified.1 = Set::new(level.modified);
        out.removed.1 = Set::new(level.removed);
    }
    out
}

/// The changed path elements directly below one path.
#[derive(Default)]
struct PathChanges<'a> {
    added: Vec<Node<'a>>,
    modified: Vec<Node<'a>>,
    removed: Vec<Node<'a>>,
}

impl<'a> PathChanges<'a> {
    fn take(&mut self, element: &Element<'a>, difference: Difference<'a>) {
        for (nodes, (member, inner)) in [
            (&mut self.added, difference.added),
            (&mut self.modified, difference.modified),
            (&mut self.removed, difference.removed),
        ] {
            if member || !inner.is_empty() {
                nodes.push(Node {
                    element: element.clone(),
                    member,
                    inner,
                });
            }
        }
    }

    fn add_changed_element(nodes: &mut Vec<Node<'a>>, element: Element<'a>) {
        nodes.push(Node {
            element,
            member: true,
            inner: Set::default(),
        });
    }
}

fn members<'a>(
    structure: TypeStructure<'_>,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    level: &mut PathChanges<'a>,
) {
    let (before, after) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
    for (name, value) in after.into_iter().flatten() {
        let was = before.and_then(|before| before.get(name));
        if let Some(inner) = structure.member(name) {
            level.take(
                &Element::Field(name.into()),
                compare_at_path(inner, was, Some(value)),
            );
        }
    }
    for (name, value) in before.into_iter().flatten() {
        let is_removed = after.is_none_or(|after| !after.contains_key(name));
        if let Some(inner) = structure.member(name).filter(|_| is_removed) {
            level.take(
                &Element::Field(name.into()),
                compare_at_path(inner, Some(value), None),
            );
        }
    }
}

/// Compares lists. Several entries with the same key are one field: a change of one entry is a change of all.
fn entries<'a>(
    structure: TypeStructure<'_>,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    level: &mut PathChanges<'a>,
) {
    let (mut before, after) = (group(structure, old), group(structure, new));
    let inner = structure.entry();
    for (element, is) in after {
        let at = before.binary_search_by(|(other, _)| other.cmp(&element));
        let was = at.map(|at| std::mem::take(&mut before[at].1)).unwrap_or_default();
        level.entry(inner, element, &was, &is);
    }
    for (element, was) in before.into_iter().filter(|(_, was)| !was.is_empty()) {
        level.entry(inner, element, &was, &[]);
    }
}

impl<'a> PathChanges<'a> {
    fn entry(&mut self, inner: TypeStructure<'_>, element: Element<'a>, was: &[&'a Value], is: &[&'a Value]) {
        match (was, is) {
            ([] | [_], [] | [_]) => {
                let difference = compare_at_path(inner, was.first().copied(), is.first().copied());
                self.take(&element, difference);
            }
            ([_, _, ..], [_, _, ..]) if was == is => {}
            ([_, _, ..], [_, _, ..]) => Self::add_changed_element(&mut self.modified, element),
            (_, [] | [_]) => {
                if let [one] = is {
                    self.take(&element, compare_at_path(inner, None, Some(one)));
                }
                Self::add_changed_element(&mut self.removed, element);
            }
            _ => {
                if let [one] = was {
                    self.take(&element, compare_at_path(inner, Some(one), None));
                }
                Self::add_changed_element(&mut self.added, element);
            }
        }
    }
}

/// The entries of a list grouped by key, sorted. Entries without key are ignored.
fn group<'a>(
    structure: TypeStructure<'_>,
    list: Option<&'a Value>,
) -> Vec<(Element<'static>, Vec<&'a Value>)> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    let mut named: Vec<(Element<'static>, Vec<&Value>)> = items
        .filter_map(|item| Some((structure.path_element(item).ok()?, vec![item])))
        .collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1.append(&mut later.1);
        }
        same
    });
    named
}
