//! `doctor`: checks whether this machine, and the programs of a manifest, are ready for runs, and prints remedies.

mod programs;

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use clap::Args;
use suites::case_files;
use suites::harness::invocation::checkout;
use suites::harness::machine;
use suites::harness::report::Paint;

use crate::manifest::manifest_for;
use crate::out::println;
use crate::{Exit, folders, preflight};

/// Arguments of `doctor`.
#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Check the machine and, without starting them, the programs of this manifest: whether it is valid, and whether the programs exist
    #[arg(long, value_name = "FILE")]
    sut: Option<PathBuf>,
}

/// The observation of a passed check, as text; or the problem with its remedy.
type CheckResult = Result<String, String>;

struct Check {
    what: &'static str,
    probe: fn() -> CheckResult,
    /// Features that need the checked property; `None` if every run needs it.
    only_for: Option<&'static str>,
}

const CHECKS: [Check; 8] = [
    required("temporary files", temporary_files),
    required("sockets in files", check_socket_path_length),
    required("loopback", loopback),
    required("open files", open_files),
    required("runs", check_runs_folder),
    optional("cargo", cargo, "selftest with defects in source code"),
    optional("checkout", sources, "selftest with defects in source code"),
    optional("kubeconfig", kubeconfig, "why and capture from a running cluster"),
];

const fn required(what: &'static str, probe: fn() -> CheckResult) -> Check {
    Check {
        what,
        probe,
        only_for: None,
    }
}

const fn optional(what: &'static str, probe: fn() -> CheckResult, only_for: &'static str) -> Check {
    Check {
        what,
        probe,
        only_for: Some(only_for),
    }
}

pub(crate) fn run(args: &DoctorArgs) -> Exit {
    let machine = CHECKS
        .iter()
        .map(|check| print_result(check.what, (check.probe)(), check.only_for));
    let machine = machine.fold(Exit::Passed, combined);
    let Some(path) = &args.sut else {
        return machine;
    };
    let manifest = match manifest_for(path, &case_files()) {
        Ok(manifest) => manifest,
        Err(exit) => return combined(machine, exit),
    };
    let lines = programs::check(&manifest).into_iter();
    lines
        .map(|(what, found)| print_result(what, found, None))
        .fold(machine, combined)
}

/// Prints the result of a check. `only_for`: features that need the checked property; `None` if every run needs it.
fn print_result(what: &str, found: CheckResult, only_for: Option<&str>) -> Exit {
    let paint = Paint::of(&std::io::stdout());
    let (word, text, exit) = match (found, only_for) {
        (Ok(found), _) => (paint.good("ok     "), found, Exit::Passed),
        (Err(problem), Some(purpose)) => {
            let text = format!("{problem}; only needed for {purpose}");
            (paint.dim("absent "), text, Exit::Passed)
        }
        (Err(problem), None) => (paint.bad("MISSING"), problem, Exit::Environment),
    };
    println!("{word}  {what:<16}  {text}");
    exit
}

/// Combines the exit codes of two checks. An environment error takes precedence over an invalid file.
fn combined(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Environment, _) | (_, Exit::Passed) => one,
        _ => other,
    }
}

fn temporary_files() -> CheckResult {
    preflight::check_temporary_folder("")?;
    Ok(display_path(std::env::temp_dir()))
}

/// Checks that paths of sockets in the temporary folder are short enough: the limit is 107 bytes, on some systems less.
fn check_socket_path_length() -> CheckResult {
    /// The longest file name of a socket in the temporary folder.
    const LONGEST: &str = "csi-probe-a-driver-on-a-node-with-a-long-name.sock";
    let path = std::env::temp_dir().join(format!("{}-{LONGEST}", std::process::id()));
    let listened = UnixListener::bind(&path);
    // The socket file exists only if the bind succeeded.
    std::fs::remove_file(&path).ok();
    match listened {
        Ok(_) => Ok("the path of the temporary folder is short enough".to_owned()),
        Err(error) => Err(format!(
            "{}: {error}; set TMPDIR to a folder with a short name on an ordinary file system, such as /tmp",
            path.display()
        )),
    }
}

fn loopback() -> CheckResult {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
        Ok(_) => Ok(Ipv4Addr::LOCALHOST.to_string()),
        Err(error) => Err(format!(
            "{}: {error}; bring the loopback interface up",
            Ipv4Addr::LOCALHOST
        )),
    }
}

fn open_files() -> CheckResult {
    let Some((limit, _)) = machine::descriptor_limit_and_free() else {
        return Ok("no limit".to_owned());
    };
    match preflight::max_concurrent_cases() {
        Some(0) => Err(format!(
            "{limit}, too few for one case; raise the limit with `ulimit -n 4096`"
        )),
        Some(fitting) => Ok(format!("{limit}: {fitting} cases at once")),
        None => Ok(format!("{limit}")),
    }
}

/// Checks the folder in which runs are stored without `--output`.
fn check_runs_folder() -> CheckResult {
    let folder = folders::default_folder("runs");
    let written = folders::ensure_private(&folder).and_then(|()| machine::check_writable(&folder));
    match written {
        Ok(()) => Ok(display_path(folder)),
        Err(error) => Err(format!(
            "{}: {error}; name a folder with --output",
            folder.display()
        )),
    }
}

fn cargo() -> CheckResult {
    find_in_path("cargo")
        .ok_or_else(|| "not in PATH; install Rust".to_owned())
        .map(display_path)
}

fn sources() -> CheckResult {
    match checkout() {
        Some(folder) => Ok(display_path(folder)),
        None => Err("not in a checkout of csi-capacity-harness".to_owned()),
    }
}

fn kubeconfig() -> CheckResult {
    let named = std::env::var_os("KUBECONFIG").map(|files| std::env::split_paths(&files).collect::<Vec<_>>());
    let usual = || std::env::var_os("HOME").map(|home| vec![Path::new(&home).join(".kube/config")]);
    let files = named.or_else(usual).unwrap_or_default();
    let found = files.iter().find(|file| file.is_file());
    found
        .map(display_path)
        .ok_or_else(|| "none; pass one with --kubeconfig, or a dump with --file".to_owned())
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

fn display_path(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}
