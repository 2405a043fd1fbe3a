//! The weights of what expressions cost: those of CEL, and those of Kubernetes for its libraries.
//!
//! Estimates and costs are reckoned with the same ones.

/// One way through a text, for each character.
pub(super) const CHARACTER: f64 = 0.1;
/// A pattern, for each of its characters and each that it is tried at.
pub(super) const PATTERN: f64 = 0.25;
/// A list that a function makes, and the call.
pub(super) const LIST_MADE: u64 = 11;
/// The list that a selector is read into.
pub(super) const SELECTOR: u64 = 10;
/// What a selector consists of, for each term; every second character may be one.
pub(super) const SELECTOR_TERM: f64 = 50.0;
/// How many terms a selector may have, for each character.
pub(super) const SELECTOR_TERMS: f64 = 0.5;
/// Two entries of a list that are compared, once by each.
pub(super) const COMPARISON: f64 = 2.0;
/// The same, where they are texts.
pub(super) const COMPARISON_OF_TEXTS: f64 = COMPARISON + CHARACTER;
/// A question to those who decide about permissions.
pub(super) const CHECK: u64 = 350_000;
