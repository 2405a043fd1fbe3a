//! Defaulting by a structural schema, and removal of `null` values of fields that are not nullable.

use fake_apiserver::extension::schema::Schema;
use serde_json::Value;

/// Applies the defaults of a schema to missing fields and to `null` values of fields that are not nullable.
pub(crate) fn default(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => {
            for (name, property) in &schema.properties {
                if let Some(default) = &property.default
                    && members
                        .get(name)
                        .is_none_or(|present| is_wrongly_null(present, property))
                {
                    members.insert(name.clone(), default.clone());
                }
            }
            let additional = schema.additional_schema();
            for (name, member) in members.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    default(member, property);
                } else if let Some(additional) = additional {
                    replace(member, additional);
                }
            }
        }
        Value::Array(items) => {
            for (item, schema) in items
                .iter_mut()
                .filter_map(|item| Some((item, schema.items.as_deref()?)))
            {
                replace(item, schema);
            }
        }
        _ => {}
    }
}

fn replace(value: &mut Value, schema: &Schema) {
    if is_wrongly_null(value, schema) {
        *value = schema.default.clone().unwrap_or_default();
    }
    default(value, schema);
}

/// Removes `null` members whose schema is not nullable and has no default.
pub(crate) fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => members.retain(|name, member| match schema.member(name) {
            Some(inner) if is_wrongly_null(member, inner) && inner.default.is_none() => false,
            Some(inner) => {
                drop_nulls(member, inner);
                true
            }
            None => true,
        }),
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                items.iter_mut().for_each(|item| drop_nulls(item, schema));
            }
        }
        _ => {}
    }
}

fn is_wrongly_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable
}
