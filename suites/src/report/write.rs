//! Writes all formats of a report into a self-contained folder, without links to files outside of the folder.

use std::path::{Component, Path, PathBuf};

use harness::machine::remedy;

use super::record::RECORD;
use super::{Report, badge, html, junit, markdown};

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write {path}: {source}; {}",
    remedy(source, folder_of(path), "name another folder with --output")
)]
pub struct WriteError {
    path: PathBuf,
    source: std::io::Error,
}

/// Folder for the runs of cases, within the folder of a report.
pub const CASES: &str = "cases";

/// Renders a format of the report. Paths are written relative to the folder.
type Renderer = fn(&Report, &Path) -> String;

/// File name and renderer of each report format.
const FORMATS: [(&str, Renderer); 7] = [
    (RECORD, |report, _| report.to_json()),
    (html::CASES, html::page),
    (html::REQUIREMENTS, html::requirements::page),
    ("junit.xml", |report, _| junit::xml(report)),
    ("report.md", |report, _| markdown::page(report, usize::MAX)),
    ("badge.json", |report, _| badge::endpoint(report)),
    ("badge.svg", |report, _| badge::svg(report)),
];

/// Writes all formats of a report into a folder, which is created if needed. Copies stored runs from other folders into it.
pub fn write_all(report: &Report, folder: &Path) -> Result<(), WriteError> {
    std::fs::create_dir_all(folder).map_err(write_error_at(folder))?;
    let mut report = report.clone();
    for case in &mut report.cases {
        case.folder = match &case.folder {
            Some(run) => copy_into_report(run, folder)?,
            None => None,
        };
    }
    for (name, render) in FORMATS {
        replace_atomically(&folder.join(name), &render(&report, folder))?;
    }
    Ok(())
}

/// Writes one file of a report into a folder, and creates the folder if needed.
pub fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), WriteError> {
    std::fs::create_dir_all(folder).map_err(write_error_at(folder))?;
    replace_atomically(&folder.join(name), text)
}

/// Writes only report.json into a folder of stored runs, for `rerun`. Runs that are stored in other folders are left out.
pub fn write_record(report: &Report, folder: &Path) -> Result<(), WriteError> {
    std::fs::create_dir_all(folder).map_err(write_error_at(folder))?;
    let root = folder.canonicalize().map_err(write_error_at(folder))?;
    let mut report = report.clone();
    for case in &mut report.cases {
        let run = case.folder.take().and_then(|run| run.canonicalize().ok());
        case.folder = run.and_then(|run| run.strip_prefix(&root).map(Path::to_owned).ok());
    }
    replace_atomically(&folder.join(RECORD), &report.to_json())
}

/// The path of a run relative to the report folder; copies the run into that folder if needed. `None` if the run does not exist.
fn copy_into_report(run: &Path, folder: &Path) -> Result<Option<PathBuf>, WriteError> {
    let (Ok(run), Ok(root)) = (run.canonicalize(), folder.canonicalize()) else {
        return Ok(None);
    };
    if let Ok(inside) = run.strip_prefix(&root) {
        return Ok(Some(inside.to_owned()));
    }
    let Some(Component::Normal(name)) = run.components().next_back() else {
        return Ok(None);
    };
    let inside = Path::new(CASES).join(name);
    copy_files(&run, &root.join(&inside))?;
    Ok(Some(inside))
}

/// Copies the files of a run, which has no subfolders.
fn copy_files(from: &Path, to: &Path) -> Result<(), WriteError> {
    std::fs::create_dir_all(to).map_err(write_error_at(to))?;
    for entry in std::fs::read_dir(from).map_err(write_error_at(from))? {
        let path = entry.map_err(write_error_at(from))?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            std::fs::copy(&path, to.join(name)).map_err(write_error_at(&path))?;
        }
    }
    Ok(())
}

/// Replaces a file atomically, so that concurrent readers never see a partially written file.
fn replace_atomically(path: &Path, text: &str) -> Result<(), WriteError> {
    let mut unfinished = path.as_os_str().to_owned();
    // A name with the process id, because several processes may write the same file at the same time.
    unfinished.push(format!(".{}.unfinished", std::process::id()));
    let written = std::fs::write(&unfinished, text).and_then(|()| std::fs::rename(&unfinished, path));
    written.map_err(|error| {
        std::fs::remove_file(&unfinished).ok();
        write_error_at(path)(error)
    })
}

/// Removes the stored runs of an earlier report from a folder. Other subfolders are not changed.
pub fn remove_runs(folder: &Path) -> Result<(), WriteError> {
    let cases = folder.join(CASES);
    let entries = match std::fs::read_dir(&cases) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(write_error_at(&cases))?,
    };
    for entry in entries {
        let run = entry.map_err(write_error_at(&cases))?.path();
        if harness::record::is_run(&run) {
            std::fs::remove_dir_all(&run).map_err(write_error_at(&run))?;
        }
    }
    Ok(())
}

fn write_error_at(path: &Path) -> impl Fn(std::io::Error) -> WriteError {
    let path = path.to_owned();
    move |source| WriteError {
        path: path.clone(),
        source,
    }
}

/// The path itself if it is a folder, otherwise the folder that contains the file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !path.is_dir() && parent != Path::new("") => parent,
        _ => path,
    }
}
