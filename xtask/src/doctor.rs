//! `doctor`: what this machine has of what runs need, and what to do about the rest.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use suites::harness::invocation::checkout;
use suites::harness::machine;
use suites::harness::report::Paint;

use crate::out::println;
use crate::{Exit, places, preflight};

/// What was found, or what lacks and how to get it.
type Found = Result<String, String>;

/// Something that the machine may have.
struct Check {
    what: &'static str,
    look: fn() -> Found,
    /// What can't be done without it; none: nothing can.
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

/// Looks at everything, and prints a line each.
pub(crate) fn run() -> Exit {
    let paint = Paint::of(&std::io::stdout());
    let mut exit = Exit::Passed;
    for check in CHECKS {
        let (word, told) = match ((check.look)(), check.only_for) {
            (Ok(found), _) => (paint.good("ok     "), found),
            (Err(lacking), Some(purpose)) => (paint.dim("without"), format!("{lacking}; only for {purpose}")),
            (Err(lacking), None) => {
                exit = Exit::Environment;
                (paint.bad("LACKING"), lacking)
            }
        };
        println!("{word}  {:<16}  {told}", check.what);
    }
    exit
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

/// The sockets of a case are in a temporary folder, and the path of a socket has 107 bytes at most, on some systems fewer.
fn sockets() -> Found {
    /// As long as what runs put behind the folder for temporary files.
    const LONGEST: &str = "csi-probe-a-driver-on-a-node-with-a-long-name.sock";
    let path = std::env::temp_dir().join(format!("{}-{LONGEST}", std::process::id()));
    let listened = UnixListener::bind(&path);
    // It is there only if that went well.
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

/// Where runs are kept without `--output`.
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
