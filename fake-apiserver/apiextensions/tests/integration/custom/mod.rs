//! Tests of CRDs and custom resources, by area.

mod apply;
mod conversion;
mod definitions;
mod documents;
mod ending;
mod fixtures;
mod objects;
mod parts;
mod rules;
mod schemas;
mod versions;

use super::client;
use fixtures::{DEFINITIONS, FOOS, causes, condition, definition, foo, foos, version, with_spec};
