//! The command `envtest-assets FOLDER`: installs this program in the folder as `etcd` and as `kube-apiserver`, which envtest starts.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::out;

pub(super) const COMMAND: &str = "envtest-assets";
/// The file name under which this program acts as etcd.
pub(super) const ETCD: &str = "etcd";
/// The file names of the programs that envtest starts.
const NAMES: [&str; 2] = [ETCD, "kube-apiserver"];

/// Installs this program as etcd and kube-apiserver, and prints the variable `KUBEBUILDER_ASSETS`.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let [folder] = arguments else {
        out::stderr_line(&format!(
            "Error: {COMMAND} takes one argument: the folder for KUBEBUILDER_ASSETS"
        ));
        return ExitCode::from(2);
    };
    match install_programs(Path::new(folder)) {
        Ok(folder) => {
            let quoted = folder.display().to_string().replace('\'', r"'\''");
            out::stdout(&format!("export KUBEBUILDER_ASSETS='{quoted}'\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            out::stderr_line(&format!(
                "Error: {folder}: {error}; name a folder that can be written"
            ));
            ExitCode::FAILURE
        }
    }
}

/// Installs this program in the folder under each of [`NAMES`]; returns the absolute path of the folder.
fn install_programs(folder: &Path) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    fs::create_dir_all(folder)?;
    for name in NAMES {
        let file = folder.join(name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Hard links do not work across file systems, so the program is copied if linking fails.
        fs::hard_link(&own, &file).or_else(|_: Error| fs::copy(&own, &file).map(drop))?;
    }
    fs::canonicalize(folder)
}
