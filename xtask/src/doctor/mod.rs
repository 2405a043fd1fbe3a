//! `doctor`: checks this machine, and the programs of a manifest, for what runs need, and prints remedies.

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
use crate::{Exit, places, preflight};

/// Arguments of `doctor`.
#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Also check the programs of this manifest without starting them: the manifest is valid, the programs exist
    #[arg(long, value_name = "FILE")]
    sut: Option<PathBuf>,
}

/// What was found, or the problem and its remedy.
type Found = Result<String, String>;

/// One check of the machine.
struct Check {
    what: &'static str,
    look: fn() -> Found,
    /// Features that need it; `None` if everything does.
    only_for: Option<&'static str>,
}

const CHECKS: [Check; 8] = [
    needed("temporary files", temporary_files),
    needed("sockets in files", sockets),
    needed("loopback", loopback),
    needed("open files", open_files),
    needed("runs", runs),
    wanted("cargo", cargo, "selftest with defects in source code"),
    wanted("checkout", sources, "selftest with defects in source code"),
    wanted("kubeconfig", kubeconfig, "why and capture from a running cluster"),
];

const fn needed(what: &'static str, look: fn() -> Found) -> Check {
    Check {
        what,
        look,
        only_for: None,
    }
}

const fn wanted(what: &'static str, look: fn() -> Found, only_for: &'static str) -> Check {
    Check {
        what,
        look,
        only_for: Some(only_for),
    }
}

/// Runs all checks, and prints one line for each.
pub(crate) fn run(args: &DoctorArgs) -> Exit {
    let machine = CHECKS
        .iter()
        .map(|check| tell(check.what, (check.look)(), check.only_for));
    let machine = machine.fold(Exit::Passed, worse);
    let Some(path) = &args.sut else {
        return machine;
    };
    let manifest = match manifest_for(path, &case_files()) {
        Ok(manifest) => manifest,
        Err(exit) => return worse(machine, exit),
    };
    let lines = programs::look(&manifest).into_iter();
    lines
        .map(|(what, found)| tell(what, found, None))
        .fold(machine, worse)
}

/// Prints the line of a check. `only_for`: the features that need it; `None` if everything does.
fn tell(what: &str, found: Found, only_for: Option<&str>) -> Exit {
    let paint = Paint::of(&std::io::stdout());
    let (word, told, exit) = match (found, only_for) {
        (Ok(found), _) => (paint.good("ok     "), found, Exit::Passed),
        (Err(lacking), Some(purpose)) => {
            let told = format!("{lacking}; only for {purpose}");
            (paint.dim("without"), told, Exit::Passed)
        }
        (Err(lacking), None) => (paint.bad("LACKING"), lacking, Exit::Environment),
    };
    println!("{word}  {what:<16}  {told}");
    exit
}

/// The exit code for the environment takes precedence over the one for a wrong file.
fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Environment, _) | (_, Exit::Passed) => one,
        _ => other,
    }
}

fn temporary_files() -> Found {
    let folder = std::env::temp_dir();
    machine::can_write(&folder).map_err(|error| {
        let remedy = machine::remedy(&error, &folder, "set TMPDIR to another folder");
        format!("{}: {error}; {remedy}", folder.display())
    })?;
    match machine::shortage() {
        Some(shortage) => Err(shortage.to_string()),
        None => Ok(folder.display().to_string()),
    }
}

/// Checks that socket paths fit: cases put sockets into a temporary folder, and a socket path has at most 107 bytes, on some systems fewer.
fn sockets() -> Found {
    /// As long as the longest path that runs append to the temporary folder.
    const LONGEST: &str = "csi-probe-a-driver-on-a-node-with-a-long-name.sock";
    let path = std::env::temp_dir().join(format!("{}-{LONGEST}", std::process::id()));
    let listened = UnixListener::bind(&path);
    // The file exists only if the bind succeeded.
    std::fs::remove_file(&path).ok();
    match listened {
        Ok(_) => Ok("the folder for temporary files has a short name".to_owned()),
        Err(error) => Err(format!(
            "{}: {error}; set TMPDIR to a folder with a short name on an ordinary file system, such as /tmp",
            path.display()
        )),
    }
}

fn loopback() -> Found {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
        Ok(_) => Ok(Ipv4Addr::LOCALHOST.to_string()),
        Err(error) => Err(format!(
            "{}: {error}; bring the loopback interface up",
            Ipv4Addr::LOCALHOST
        )),
    }
}

fn open_files() -> Found {
    let Some((limit, _)) = machine::descriptors() else {
        return Ok("no limit".to_owned());
    };
    match preflight::fitting() {
        Some(0) => Err(format!(
            "{limit}, too few for one case; raise the limit with `ulimit -n 4096`"
        )),
        Some(fitting) => Ok(format!("{limit}: {fitting} cases at once")),
        None => Ok(format!("{limit}")),
    }
}

/// The folder of runs without `--output`.
fn runs() -> Found {
    let folder = places::of("runs");
    let written = places::private(&folder).and_then(|()| machine::can_write(&folder));
    match written {
        Ok(()) => Ok(folder.display().to_string()),
        Err(error) => Err(format!(
            "{}: {error}; name a folder with --output",
            folder.display()
        )),
    }
}

fn cargo() -> Found {
    in_path("cargo")
        .ok_or_else(|| "not in PATH; install Rust".to_owned())
        .map(shown)
}

fn sources() -> Found {
    match checkout() {
        Some(folder) => Ok(shown(folder)),
        None => Err("this program runs on its own".to_owned()),
    }
}

fn kubeconfig() -> Found {
    let named = std::env::var_os("KUBECONFIG").map(|files| std::env::split_paths(&files).collect::<Vec<_>>());
    let usual = || std::env::var_os("HOME").map(|home| vec![Path::new(&home).join(".kube/config")]);
    let files = named.or_else(usual).unwrap_or_default();
    let found = files.iter().find(|file| file.is_file());
    found
        .map(shown)
        .ok_or_else(|| "none; name one with --kubeconfig, or make a dump".to_owned())
}

fn in_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}
