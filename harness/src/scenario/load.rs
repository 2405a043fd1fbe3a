//! From files to [`Scenario`]s: one file, a folder of them, or one case by its id.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cover::Strength;
use super::coverage::PairCoverage;
use super::parse::{is_id, pairs, parse, parse_at, parse_row};
use super::{Scenario, ScenarioError};
use crate::text::text_of;

/// Reads one case file.
pub fn load_file(path: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    parse(&path.display().to_string(), &text_in(path)?)
}

fn text_in(path: &Path) -> Result<String, ScenarioError> {
    text_of(path)
        .map_err(|error| ScenarioError::whole(path, format!("cannot be read: {error}; check the name")))
}

/// Reads all cases below a folder, in the order of their ids. A case's id is its path in the folder.
pub fn load_tree(root: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    load_tree_where(root, Strength::default(), &|_| true)
}

/// The same, with so many values of axes together, and of those files only whose path in the folder, without the ending, is wanted.
pub fn load_tree_where(
    root: &Path,
    strength: Strength,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Scenario>, ScenarioError> {
    let mut files = files_in(root)?;
    files.retain(|path| is_wanted(&file_id(root, path)));
    let read = |path: &PathBuf| load_below(root, path, |source, text| parse_at(source, text, strength));
    let mut cases: BTreeMap<String, Scenario> = BTreeMap::new();
    for of_file in on_all_cores(&files, read) {
        for case in of_file? {
            if let Some(other) = cases.get(&case.id) {
                let message = format!(
                    "id `{}` is taken by {}; choose another row name",
                    case.id, other.source
                );
                return Err(ScenarioError::at(
                    &case.source,
                    &case.text,
                    case.file.id.defined,
                    message,
                ));
            }
            cases.insert(case.id.clone(), case);
        }
    }
    Ok(cases.into_values().collect())
}

/// What becomes of each item, in their order.
fn on_all_cores<T: Sync, U: Send>(items: &[T], work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let next = AtomicUsize::new(0);
    let one_core = || {
        let mine = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = mine.map_while(|index| Some((index, work(items.get(index)?))));
        mine.collect::<Vec<_>>()
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut done: Vec<(usize, U)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(items.len()))
            .map(|_| scope.spawn(one_core))
            .collect();
        let mut done = one_core();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, made)| made).collect()
}

/// Which pairs of values of axes these cases have, by the file that has the axes.
pub fn coverage(root: &Path, ids: &[&str]) -> Result<BTreeMap<String, Vec<PairCoverage>>, ScenarioError> {
    let mut files = BTreeMap::new();
    for path in files_in(root)? {
        let file = file_id(root, &path);
        let row_of = |id: &&str| id.rsplit_once('/').is_some_and(|(of, _)| of == file);
        let rows = ids.iter().copied().filter(row_of);
        let rows: Vec<&str> = rows.filter_map(|id| Some(id.rsplit_once('/')?.1)).collect();
        if let Some(pairs) = pairs(&path.display().to_string(), &text_in(&path)?, &rows)? {
            files.insert(file, pairs);
        }
    }
    Ok(files)
}

/// Finds one case by its id without reading the others; none if there is no such file or row.
pub fn load_row(root: &Path, id: &str) -> Result<Option<Scenario>, ScenarioError> {
    let of_row = id.rsplit_once('/').filter(|(file, _)| is_id(file));
    if let Some((file, row)) = of_row {
        let path = root.join(format!("{file}.yaml"));
        if path.is_file() {
            let of_axes = |source: &str, text: &str| Ok(parse_row(source, text, row)?.into_iter().collect());
            if let Some(case) = load_below(root, &path, of_axes)?.pop() {
                return Ok(Some(case));
            }
        }
    }
    if !is_id(id) {
        return Ok(None);
    }
    let whole = root.join(format!("{id}.yaml"));
    let of_table = of_row.map(|(file, _)| root.join(format!("{file}.yaml")));
    for path in std::iter::once(whole)
        .chain(of_table)
        .filter(|path| path.is_file())
    {
        if let Some(case) = load_below(root, &path, parse)?
            .into_iter()
            .find(|case| case.id == id)
        {
            return Ok(Some(case));
        }
    }
    Ok(None)
}

fn load_below(
    root: &Path,
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<Vec<Scenario>, ScenarioError>,
) -> Result<Vec<Scenario>, ScenarioError> {
    let cases = parse(&path.display().to_string(), &text_in(path)?)?;
    let expected = file_id(root, path);
    for case in &cases {
        if case.file.id.value != expected {
            let message = format!(
                "id `{}` must be the file's path, `{expected}`",
                case.file.id.value
            );
            return Err(ScenarioError::at(
                &case.source,
                &case.text,
                case.file.id.defined,
                message,
            ));
        }
    }
    Ok(cases)
}

/// The path of a file in its folder, without the ending: what the ids of its cases begin with.
fn file_id(root: &Path, path: &Path) -> String {
    let file = path.strip_prefix(root).unwrap_or(path).with_extension("");
    file.display().to_string()
}

fn files_in(root: &Path) -> Result<Vec<PathBuf>, ScenarioError> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable =
            |error| ScenarioError::whole(&folder, format!("cannot be read: {error}; check the name"));
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                files.push(path);
            } else {
                return Err(ScenarioError::whole(&path, "is no case; cases end in .yaml"));
            }
        }
    }
    files.sort();
    Ok(files)
}
