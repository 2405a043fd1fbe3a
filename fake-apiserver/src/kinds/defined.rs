//! One version of a custom resource.
//!
//! Owns properties that only custom resources have: schema, printer columns, and the paths of the scale subresource. Another crate reads
//! them from a CRD, and decodes and validates the objects (`CustomResourceStrategy`).

use super::part::Part;
use super::printer::PrinterColumn;
use super::resource_definition::{NAME, NAMESPACE, ResourceDefinition, not_supported};
use crate::machinery::error_list::ErrorList;
use crate::machinery::selector::Selectable;
use crate::outbound::WebhookClient;
use crate::schema::FormError;
use crate::schema::structural::Schema;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One version of a custom resource.
pub struct CustomResourceVersion {
    /// The properties that custom and built-in resources have in common, such as names.
    pub definition: ResourceDefinition,
    /// The index of the resource's table in the store, the same for all versions.
    pub table_index: usize,
    /// All versions of the CRD, served or not.
    pub versions: Arc<[&'static str]>,
    /// The kind of a list of objects, such as `FooList`.
    pub list_kind: String,
    /// The structural schema, for decoding and validation.
    pub schema: Schema,
    /// Decodes and validates the objects.
    pub strategy: Arc<dyn CustomResourceStrategy>,
    /// The OpenAPI schema of the custom resource as written in the CRD.
    pub text: Arc<Value>,
    /// The columns of `kubectl get` that the CRD defines (`additionalPrinterColumns`).
    pub columns: Vec<PrinterColumn>,
    /// Fields in `selectableFields` of the version, for field selectors.
    pub selectable: Vec<Selectable>,
    /// Paths of the fields for the `scale` subresource; `None` if the version has no such subresource.
    pub scale: Option<ScalePaths>,
    /// The deprecation warning, if the version is deprecated.
    pub deprecation: Option<String>,
    /// The CRD fields from which this version was built. They are compared to detect a change of the CRD.
    pub origin: Arc<Value>,
    /// The conversion webhook. `None` if the conversion strategy is `None`, which only changes the apiVersion.
    pub conversion: Option<Arc<Conversion>>,
    /// Whether the CRD is being deleted, so that creating objects is rejected.
    pub is_ending: bool,
}

/// Decoding and validation of custom resources by their schema (`rest.RESTCreateUpdateStrategy`).
pub trait CustomResourceStrategy: Send + Sync {
    /// Prunes and coerces an object. Returns the paths of pruned fields.
    fn prune_and_coerce(
        &self,
        defined: &CustomResourceVersion,
        object: &mut Value,
        nulls: NullHandling,
    ) -> Result<Vec<String>, SchemaMismatch>;

    /// Sets defaults of the schema for fields that the object does not have.
    fn default(&self, defined: &CustomResourceVersion, object: &mut Value);

    /// Validates a new object and returns warnings.
    fn validate(
        &self,
        defined: &CustomResourceVersion,
        object: &Value,
        errors: &mut ErrorList,
    ) -> Vec<String>;

    /// Validates the update of an object or of its status, given as `(new, old)`, and returns warnings.
    fn validate_update(
        &self,
        defined: &CustomResourceVersion,
        part: Part,
        objects: (&Value, &Value),
        errors: &mut ErrorList,
    ) -> Vec<String>;
}

/// How to handle a `null` in a field that is not nullable and has no default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NullHandling {
    /// The `null` is removed, so that the field is unset.
    Dropped,
    /// The `null` is retained, so that validation rejects it: in a server-side apply, each field expresses an intent.
    Retained,
}

/// Why an object does not match the schema of its resource.
pub enum SchemaMismatch {
    /// The `metadata` of the object has invalid fields.
    Form(FormError),
    /// An object in a field with `x-kubernetes-embedded-resource` has an invalid apiVersion, kind or `metadata`.
    EmbeddedObject(Box<EmbeddedObjectError>),
}

/// The error for an invalid apiVersion, kind or `metadata` in an object with `x-kubernetes-embedded-resource`.
#[derive(Debug)]
pub struct EmbeddedObjectError {
    /// Path of the invalid field in the custom resource.
    pub path: String,
    /// The value of the invalid field.
    pub value: Value,
    /// Why the value of the field is invalid.
    pub why: String,
}

/// Paths in a custom resource of the fields that a `Scale` contains, each as a list of field names.
#[derive(Debug)]
pub struct ScalePaths {
    /// Path of the desired replicas (`specReplicasPath`).
    pub replicas: Vec<String>,
    /// Path of the observed replicas (`statusReplicasPath`).
    pub observed: Vec<String>,
    /// Path of the label selector (`labelSelectorPath`), if the CRD has one.
    pub selector: Option<Vec<String>>,
}

/// The conversion webhook of a CRD, and a number that identifies it.
pub struct Conversion {
    /// Identifies this conversion webhook: a changed CRD gets a new number.
    pub(crate) number: u64,
    pub(crate) webhook: Box<dyn ConversionWebhook>,
}

/// Converts custom resources by calling a webhook.
pub trait ConversionWebhook: Send + Sync {
    /// Converts objects to the version `to` of their resource. The result has the order of `objects`; the error is a message.
    fn convert<'a>(
        &'a self,
        client: &'a dyn WebhookClient,
        to: &'a CustomResourceVersion,
        objects: Vec<Value>,
    ) -> BoxFuture<'a, Result<Vec<Value>, String>>;
}

static CONVERSIONS: AtomicU64 = AtomicU64::new(0);

impl Conversion {
    /// Creates a conversion with a number that no other conversion in this process has.
    pub fn new(webhook: impl ConversionWebhook + 'static) -> Self {
        Self {
            number: CONVERSIONS.fetch_add(1, Ordering::Relaxed),
            webhook: Box::new(webhook),
        }
    }
}

impl CustomResourceVersion {
    /// The field that field selectors call `label`, such as `metadata.name`. The error is the message for an unknown label.
    pub(super) fn select_by(&self, label: &str) -> Result<Selectable, String> {
        match label {
            "metadata.name" => Ok(NAME),
            "metadata.namespace" if self.definition.namespaced => Ok(NAMESPACE),
            label => {
                let found = self.selectable.iter().find(|field| field.label == label);
                found.copied().ok_or_else(|| not_supported(label))
            }
        }
    }

    /// Whether an apiVersion has the group of this resource and one of its versions, served or not.
    pub(crate) fn has_api_version(&self, api_version: &str) -> bool {
        let version = api_version
            .split_once('/')
            .filter(|(group, _)| *group == self.definition.group);
        version.is_some_and(|(_, version)| self.versions.contains(&version))
    }
}
