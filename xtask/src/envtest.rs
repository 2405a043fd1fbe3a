//! The programs that envtest starts: this one, under their names.
//!
//! Owns which files there are, and finding out by which name this program was called. What it does then is the library's.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use suites::harness::standalone::kube_apiserver;

use crate::Exit;
use crate::out::{eprintln, println};

/// The names by which envtest looks for its programs.
const NAMES: [&str; 2] = ["etcd", "kube-apiserver"];

/// Arguments of `envtest-assets`.
#[derive(Args)]
pub(crate) struct EnvtestAssetsArgs {
    /// The folder, for KUBEBUILDER_ASSETS
    folder: PathBuf,
}

/// Plays the program by whose name this one was called, if it is one of those.
pub(crate) fn played() -> Option<ExitCode> {
    let mut words = std::env::args();
    let path = words.next()?;
    let arguments: Vec<String> = words.collect();
    kube_apiserver::is_meant(&path).then(|| kube_apiserver::main(&path, &arguments))
}

/// Writes the programs.
pub(crate) fn run(args: &EnvtestAssetsArgs) -> Exit {
    match write(&args.folder) {
        Ok(folder) => {
            println!(
                "export KUBEBUILDER_ASSETS={}",
                suites::quoted(&folder.display().to_string())
            );
            Exit::Passed
        }
        Err(error) => {
            eprintln!(
                "error: {}: {error}; name a folder that can be written",
                args.folder.display()
            );
            Exit::Environment
        }
    }
}

/// Puts this program into a folder under all names; returns the folder as others find it.
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
