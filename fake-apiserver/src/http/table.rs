//! The `Table` and `PartialObjectMetadata` forms of objects.
//!
//! Owns the format of tables and partial metadata. The cells of a kind are defined in its resource definition.

use super::negotiate::ResponseForm;
use crate::kinds::Kind;
use crate::kinds::columns::{self, Columns};
use crate::object::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

/// A table with one row and the resourceVersion of its object. Only the first event of a watch includes the column definitions.
pub(super) fn one_row_table(
    kind: &Kind,
    object: &Object,
    form: &ResponseForm,
    version: &str,
    with_columns: bool,
) -> Value {
    let document = object.document();
    let rows = json!([row(kind, &document, form, version, Timestamp::now())]);
    let metadata = json!({"resourceVersion": document["metadata"]["resourceVersion"]});
    let columns = match with_columns {
        true => columns_of(kind, &document).definitions(),
        false => Value::Null,
    };
    table(&columns, &rows, &metadata, version)
}

pub(super) fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object["metadata"],
    })
}

pub(super) fn row(kind: &Kind, object: &Value, form: &ResponseForm, version: &str, now: Timestamp) -> Value {
    // Cells are computed from the object in its storage version.
    let stored = kind.view.map(|view| (view.to_stored)(object));
    let stored = stored.as_ref().unwrap_or(object);
    let mut row = json!({"cells": columns_of(kind, object).row(stored, now)});
    match form.include_object.as_str() {
        "None" => row["object"] = Value::Null,
        "Object" => row["object"] = object.clone(),
        _ => row["object"] = partial(object, version),
    }
    row
}

pub(super) fn table(columns: &Value, rows: &Value, metadata: &Value, version: &str) -> Value {
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

/// The table columns for an object. A `Scale` subresource has columns of its own.
fn columns_of<'a>(kind: &'a Kind, object: &Value) -> Columns<'a> {
    match object["kind"].as_str() {
        Some("Scale") if kind.kind != "Scale" => Columns::Table(columns::SCALE),
        _ => kind.columns(),
    }
}
