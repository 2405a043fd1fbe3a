//! The reference publisher and scheduler as systems under test: by default, in a dialect, or with an injected defect of the catalogue.
//!
//! Mutants are compiled by a crate of their own, which registers them here. Knows no command line.

mod built_in;
mod defect;
mod dialects;
mod systems;

use capacity_publisher as publisher;
use capacity_scheduler as scheduler;

pub use built_in::{Mutants, built_in, has_mutants, in_dialect, observed, register};
pub use defect::Defect;
pub use dialects::{Dialect, FREEDOMS, Freedom};
