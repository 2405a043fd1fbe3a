//! Enumerates histories that are slightly smaller than a given one: without some parts, or with simpler values.
//!
//! Works on the JSON structure alone: a history is a tree of lists, maps and strings. What remains after a removal may or may not parse as
//! a history.

use serde_json::Value;

use super::history::History;
use super::sizes;

/// Fields whose removal would enlarge the effect of a part.
const KEPT: [&str; 2] = ["times", "id"];

/// Path of a node in the tree.
type Path = Vec<Down>;

/// One level of a path.
#[derive(Clone, Debug, PartialEq)]
enum Down {
    Field(String),
    Item(usize),
}

/// An edit of the tree.
enum Cut {
    /// Removes items of a list: start, count.
    Items(Path, usize, usize),
    /// Removes a field of a map.
    Field(Path, String),
    /// Replaces a string.
    Word(Path, &'static str),
}

/// Slightly smaller histories, largest reductions first: without events, without parts of the cluster, with fewer steps, with simpler
/// values.
pub(super) fn smaller(history: &History) -> impl Iterator<Item = History> + use<> {
    // All parts serialize: maps with string keys, lists and strings.
    let tree = serde_json::to_value(history).unwrap_or_default();
    let (steps, world) = (vec![field("steps")], vec![field("world")]);
    let events = (0..history.steps.len()).map(|step| [steps[0].clone(), Down::Item(step)].to_vec());
    let mut cuts = Vec::new();
    for list in std::iter::once(steps.clone()).chain(events) {
        let length = at(&tree, &list).and_then(Value::as_array).map_or(0, Vec::len);
        items(&list, length, &mut cuts);
    }
    parts(&tree, &world, &mut cuts);
    parts(&tree, &steps, &mut cuts);
    words(&tree, &mut Path::new(), &mut cuts);
    let reduced = cuts.into_iter().filter_map(move |cut| apply(tree.clone(), &cut));
    reduced
        .chain(joined(history.clone()))
        .map(History::possible)
        .filter(runs)
}

/// Whether any program runs.
fn runs(history: &History) -> bool {
    !history.world.roles.is_empty()
}

/// Histories with two adjacent steps merged.
fn joined(history: History) -> impl Iterator<Item = History> {
    let pairs = 1..history.steps.len();
    pairs.map(move |second| {
        let mut joined = history.clone();
        let events = joined.steps.remove(second);
        joined.steps[second - 1].extend(events);
        joined
    })
}

fn field(name: &str) -> Down {
    Down::Field(name.to_owned())
}

/// Ranges of items, from the whole list down to single items.
fn items(list: &Path, length: usize, cuts: &mut Vec<Cut>) {
    let mut count = length;
    while count > 0 {
        let starts = (0..length).step_by(count);
        cuts.extend(starts.map(|start| Cut::Items(list.clone(), start, count)));
        count /= 2;
    }
}

/// Single items and fields, outermost first.
fn parts(tree: &Value, top: &Path, cuts: &mut Vec<Cut>) {
    let mut level = vec![top.clone()];
    while !level.is_empty() {
        let mut next = Vec::new();
        for path in level {
            match at(tree, &path) {
                Some(Value::Array(list)) => {
                    items(&path, list.len(), cuts);
                    next.extend((0..list.len()).map(|item| below(&path, Down::Item(item))));
                }
                Some(Value::Object(fields)) => {
                    let dropped = fields.keys().filter(|key| !KEPT.contains(&key.as_str()));
                    cuts.extend(dropped.map(|key| Cut::Field(path.clone(), key.clone())));
                    next.extend(fields.keys().map(|key| below(&path, field(key))));
                }
                _ => {}
            }
        }
        level = next;
    }
}

/// Sizes that can be simplified.
fn words(tree: &Value, path: &mut Path, cuts: &mut Vec<Cut>) {
    let mut each = |step: Down, value: &Value| {
        path.push(step);
        words(value, path, cuts);
        path.pop();
    };
    match tree {
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(at, item)| each(Down::Item(at), item)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| each(field(key), value)),
        Value::String(word) => {
            let simpler = sizes::simpler(word).iter();
            cuts.extend(simpler.map(|simpler| Cut::Word(path.clone(), simpler)));
        }
        _ => {}
    }
}

fn below(path: &Path, step: Down) -> Path {
    let mut path = path.clone();
    path.push(step);
    path
}

fn at<'t>(tree: &'t Value, path: &Path) -> Option<&'t Value> {
    path.iter().try_fold(tree, |tree, step| match step {
        Down::Field(name) => tree.get(name),
        Down::Item(at) => tree.get(at),
    })
}

fn at_mut<'t>(tree: &'t mut Value, path: &Path) -> Option<&'t mut Value> {
    path.iter().try_fold(tree, |tree, step| match step {
        Down::Field(name) => tree.get_mut(name),
        Down::Item(at) => tree.get_mut(at),
    })
}

/// The edited history; `None` if the result is no valid history.
fn apply(mut tree: Value, cut: &Cut) -> Option<History> {
    match cut {
        Cut::Items(path, start, count) => {
            let list = at_mut(&mut tree, path)?.as_array_mut()?;
            let end = (start + count).min(list.len());
            list.drain(*start..end);
        }
        Cut::Field(path, name) => drop(at_mut(&mut tree, path)?.as_object_mut()?.remove(name)?),
        Cut::Word(path, word) => *at_mut(&mut tree, path)? = Value::from(*word),
    }
    serde_json::from_value(tree).ok()
}
