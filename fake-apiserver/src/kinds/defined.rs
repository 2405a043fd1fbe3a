//! A resource that a definition has made, in one version.
//!
//! Owns what such a resource is beyond a row of the table: a schema, columns, and the paths of its scale. Does not know
//! how definitions are read.

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

/// A resource that a definition has made, in one version.
pub(crate) struct Defined {
    pub(super) row: Row,
    /// The number of the resource, whatever the version.
    pub(crate) shelf: usize,
    /// The versions that the definition has, served or not.
    pub(crate) versions: Arc<[&'static str]>,
    pub(crate) list_kind: String,
    /// What objects consist of.
    pub(crate) schema: Schema,
    /// What must hold of objects beside their schema.
    pub(crate) rules: Rules,
    /// The schema as the definition has it.
    pub(crate) text: Arc<Value>,
    pub(super) columns: Vec<PrinterColumn>,
    pub(crate) selectable: Vec<Selectable>,
    pub(crate) scale: Option<ScalePaths>,
    /// A warning to those who use a version that should not be used any more.
    pub(crate) deprecation: Option<String>,
    /// What of the definition says what it makes.
    pub(super) origin: Arc<Origin>,
    /// The webhook that brings objects from one version to another; none where the server does that.
    pub(crate) conversion: Option<Arc<Conversion>>,
    /// The definition is being deleted: no objects are made any more.
    pub(crate) is_ending: bool,
}

/// Where the parts of a `Scale` are in an object, as names of members.
#[derive(Debug)]
pub(crate) struct ScalePaths {
    pub(crate) replicas: Vec<String>,
    pub(crate) observed: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

/// A webhook that brings objects from one version to another.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// No other one has this number, not even of the same definition before it was changed.
    pub(crate) number: u64,
    /// Where it is, as the definition has it.
    pub(crate) client: Value,
    /// The version of reviews that it is sent; none that is known.
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

/// What of a definition says what it makes.
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
    /// Whether the definition makes what it made before.
    pub(crate) fn is_made_of(&self, definition: &Value) -> bool {
        let origin = &self.origin;
        self.forms_as(definition)
            && origin.names == definition["status"]["acceptedNames"]
            && origin.is_ending == is_true(definition, "Terminating")
    }

    /// Whether the definition gives objects the form that they had before.
    pub(crate) fn forms_as(&self, definition: &Value) -> bool {
        self.origin.uid == definition["metadata"]["uid"] && self.origin.spec == definition["spec"]
    }

    /// The field of a label by which objects can be selected, or the refusal to select by it.
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

    /// Whether objects of that version are of this resource.
    pub(crate) fn knows(&self, api_version: &str) -> bool {
        let version = api_version
            .split_once('/')
            .filter(|(group, _)| *group == self.row.group);
        version.is_some_and(|(_, version)| self.versions.contains(&version))
    }
}
