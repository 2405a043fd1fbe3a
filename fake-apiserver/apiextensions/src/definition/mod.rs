//! CustomResourceDefinitions: validation, the resources that they define, and their status.

mod conditions;
mod default_rules;
mod defaults;
mod names;
mod read;
mod rules;
mod schema_rules;
mod status;
mod structure_rules;
mod warnings;

pub(crate) use conditions::{condition, is_true, set_condition};
pub(crate) use defaults::{default, store};
pub(crate) use names::AcceptedNames;
pub(crate) use read::{forms_as, is_made_of, kinds};
pub(crate) use rules::{validate, validate_create, validate_name, validate_status, validate_update};
pub(crate) use status::{CLEANUP, accepted, conflicts, end};
pub(crate) use warnings::warn;
