//! The mutants of the references: programs with a mistake in their logic, which no program that ships carries.
//!
//! A second program has this command line and the mutants besides. A command that needs one goes on as that program, which is built
//! from the sources at that moment.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use suites::harness::invocation::checkout;
use suites::harness::system::Systems;
use suites::selftest::Reached;

use crate::defect::Defect;
use crate::interrupt::is_interrupted;
use crate::out::eprintln;
use crate::{Exit, references};

static MUTANTS: OnceLock<Mutants> = OnceLock::new();

/// Package of the program with the mutants.
const PACKAGE: &str = "mutants";

/// The mutants of a program.
#[derive(Debug)]
pub struct Mutants {
    /// The references by the name of a mutant, one of them with that mistake; none if there is no such mutant.
    pub systems: fn(&str) -> Option<Systems>,
    /// The references without a mistake, and what tells which mutants a run of them has come past.
    pub observed: fn() -> (Systems, Reached),
}

/// From now on, this program has mutants.
pub fn bring(mutants: Mutants) {
    // A program says so once, before anything else.
    let _ = MUTANTS.set(mutants);
}

/// The references with that mistake.
pub(crate) fn systems(name: &'static str) -> Systems {
    let systems = MUTANTS.get().and_then(|mutants| (mutants.systems)(name));
    systems.unwrap_or_else(|| panic!("no edit of harness/mutants/mutants.diff makes {name}"))
}

/// The references without a mistake, and what tells which mutants a run of them has come past.
pub(crate) fn observed() -> (Systems, Reached) {
    match MUTANTS.get() {
        Some(mutants) => (mutants.observed)(),
        None => (references::systems(), Box::new(BTreeSet::new)),
    }
}

/// Whether this program has mutants, or can go on as one that has.
pub(crate) fn can_be_at_hand() -> bool {
    MUTANTS.get().is_some() || checkout().is_some()
}

/// Where there is no checkout, nothing can be compiled. Says how many that are.
pub(crate) fn leave_out_what_is_not_at_hand(defects: &mut Vec<Defect>) {
    if can_be_at_hand() {
        return;
    }
    let all = defects.len();
    defects.retain(|defect| defect.mutant().is_none());
    eprintln!(
        "{} of {all} defects are left out: they are mistakes in the source code of the references, which `cargo xtask` builds in a \
         checkout of csi-capacity-harness",
        all - defects.len()
    );
}

/// Makes sure that this program has what is needed for these defects: goes on as the other program where one is a mutant. Comes back
/// only if nothing is missing, or with the exit code of a failure.
pub(crate) fn at_hand(defects: impl IntoIterator<Item = Defect>) -> Result<(), Exit> {
    let mut mutants = defects.into_iter().filter_map(Defect::mutant);
    let Some(name) = mutants.next().filter(|_| MUTANTS.get().is_none()) else {
        return Ok(());
    };
    let Some(checkout) = checkout() else {
        eprintln!(
            "error: {name} is a mistake in the source code of a reference, which cargo builds in a checkout of \
             csi-capacity-harness; run `cargo xtask` there, or choose another defect"
        );
        return Err(Exit::Environment);
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut other = Command::new(cargo);
    other
        .args(["run", "--quiet", "--package", PACKAGE, "--manifest-path"])
        .arg(checkout.join("Cargo.toml"))
        .args(["--profile", &profile()]);
    for name in std::env::vars_os().map(|(name, _)| name) {
        if is_of_a_package(&name) {
            other.env_remove(name);
        }
    }
    // The other program hears signals from its own beginning.
    if is_interrupted() {
        eprintln!("interrupted: nothing has run");
        return Err(Exit::Interrupted);
    }
    let error = other.arg("--").args(std::env::args_os().skip(1)).exec();
    eprintln!("error: the program with the mutants does not start: {error}; is cargo in PATH?");
    Err(Exit::Environment)
}

/// The profile with which this program was built, so that the other one is as fast: cargo puts programs into a folder of that name.
fn profile() -> String {
    let built_in = |program: PathBuf| {
        let folder = program.parent()?;
        // Cargo marks its target folders; an installed program is in none.
        folder.parent()?.join("CACHEDIR.TAG").exists().then_some(())?;
        folder.file_name()?.to_str().map(str::to_owned)
    };
    let folder = std::env::current_exe().ok().and_then(built_in);
    match folder.as_deref() {
        Some("debug") => "dev".to_owned(),
        // A mutant may panic, and others are to run after it.
        Some("dist") => "release".to_owned(),
        Some(profile) => profile.to_owned(),
        None if cfg!(debug_assertions) => "dev".to_owned(),
        None => "release".to_owned(),
    }
}

/// Whether cargo tells a program with that variable which package it belongs to. Some build scripts run again when it changes, and with
/// them nearly everything would be built anew.
fn is_of_a_package(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
}
