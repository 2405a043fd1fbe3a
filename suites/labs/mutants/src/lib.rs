//! The references with mistakes in their logic, one chosen at a time, for holding the cases against them.
//!
//! The mistakes are the edits of `mutants.diff`, which `build.rs` puts into copies of the sources. Nothing that ships carries one: this
//! crate is built for `cargo xtask selftest`, and for runs with `--defect`. What the mistakes are for, and which cases find them, is said
//! in `suites/defects.yaml`. Mistakes that show on the wire are none of this crate's: they need no other source code.

mod mutant;
#[path = "../../../references/src/systems.rs"]
mod systems_in_process;
mod thread;

use std::sync::Arc;

use parking_lot::Mutex;
use references::Mutants;
use suites::Reached;
use suites::harness::scenario::Role;
use suites::harness::system::Systems;

/// The publisher.
#[allow(warnings, clippy::all, reason = "the copy is checked where it comes from")]
mod publisher {
    include!(concat!(env!("OUT_DIR"), "/publisher/lib.rs"));
}

/// The scheduler.
#[allow(warnings, clippy::all, reason = "the copy is checked where it comes from")]
mod scheduler {
    include!(concat!(env!("OUT_DIR"), "/scheduler/lib.rs"));
}

/// The names of all mutants.
pub const NAMES: &[&str] = &include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// What this crate brings to the command line.
pub const MUTANTS: Mutants = Mutants { systems, observed };

// A bit for each, and one for none.
const _: () = assert!(NAMES.len() < mutant::Numbers::BITS as usize);

/// The references without a mistake, and what tells after a simulated run which mutants it has come past: with any other mutant, the run
/// would have been the same.
fn observed() -> (Systems, Reached) {
    let reached = Arc::new(Mutex::new(0));
    let mut systems = systems_in_process::systems();
    for system in systems.by_role.values_mut() {
        system.run = thread::observed(Arc::clone(&system.run), Arc::clone(&reached));
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

/// The references, that of the mutant with its mistake. None if there is no such mutant.
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
            system.run = thread::apart(number, Arc::clone(&system.run));
        }
    }
    Some(systems)
}
