//! The JSON Schema of `report.json`, made from the types that are written. Knows no record.

use harness::scenario::Level;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};

use super::{FORMAT, Report, VERDICTS};

/// The schema (draft 2020-12) as JSON, with a line end.
pub fn schema() -> String {
    // A record is written in full, so a reader may count on every field: the contract is about what is written.
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

fn words() -> Vec<&'static str> {
    VERDICTS.iter().map(|(word, _)| *word).collect()
}

/// A verdict.
pub(super) fn verdicts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": words()})
}

/// Counts by verdict.
pub(super) fn counts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": {"enum": words()},
        "additionalProperties": {"type": "integer", "minimum": 1},
    })
}

/// A level.
pub(super) fn levels(_: &mut SchemaGenerator) -> Schema {
    let levels = [Level::Core, Level::Extended, Level::Provisional];
    let words: Vec<_> = levels.iter().map(|level| serde_json::json!(level)).collect();
    json_schema!({"type": "string", "enum": words})
}
