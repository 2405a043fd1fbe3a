//! Conversion of OpenAPI v3 documents to v2.
//!
//! Owns the differences between v3 and v2. Does not know how the v3 documents are built.

use serde_json::{Map, Value, json};

const COMPONENTS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/definitions/";
const PARAMETERS: &str = "#/parameters/";
/// Parameters that each operation lists inline instead of as a `$ref`, because old clients detect supported features by these parameters.
const INLINE: [&str; 3] = ["dryRun", "fieldValidation", "name"];

/// Merges several v3 documents into one v2 document.
pub(super) fn merge_version3_documents(documents: &mut dyn Iterator<Item = Value>) -> Value {
    let mut shared = Map::new();
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    let mut info = Value::Null;
    let mut security = Value::Null;
    for mut document in documents {
        info = document["info"].take();
        security = document["components"]["securitySchemes"].take();
        for (path, item) in object_members(document["paths"].take()) {
            paths.insert(path, convert_path_item(item, &mut shared));
        }
        for (name, schema) in object_members(document["components"]["schemas"].take()) {
            definitions.entry(name).or_insert_with(|| convert_schema(schema));
        }
    }
    json!({
        "swagger": "2.0",
        "info": info,
        "paths": paths,
        "definitions": definitions,
        "parameters": shared,
        "securityDefinitions": security,
        "security": [{"BearerToken": []}],
    })
}

fn convert_path_item(item: Value, shared: &mut Map<String, Value>) -> Value {
    let convert = |(name, value): (String, Value)| match name.as_str() {
        "parameters" => (name, convert_parameters(value, shared).into()),
        _ => (name, convert_operation(value, shared)),
    };
    object_members(item)
        .into_iter()
        .map(convert)
        .collect::<Map<_, _>>()
        .into()
}

fn convert_operation(mut operation: Value, shared: &mut Map<String, Value>) -> Value {
    let mut all = Vec::new();
    let mut consumes = vec![Value::from("*/*")];
    if let Value::Object(mut body) = operation["requestBody"].take() {
        let content = object_members(body.remove("content").unwrap_or_default());
        let mut parameter = json!({"in": "body", "name": "body"});
        if let Some(required) = body.remove("required") {
            parameter["required"] = required;
        }
        let sent = content
            .values()
            .next()
            .map(|media| convert_schema(media["schema"].clone()));
        parameter["schema"] = sent.unwrap_or_default();
        consumes = content.into_iter().map(|(media, _)| media.into()).collect();
        all.push(parameter);
    }
    all.extend(convert_parameters(operation["parameters"].take(), shared));
    let mut produces = Vec::new();
    let answers: Map<String, Value> = object_members(operation["responses"].take())
        .into_iter()
        .map(|(code, answer)| (code, convert_response(answer, &mut produces)))
        .collect();
    if operation.get("x-kubernetes-action").is_none() {
        // As in kube-apiserver, discovery operations list the media types of the response also under `consumes`.
        consumes.clone_from(&produces);
    }
    operation["consumes"] = consumes.into();
    operation["produces"] = produces.into();
    operation["schemes"] = json!(["https"]);
    operation["responses"] = answers.into();
    operation["parameters"] = all.into();
    operation.as_object_mut().map_or(Value::Null, |members| {
        members.retain(|name, value| {
            let is_empty = value.as_array().is_some_and(Vec::is_empty);
            name != "requestBody" && !(name == "parameters" && is_empty)
        });
        Value::Object(std::mem::take(members))
    })
}

/// Converts a response of an operation to v2; adds the response's media types to `produces`.
fn convert_response(mut answer: Value, produces: &mut Vec<Value>) -> Value {
    let content = object_members(answer["content"].take());
    let mut v2 = json!({"description": answer["description"]});
    if let Some(media) = content.values().next() {
        v2["schema"] = convert_schema(media["schema"].clone());
    }
    for (media, _) in content {
        let media = Value::from(media);
        if !produces.contains(&media) {
            produces.push(media);
        }
    }
    v2
}

fn convert_parameters(list: Value, shared: &mut Map<String, Value>) -> Vec<Value> {
    let Value::Array(list) = list else {
        return Vec::new();
    };
    list.into_iter()
        .map(|parameter| {
            let parameter = convert_parameter(parameter);
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            if INLINE.contains(&name.as_str()) {
                return parameter;
            }
            let reference = json!({"$ref": format!("{PARAMETERS}{name}")});
            // If `shared` has a different parameter with this name, the operation lists this parameter inline.
            match shared.entry(name).or_insert_with(|| parameter.clone()) == &parameter {
                true => reference,
                false => parameter,
            }
        })
        .collect()
}

/// Converts a parameter to v2, in which type and format are members of the parameter and not of a schema.
fn convert_parameter(parameter: Value) -> Value {
    let mut v2 = object_members(parameter);
    let of = v2.remove("schema").unwrap_or_default();
    v2.extend(object_members(of));
    v2.into()
}

/// Converts a schema to v2: references point to `#/definitions/`, and keywords unknown to v2 are removed.
fn convert_schema(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut v2 = Map::new();
            for (name, value) in members {
                convert_schema_keyword(&mut v2, name, value);
            }
            v2.into()
        }
        Value::Array(items) => items.into_iter().map(convert_schema).collect(),
        other => other,
    }
}

fn convert_schema_keyword(v2: &mut Map<String, Value>, name: String, value: Value) {
    match (name.as_str(), value) {
        ("default", _) => {}
        ("$ref", Value::String(target)) => {
            v2.insert(name, target.replacen(COMPONENTS, DEFINITIONS, 1).into());
        }
        // In v2, `$ref` may have siblings, so the members of `allOf` are merged into the schema.
        ("allOf", Value::Array(items)) => {
            items
                .into_iter()
                .for_each(|item| v2.extend(object_members(convert_schema(item))));
        }
        // v2 has no `oneOf`: types with `oneOf` are published as `string`.
        ("oneOf", _) => {
            v2.insert("type".to_owned(), "string".into());
        }
        // Keys of `properties` are field names, which may equal schema keywords.
        ("properties", Value::Object(properties)) => {
            let properties = properties
                .into_iter()
                .map(|(name, value)| (name, convert_schema(value)));
            v2.insert(name, properties.collect::<Map<_, _>>().into());
        }
        ("items" | "additionalProperties", value) => {
            v2.insert(name, convert_schema(value));
        }
        (_, value) => {
            v2.insert(name, value);
        }
    }
}

fn object_members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
