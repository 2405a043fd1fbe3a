//! One version of a custom resource.
//!
//! Owns properties that only custom resources have: schema, printer columns, and the paths of the scale subresource.
//! Does not know how a CRD is parsed.

use super::definition::is_true;
use super::printer::PrinterColumn;
use super::row::{NAME, NAMESPACE, Row, not_supported};
use crate::machinery::json;
use crate::machinery::selector::Selectable;
use crate::structural::Rules;
use crate::structural::Schema;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One version of a custom resource.
pub(crate) struct Defined {
    pub(super) row: Row,
    /// The number of the resource's table in the store, the same for all versions.
    pub(crate) table_index: usize,
    /// All versions of the CRD, served or not.
    pub(crate) versions: Arc<[&'static str]>,
    pub(crate) list_kind: String,
    /// The structural schema of the objects.
    pub(crate) schema: Schema,
    /// Validation beyond the structural schema.
    pub(crate) rules: Rules,
    /// The OpenAPI schema as the CRD contains it.
    pub(crate) text: Arc<Value>,
    pub(super) columns: Vec<PrinterColumn>,
    pub(crate) selectable: Vec<Selectable>,
    pub(crate) scale: Option<ScalePaths>,
    /// The deprecation warning; None if the version is not deprecated.
    pub(crate) deprecation: Option<String>,
    /// The parts of the CRD that the resource was built from.
    pub(super) origin: Arc<Origin>,
    /// The conversion webhook; None if the strategy is `None`, where only the apiVersion changes.
    pub(crate) conversion: Option<Arc<Conversion>>,
    /// The CRD is being deleted: creating objects is rejected.
    pub(crate) is_ending: bool,
}

/// Paths of the fields of a `Scale` in an object, as lists of member names.
#[derive(Debug)]
pub(crate) struct ScalePaths {
    pub(crate) replicas: Vec<String>,
    pub(crate) observed: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

/// A conversion webhook.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// Unique to this webhook, also among earlier versions of the same CRD.
    pub(crate) number: u64,
    /// The `clientConfig` of the CRD.
    pub(crate) client: Value,
    /// The ConversionReview version to send; None if the server knows none of `conversionReviewVersions`.
    pub(crate) version: Option<&'static str>,
}

static CONVERSIONS: AtomicU64 = AtomicU64::new(0);

impl Conversion {
    pub(super) fn read(conversion: &Value) -> Option<Arc<Self>> {
        if conversion["strategy"] != "Webhook" {
            return None;
        }
        let webhook = &conversion["webhook"];
        let versions = json::texts(&webhook["conversionReviewVersions"]);
        let mut versions = versions.into_iter();
        Some(Arc::new(Self {
            number: CONVERSIONS.fetch_add(1, Ordering::Relaxed),
            client: webhook["clientConfig"].clone(),
            version: versions
                .find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| *known == version)),
        }))
    }
}

/// The parts of a CRD that its resources are built from.
pub(super) struct Origin {
    uid: Value,
    spec: Value,
    names: Value,
    is_ending: bool,
}

impl Origin {
    pub(super) fn of(definition: &Value) -> Self {
        Self {
            uid: definition["metadata"]["uid"].clone(),
            spec: definition["spec"].clone(),
            names: definition["status"]["acceptedNames"].clone(),
            is_ending: is_true(definition, "Terminating"),
        }
    }
}

impl Defined {
    /// Whether the CRD still defines the same resource, so that it need not be rebuilt.
    pub(crate) fn is_made_of(&self, definition: &Value) -> bool {
        let origin = &self.origin;
        self.forms_as(definition)
            && origin.names == definition["status"]["acceptedNames"]
            && origin.is_ending == is_true(definition, "Terminating")
    }

    /// Whether the CRD still has the same uid and spec, and with them the same structure of objects.
    pub(crate) fn forms_as(&self, definition: &Value) -> bool {
        self.origin.uid == definition["metadata"]["uid"] && self.origin.spec == definition["spec"]
    }

    /// The field of a field label; Err with the message for an unknown label.
    pub(super) fn select_by(&self, label: &str) -> Result<Selectable, String> {
        match label {
            "metadata.name" => Ok(NAME),
            "metadata.namespace" if self.row.namespaced => Ok(NAMESPACE),
            label => {
                let found = self.selectable.iter().find(|field| field.label == label);
                found.copied().ok_or_else(|| not_supported(label))
            }
        }
    }

    /// Whether the apiVersion is a version of this resource.
    pub(crate) fn knows(&self, api_version: &str) -> bool {
        let version = api_version
            .split_once('/')
            .filter(|(group, _)| *group == self.row.group);
        version.is_some_and(|(_, version)| self.versions.contains(&version))
    }
}
