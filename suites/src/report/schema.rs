//! JSON Schema of `report.json`, generated from the Rust types. Does not know reports.

use schemars::generate::SchemaSettings;

use super::record::{FORMAT, Report};

/// The schema (draft 2020-12) as JSON, with a final newline.
pub fn schema() -> String {
    // The schema of serialized reports: every field is written, so every field is required.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Report>();
    schema.insert("title".to_owned(), "report.json of csi-capacity-harness".into());
    if let Some(format) = schema.pointer_mut("/properties/format") {
        format["const"] = FORMAT.into();
    }
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
