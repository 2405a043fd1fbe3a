//! `envtest-assets FOLDER`: this program in a folder, under the names of those that envtest starts.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::out;

/// The name of the command.
pub(super) const COMMAND: &str = "envtest-assets";
/// The name by which this program plays etcd.
pub(super) const ETCD: &str = "etcd";
/// The names by which envtest looks for its programs.
const NAMES: [&str; 2] = [ETCD, "kube-apiserver"];

/// Writes the programs, and prints the variable that names their folder.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let [folder] = arguments else {
        out::tell(&format!(
            "Error: {COMMAND} takes one argument: the folder for KUBEBUILDER_ASSETS"
        ));
        return ExitCode::from(2);
    };
    match write(Path::new(folder)) {
        Ok(folder) => {
            let quoted = folder.display().to_string().replace('\'', r"'\''");
            out::say(&format!("export KUBEBUILDER_ASSETS='{quoted}'\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            out::tell(&format!(
                "Error: {folder}: {error}; name a folder that can be written"
            ));
            ExitCode::FAILURE
        }
    }
}

/// Puts this program into a folder under all names; returns the folder's absolute path.
fn write(folder: &Path) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    fs::create_dir_all(folder)?;
    for name in NAMES {
        let file = folder.join(name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Between file systems there are no links.
        fs::hard_link(&own, &file).or_else(|_: Error| fs::copy(&own, &file).map(drop))?;
    }
    fs::canonicalize(folder)
}
