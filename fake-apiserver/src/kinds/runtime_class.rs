//! RuntimeClass: stored and shown.

use super::{MetadataChecks, PLAIN, Row};
use crate::config::release::Life;
use crate::kinds::columns::Cell::Text;
use crate::kinds::columns::{AGE, NAME, text};

pub(super) static RUNTIME_CLASS: Row = Row {
    kind: "RuntimeClass",
    metadata_checks: MetadataChecks::Machinery(2),
    plural: "runtimeclasses",
    singular: "runtimeclass",
    group: "node.k8s.io",
    namespaced: false,
    unconditional_update: false,
    columns: &[NAME, text("Handler", Text("/handler")), AGE],
    life: Life::since(20),
    ..PLAIN
};
