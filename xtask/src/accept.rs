//! `conformance --accept`: writes a `knownFailures` entry for each failure of a run, in which a maintainer fills in reason and end date.
//!
//! Reads only the report of the run. Does not know what an entry means: the manifest parser does.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::out::eprintln;
use jiff::{ToSpan, Zoned};
use suites::harness::manifest::{FailureRate, Manifest, UNWRITTEN, parse_version};
use suites::report::{CaseVerdict, Report};

use crate::Exit;

/// Days until a generated entry expires, so that a maintainer reviews the failure by then.
const EXPIRY_DAYS: i64 = 30;

/// The output file for new `knownFailures` entries, and the manifest that the entries belong to.
pub(crate) struct Accept {
    path: PathBuf,
    manifest: PathBuf,
    version: String,
    /// Whether the manifest already has a `knownFailures` list.
    has_list: bool,
}

/// A `knownFailures` entry for a failure, before a maintainer completes it.
pub(crate) struct Entry<'a> {
    pub(crate) case: &'a str,
    pub(crate) fails: &'a str,
    /// The failure message, written as a comment, from which the maintainer can choose a better pattern than `fails`.
    pub(crate) message: String,
    pub(crate) sometimes: Option<FailureRate>,
}

impl Accept {
    /// Fails if the output file already exists, before any case runs. Prints its own errors.
    pub(crate) fn new(path: Option<&Path>, sut: &Path, manifest: &Manifest) -> Result<Self, Exit> {
        let path = path.map_or_else(|| sut.with_extension("accepted.yaml"), Path::to_owned);
        if path.exists() {
            eprintln!(
                "error: {} already exists and is not overwritten; remove it, or name another file with --accept=FILE",
                path.display()
            );
            return Err(Exit::Usage);
        }
        Ok(Accept {
            path,
            manifest: sut.to_owned(),
            version: manifest.version.clone(),
            has_list: manifest.has_known_failures(),
        })
    }

    /// Writes a `knownFailures` entry for each failed case. Prints its own errors.
    pub(crate) fn write(&self, report: &Report) -> Result<(), Exit> {
        let failed = report
            .cases
            .iter()
            .filter(|case| case.verdict == CaseVerdict::Fail);
        let entries: Vec<(String, &str, String)> = failed
            .filter_map(|case| {
                Some((
                    case.failure_text.as_ref()?.stable_pattern(),
                    case.id.as_str(),
                    case.reason.clone(),
                ))
            })
            .collect();
        if entries.is_empty() {
            eprintln!("no new failures, so {} is not written", self.path.display());
            return Ok(());
        }
        let entries = entries.iter().map(|(fails, case, message)| Entry {
            case,
            fails,
            message: message.clone(),
            sometimes: None,
        });
        let count = entries.len();
        let text = self.text(entries);
        let written = std::fs::File::options()
            .write(true)
            .create_new(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        if let Err(error) = written {
            eprintln!(
                "error: {}: {error}; name a file that can be written with --accept=FILE",
                self.path.display()
            );
            return Err(Exit::Environment);
        }
        let entries = if count == 1 { "entry is" } else { "entries are" };
        eprintln!(
            "{count} {entries} in {}: fill in `why` and `issue`, and move them into {}",
            self.path.display(),
            self.manifest.display()
        );
        Ok(())
    }

    fn text<'e>(&self, entries: impl Iterator<Item = Entry<'e>>) -> String {
        let mut text = format!(
            "# Failures of {}. Fill in `why` and `issue` of each entry, correct `fails` and `until`, and\n",
            self.manifest.display()
        );
        if self.has_list {
            text.push_str("# move the entries into the `knownFailures` list of the manifest.\n");
        } else {
            text.push_str("# append this file to the manifest.\nknownFailures:\n");
        }
        for entry in entries {
            text.push_str(&entry.text(&self.version));
        }
        text
    }
}

impl Entry<'_> {
    /// The entry as YAML, indented as an item of `knownFailures`.
    pub(crate) fn text(&self, version: &str) -> String {
        let mut text = String::new();
        let message = self.message.replace(['\n', '\r'], " ");
        if !message.is_empty() {
            let _ = writeln!(text, "  # {message}");
        }
        let _ = writeln!(text, "  - case: {}", self.case);
        let _ = writeln!(text, "    fails: {}", quoted(self.fails));
        if parse_version(version).is_some() {
            let _ = writeln!(text, "    versions: [{version}]");
        }
        if let Some(FailureRate { runs, failed }) = self.sometimes {
            let _ = writeln!(text, "    sometimes: {{runs: {runs}, failed: {failed}}}");
        }
        let _ = writeln!(text, "    why: {UNWRITTEN}");
        let _ = writeln!(text, "    issue: {UNWRITTEN}");
        let _ = writeln!(text, "    until: {}", default_until());
        text
    }
}

/// A YAML scalar in JSON syntax: every JSON string is valid YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn default_until() -> jiff::civil::Date {
    let today = Zoned::now().date();
    today.checked_add(EXPIRY_DAYS.days()).unwrap_or(today)
}
