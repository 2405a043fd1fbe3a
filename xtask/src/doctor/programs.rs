//! The checks of `doctor` for the programs of a manifest, without starting them: interpreters of scripts, the socket of a driver, and mount
//! namespaces.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use suites::harness::manifest::Manifest;

use super::{CheckResult, find_in_path};

pub(super) type NamedResult = (&'static str, CheckResult);

pub(super) fn check(manifest: &Manifest) -> Vec<NamedResult> {
    let mut lines = vec![("manifest", Ok(summary(manifest)))];
    lines.extend(
        manifest
            .programs()
            .map(|(role, path)| (role.as_str(), check_interpreter(path))),
    );
    lines.extend(
        manifest
            .driver_socket()
            .map(|path| ("driver's socket", check_driver_socket(path))),
    );
    if manifest.is_in_cluster() {
        lines.push(("pod's folder", check_mount_namespaces()));
    }
    lines
}

fn summary(manifest: &Manifest) -> String {
    let roles: Vec<&str> = manifest.roles().map(|role| role.as_str()).collect();
    format!(
        "{} {}: {}; {} features claimed, {} known failures",
        manifest.name,
        manifest.version,
        roles.join(", "),
        manifest.features.len(),
        manifest.known().count()
    )
}

/// Checks that the interpreter in the first line of a script exists. Executable files that are no scripts pass.
fn check_interpreter(path: &Path) -> CheckResult {
    const LONGEST: u64 = 256;
    let mut start = Vec::new();
    let file = std::fs::File::open(path);
    // If the file is executable but not readable, its first line cannot be checked.
    if let Ok(file) = file {
        file.take(LONGEST)
            .read_to_end(&mut start)
            .map_err(|error| error.to_string())?;
    }
    let first = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let interpreter = first
        .strip_prefix("#!")
        .and_then(|line| line.split_whitespace().next());
    match interpreter {
        Some(interpreter) if !Path::new(interpreter).exists() => Err(format!(
            "{} begins with `#!{interpreter}`, which does not exist; install it, or correct that line",
            path.display()
        )),
        _ => Ok(path.display().to_string()),
    }
}

/// Checks that a running driver listens on its socket.
fn check_driver_socket(path: &Path) -> CheckResult {
    match UnixStream::connect(path) {
        Ok(_) => Ok(path.display().to_string()),
        Err(error) => Err(format!(
            "{}: {error}; start the driver, or correct `socket`",
            path.display()
        )),
    }
}

/// Checks that mount namespaces are available: `inCluster` mounts files into them where a program in a pod expects the files.
fn check_mount_namespaces() -> CheckResult {
    const REMEDY: &str = "run as root, or enable unprivileged user namespaces in the kernel";
    if find_in_path("unshare").is_none() {
        return Err(
            "`inCluster` needs `unshare`, which is in no folder of PATH; install util-linux".to_owned(),
        );
    }
    let tried = Command::new("unshare")
        .args(["--mount", "--map-root-user", "--", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(status) if status.success() => Ok("private mount namespaces are available".to_owned()),
        Ok(_) => Err(format!("`inCluster` needs a private mount namespace; {REMEDY}")),
        Err(error) => Err(format!("unshare: {error}; {REMEDY}")),
    }
}
