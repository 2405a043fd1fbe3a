//! Enumerates histories that are slightly smaller than a given history: without some parts, or with simpler values.
//!
//! Works on the JSON structure alone: a history is a tree of lists, maps and strings. The result of a removal may be an invalid history.

use serde_json::Value;

use super::history::History;
use super::sizes;

/// Fields whose removal would make a fault affect more requests or last longer.
const NOT_REMOVED: [&str; 2] = ["times", "id"];

/// Path of a value in the JSON tree of a history.
type Path = Vec<PathElement>;

/// An element of a path: a map key or a list index.
#[derive(Clone, Debug, PartialEq)]
enum PathElement {
    Field(String),
    Item(usize),
}

/// An edit of the JSON tree of a history that makes the history smaller.
enum Reduction {
    /// Removes items of a list: path, index of the first item, number of items.
    Items(Path, usize, usize),
    /// Removes a field of a map.
    Field(Path, String),
    /// Replaces a size by a simpler size.
    Size(Path, &'static str),
}

/// Slightly smaller histories: without steps or events, without parts of the cluster or of events, with simpler sizes, and with merged
/// steps, in this order.
pub(super) fn smaller_histories(history: &History) -> impl Iterator<Item = History> + use<> {
    // Cannot fail: a history consists of maps with string keys, lists and plain values, which all serialize.
    let tree = serde_json::to_value(history).unwrap_or_default();
    let (steps, cluster) = (vec![field_element("steps")], vec![field_element("world")]);
    let events = (0..history.steps.len()).map(|step| [steps[0].clone(), PathElement::Item(step)].to_vec());
    let mut reductions = Vec::new();
    for list in std::iter::once(steps.clone()).chain(events) {
        let length = value_at(&tree, &list)
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        add_item_removals(&list, length, &mut reductions);
    }
    add_part_removals(&tree, &cluster, &mut reductions);
    add_part_removals(&tree, &steps, &mut reductions);
    add_size_reductions(&tree, &mut Path::new(), &mut reductions);
    let reduced = reductions
        .into_iter()
        .filter_map(move |reduction| apply(tree.clone(), &reduction));
    reduced
        .chain(with_merged_steps(history.clone()))
        .map(History::without_impossible_events)
        .filter(has_role)
}

/// Whether any program runs in the cluster of a history.
fn has_role(history: &History) -> bool {
    !history.cluster.roles.is_empty()
}

/// Histories with two adjacent steps merged.
fn with_merged_steps(history: History) -> impl Iterator<Item = History> {
    let pairs = 1..history.steps.len();
    pairs.map(move |second| {
        let mut merged = history.clone();
        let events = merged.steps.remove(second);
        merged.steps[second - 1].extend(events);
        merged
    })
}

fn field_element(name: &str) -> PathElement {
    PathElement::Field(name.to_owned())
}

/// Adds removals of ranges of list items, from the whole list down to single items.
fn add_item_removals(list: &Path, length: usize, reductions: &mut Vec<Reduction>) {
    let mut count = length;
    while count > 0 {
        let starts = (0..length).step_by(count);
        reductions.extend(starts.map(|start| Reduction::Items(list.clone(), start, count)));
        count /= 2;
    }
}

/// Adds removals of list items and map fields, starting with the items and fields nearest to the root.
fn add_part_removals(tree: &Value, top: &Path, reductions: &mut Vec<Reduction>) {
    let mut level = vec![top.clone()];
    while !level.is_empty() {
        let mut next = Vec::new();
        for path in level {
            match value_at(tree, &path) {
                Some(Value::Array(list)) => {
                    add_item_removals(&path, list.len(), reductions);
                    next.extend((0..list.len()).map(|item| child_path(&path, PathElement::Item(item))));
                }
                Some(Value::Object(fields)) => {
                    let dropped = fields.keys().filter(|key| !NOT_REMOVED.contains(&key.as_str()));
                    reductions.extend(dropped.map(|key| Reduction::Field(path.clone(), key.clone())));
                    next.extend(fields.keys().map(|key| child_path(&path, field_element(key))));
                }
                _ => {}
            }
        }
        level = next;
    }
}

fn add_size_reductions(tree: &Value, path: &mut Path, reductions: &mut Vec<Reduction>) {
    let mut each = |step: PathElement, value: &Value| {
        path.push(step);
        add_size_reductions(value, path, reductions);
        path.pop();
    };
    match tree {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(at, item)| each(PathElement::Item(at), item)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| each(field_element(key), value)),
        Value::String(word) => {
            let simpler = sizes::simpler_sizes(word).iter();
            reductions.extend(simpler.map(|simpler| Reduction::Size(path.clone(), simpler)));
        }
        _ => {}
    }
}

fn child_path(path: &Path, step: PathElement) -> Path {
    let mut path = path.clone();
    path.push(step);
    path
}

fn value_at<'t>(tree: &'t Value, path: &Path) -> Option<&'t Value> {
    path.iter().try_fold(tree, |tree, step| match step {
        PathElement::Field(name) => tree.get(name),
        PathElement::Item(at) => tree.get(at),
    })
}

fn value_at_mut<'t>(tree: &'t mut Value, path: &Path) -> Option<&'t mut Value> {
    path.iter().try_fold(tree, |tree, step| match step {
        PathElement::Field(name) => tree.get_mut(name),
        PathElement::Item(at) => tree.get_mut(at),
    })
}

/// The edited history; `None` if the result is no valid history.
fn apply(mut tree: Value, reduction: &Reduction) -> Option<History> {
    match reduction {
        Reduction::Items(path, start, count) => {
            let list = value_at_mut(&mut tree, path)?.as_array_mut()?;
            let end = (start + count).min(list.len());
            list.drain(*start..end);
        }
        Reduction::Field(path, name) => drop(value_at_mut(&mut tree, path)?.as_object_mut()?.remove(name)?),
        Reduction::Size(path, word) => *value_at_mut(&mut tree, path)? = Value::from(*word),
    }
    serde_json::from_value(tree).ok()
}
