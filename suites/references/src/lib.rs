//! The reference publisher and scheduler as systems under test: unmodified, in a dialect (with allowed alternative behaviour), or with an
//! injected defect.
//!
//! The crate `mutants` compiles the mutants and registers them here. Does not know the command line.

mod built_in;
mod defect;
mod dialects;
mod systems;

use capacity_publisher as publisher;
use capacity_scheduler as scheduler;

pub use built_in::{Mutants, built_in, has_mutants, in_dialect, observed_references, register};
pub use defect::Defect;
pub use dialects::{CHOICES, Choice, Dialect};
