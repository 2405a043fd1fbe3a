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
pub(crate) use defaults::{add_stored_version, default};
pub(crate) use names::AcceptedNames;
pub(crate) use read::{has_same_spec, is_up_to_date, kinds};
pub(crate) use rules::{validate, validate_create, validate_name, validate_status, validate_update};
pub(crate) use status::{CLEANUP, accept_names, are_names_accepted, mark_terminating};
pub(crate) use warnings::warn;
