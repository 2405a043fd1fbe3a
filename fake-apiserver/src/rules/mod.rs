//! Validation rules in CEL (`x-kubernetes-validations`).
//!
//! Owns what a rule means for a value: reading, checking against a schema, estimating and counting its cost, evaluating,
//! and the texts of failures. Expressions of admission are read and evaluated here, too. The grammar is that of the `cel`
//! crate; values, functions and costs are Kubernetes' own, for they depend on schemas. Does not know definitions, resources
//! or requests.

mod authority;
mod call_estimate;
mod check;
mod constants;
mod declared;
mod definition;
mod depth;
mod estimate;
mod evaluate;
mod expression;
mod failure;
mod functions;
mod instantiation;
mod instants;
mod json;
mod libraries;
mod literals;
mod macros;
mod names;
mod program;
#[cfg(test)]
mod recorded;
mod records;
mod rule;
mod scope;
mod signatures;
mod span;
mod tree;
mod type_names;
mod types;
mod unify;
mod validate;
mod value;
mod walk;
mod weights;

pub(crate) use authority::{Authority, Check};
pub(crate) use definition::{validate as validate_definition, validate_words as validate_definition_words};
pub(crate) use expression::{Budget, Declarations, Expression, Inputs, ObjectForm, Returns, Variables};
pub(crate) use names::RESERVED;
pub(crate) use tree::Rules;
pub(crate) use validate::validate;
