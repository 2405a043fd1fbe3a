//! Loads [`Scenario`]s: from one file, from a tree of files, or one case by its id.

use std::collections::BTreeMap;
use std::path::Path;

use super::case_files::{CaseFile, CaseFiles, text_in};
use super::cover::Strength;
use super::coverage::PairCoverage;
use super::parse::{is_id, pairs, parse, parse_at, parse_cluster, parse_row};
use super::{Scenario, ScenarioError};
use crate::cores::on_all_cores;

/// Loads the cases of one case file.
pub fn load_file(path: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    parse(&path.display().to_string(), &text_in(path)?)
}

/// Loads a file that describes a cluster: a case, or a case without the keys `id`, `title` and `steps`.
pub fn load_cluster(path: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    parse_cluster(&path.display().to_string(), &text_in(path)?)
}

/// Loads all cases of these case files, sorted by case id. The id of a case starts with the id of its file.
pub fn load_tree(files: &CaseFiles) -> Result<Vec<Scenario>, ScenarioError> {
    load_tree_where(files, Strength::default(), &|_| true)
}

/// Loads the cases of the files whose id satisfies `is_wanted`, sorted by id. `strength`: whether covering arrays contain every pair or
/// every triple of values.
pub fn load_tree_where(
    files: &CaseFiles,
    strength: Strength,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Scenario>, ScenarioError> {
    let mut files = files.all()?;
    files.retain(|file| is_wanted(&file.id));
    let read = |file: &CaseFile| load_whole(file, |source, text| parse_at(source, text, strength));
    let mut cases: BTreeMap<String, Scenario> = BTreeMap::new();
    for of_file in on_all_cores(&files, read) {
        for case in of_file? {
            if let Some(other) = cases.get(&case.id) {
                let message = format!(
                    "the case id `{}` already exists in {}; choose another row name",
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

/// Coverage of pairs of axis values in these cases, for each case file that has axes.
pub fn coverage(
    files: &CaseFiles,
    ids: &[&str],
) -> Result<BTreeMap<String, Vec<PairCoverage>>, ScenarioError> {
    let mut covered = BTreeMap::new();
    for file in files.all()? {
        let row_of = |id: &&str| id.rsplit_once('/').is_some_and(|(of, _)| of == file.id);
        let rows = ids.iter().copied().filter(row_of);
        let rows: Vec<&str> = rows.filter_map(|id| Some(id.rsplit_once('/')?.1)).collect();
        if let Some(pairs) = pairs(&file.source, &file.text()?, &rows)? {
            covered.insert(file.id, pairs);
        }
    }
    Ok(covered)
}

/// Loads one case by its id, without reading other case files. None if the file or its row does not exist.
pub fn load_case(files: &CaseFiles, id: &str) -> Result<Option<Scenario>, ScenarioError> {
    let of_row = id.rsplit_once('/').filter(|(file, _)| is_id(file));
    let of_row = of_row.and_then(|(file, row)| Some((files.find_by_id(file)?, row)));
    if let Some((file, row)) = &of_row {
        let of_axes = |source: &str, text: &str| Ok(parse_row(source, text, row)?.into_iter().collect());
        if let Some(case) = load_whole(file, of_axes)?.pop() {
            return Ok(Some(case));
        }
    }
    if !is_id(id) {
        return Ok(None);
    }
    for file in files
        .find_by_id(id)
        .into_iter()
        .chain(of_row.map(|(file, _)| file))
    {
        if let Some(case) = load_whole(&file, parse)?.into_iter().find(|case| case.id == id) {
            return Ok(Some(case));
        }
    }
    Ok(None)
}

fn load_whole(
    file: &CaseFile,
    parse: impl FnOnce(&str, &str) -> Result<Vec<Scenario>, ScenarioError>,
) -> Result<Vec<Scenario>, ScenarioError> {
    let cases = parse(&file.source, &file.text()?)?;
    for case in &cases {
        if case.file.id.value != file.id {
            let message = format!(
                "case id `{}` must be the file's path, `{}`",
                case.file.id.value, file.id
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
