//! Emulates the in-cluster configuration of a pod: writes the service account folder, and mounts it where programs look for it.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::process::geteuid;
use tokio::process::Command;

/// Mounts the service account folder at its path in pods, in a private mount namespace, and executes the program.
///
/// If the path does not exist on the host, the script mounts a tmpfs at `/run` that contains the path and the previous content of `/run`.
const SCRIPT: &str = r#"
at=/run/secrets/kubernetes.io/serviceaccount
account=$1
shift
if [ ! -d "$at" ]; then
    old=$account.$$
    mkdir "$old" && mount --rbind /run "$old" && mount -t tmpfs tmpfs /run || exit 1
    for entry in "$old"/*; do
        name=/run/${entry##*/}
        if [ -L "$entry" ]; then cp -P "$entry" "$name"
        elif [ -d "$entry" ]; then mkdir -p "$name" && mount --rbind "$entry" "$name"
        elif [ -e "$entry" ]; then : > "$name" && mount --bind "$entry" "$name"
        fi
    done
    mkdir -p "$at"
fi
mount --bind "$account" "$at" && exec "$@"
"#;

/// Writes the files of the service account folder.
pub(super) fn write(folder: &Path, token: &str, authority_pem: &str, namespace: &str) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    write_secret(&folder.join("token"), token)?;
    std::fs::write(folder.join("ca.crt"), authority_pem)?;
    std::fs::write(folder.join("namespace"), namespace)
}

/// Writes a file that only its owner may read.
pub(super) fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::File::options();
    let mut file = options.create_new(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// The command that runs a program with the service account folder mounted. Users other than root need a kernel with user namespaces.
pub(super) fn command(program: &Path, account: &str) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !geteuid().is_root() {
        command.args(["--map-root-user"]);
    }
    command
        .args(["--", "sh", "-c", SCRIPT, "sh", account])
        .arg(program);
    command
}
