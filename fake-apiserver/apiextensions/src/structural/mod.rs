//! Structural schemas of custom resources.
//!
//! Owns pruning, defaulting, and validation with kube-apiserver's messages. Does not know
//! CustomResourceDefinitions, resources or requests.

mod alternatives;
mod correlated;
mod defaults;
mod embedded;
mod failure;
mod formats;
mod lists;
mod numbers;
mod prune;
mod read;
mod rule_definitions;
mod rules;
mod trail;
mod validate;
mod verdict;

pub(crate) use correlated::OldValue;
pub(crate) use defaults::{default, drop_nulls};
pub(crate) use embedded::{coerce, validate as validate_embedded};
pub(crate) use formats::is_known as is_known_format;
pub(crate) use lists::validate as validate_lists;
pub(crate) use prune::prune;
pub(crate) use read::{TYPES, read};
pub(crate) use rule_definitions::{validate_expressions, validate_rules};
pub(crate) use rules::Rules;
pub(crate) use validate::validate;
