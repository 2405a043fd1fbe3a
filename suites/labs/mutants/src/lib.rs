//! The reference publisher and scheduler with injected bugs (mutants), one active at a time, to verify that the cases detect them.
//!
//! `build.rs` applies the edits of `mutants.diff` to copies of the sources. No released program contains mutants: this crate is built for
//! `cargo xtask selftest`, and for runs with `--defect`. `suites/defects.yaml` describes each mutant and the cases that detect it. Defects
//! that can be simulated by changes of the traffic need no edit of the sources, so they are not in this crate.

mod mutant;
#[path = "../../../references/src/systems.rs"]
mod systems_in_process;
mod thread;

use std::sync::Arc;

use parking_lot::Mutex;
use references::Mutants;
use suites::ExecutedMutants;
use suites::harness::scenario::Role;
use suites::harness::system::Systems;

#[allow(warnings, clippy::all, reason = "the original sources are linted")]
mod publisher {
    include!(concat!(env!("OUT_DIR"), "/publisher/lib.rs"));
}

#[allow(warnings, clippy::all, reason = "the original sources are linted")]
mod scheduler {
    include!(concat!(env!("OUT_DIR"), "/scheduler/lib.rs"));
}

/// The names of all mutants.
pub const NAMES: &[&str] = &include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// The mutants, for registration with the command line.
pub const MUTANTS: Mutants = Mutants { systems, observed };

// A `MutantSet` has one bit per mutant, and bit 0 for the unmodified code.
const _: () = assert!(NAMES.len() < mutant::MutantSet::BITS as usize);

/// The unmodified references, and a function that returns the mutants whose code a run in simulated time executed. A mutant whose code was
/// not executed would not change the run.
fn observed() -> (Systems, ExecutedMutants) {
    let reached = Arc::new(Mutex::new(0));
    let mut systems = systems_in_process::systems();
    for system in systems.by_role.values_mut() {
        system.run = thread::record_executed_mutants(Arc::clone(&system.run), Arc::clone(&reached));
    }
    let named = move || {
        let numbers = *reached.lock();
        let names = (1..).zip(NAMES.iter().copied());
        names
            .filter_map(|(number, name)| (numbers & (1 << number) != 0).then_some(name))
            .collect()
    };
    (systems, Box::new(named))
}

/// The references with the named mutant active; `None` if no mutant has this name.
fn systems(name: &str) -> Option<Systems> {
    let number = 1 + NAMES.iter().position(|known| *known == name)?;
    let (broken, _) = name.split_once('-')?;
    let mut systems = systems_in_process::systems();
    for (role, system) in &mut systems.by_role {
        let is_broken = match role {
            Role::Publisher | Role::Cleaner => ["publisher", "cleaner"].contains(&broken),
            role => role.as_str() == broken,
        };
        if is_broken {
            system.run = thread::with_mutant(number, Arc::clone(&system.run));
        }
    }
    Some(systems)
}
