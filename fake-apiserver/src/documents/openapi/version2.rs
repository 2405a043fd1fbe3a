//! Version 2 of a document: everything that the documents of version 3 say, in the form of its predecessor.
//!
//! Owns what became of what between the versions. Does not know where the documents come from.

use super::schemas::COMPONENTS;
use serde_json::{Map, Value, json};

/// Where references to types lead.
const DEFINITIONS: &str = "#/definitions/";
/// Where references to parameters lead.
const PARAMETERS: &str = "#/parameters/";
/// Parameters that every operation lists in full: clients look for them there to learn whether they are supported.
const INLINE: [&str; 3] = ["dryRun", "fieldValidation", "name"];

/// One document out of several.
pub(super) fn from(documents: impl Iterator<Item = Value>) -> Value {
    let mut shared = Map::new();
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    let mut info = Value::Null;
    let mut security = Value::Null;
    for mut document in documents {
        info = document["info"].take();
        security = document["components"]["securitySchemes"].take();
        for (path, item) in members(document["paths"].take()) {
            paths.insert(path, self::item(item, &mut shared));
        }
        for (name, schema) in members(document["components"]["schemas"].take()) {
            definitions.entry(name).or_insert_with(|| self::schema(schema));
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

fn item(item: Value, shared: &mut Map<String, Value>) -> Value {
    let told = |(name, value): (String, Value)| match name.as_str() {
        "parameters" => (name, parameters(value, shared).into()),
        _ => (name, operation(value, shared)),
    };
    members(item).into_iter().map(told).collect::<Map<_, _>>().into()
}

fn operation(mut operation: Value, shared: &mut Map<String, Value>) -> Value {
    let mut all = Vec::new();
    let mut consumes = vec![Value::from("*/*")];
    if let Value::Object(mut body) = operation["requestBody"].take() {
        let content = members(body.remove("content").unwrap_or_default());
        let mut parameter = json!({"in": "body", "name": "body"});
        if let Some(required) = body.remove("required") {
            parameter["required"] = required;
        }
        let sent = content
            .values()
            .next()
            .map(|media| schema(media["schema"].clone()));
        parameter["schema"] = sent.unwrap_or_default();
        consumes = content.into_iter().map(|(media, _)| media.into()).collect();
        all.push(parameter);
    }
    all.extend(parameters(operation["parameters"].take(), shared));
    let mut produces = Vec::new();
    let answers: Map<String, Value> = members(operation["responses"].take())
        .into_iter()
        .map(|(code, answer)| (code, self::answer(answer, &mut produces)))
        .collect();
    if operation.get("x-kubernetes-action").is_none() {
        // Operations that only read list the media types that they produce as those that they consume.
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

/// An answer, with the media types that it comes in.
fn answer(mut answer: Value, produces: &mut Vec<Value>) -> Value {
    let content = members(answer["content"].take());
    let mut told = json!({"description": answer["description"]});
    if let Some(media) = content.values().next() {
        told["schema"] = schema(media["schema"].clone());
    }
    for (media, _) in content {
        let media = Value::from(media);
        if !produces.contains(&media) {
            produces.push(media);
        }
    }
    told
}

fn parameters(list: Value, shared: &mut Map<String, Value>) -> Vec<Value> {
    let Value::Array(list) = list else {
        return Vec::new();
    };
    list.into_iter()
        .map(|parameter| {
            let parameter = self::parameter(parameter);
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            if INLINE.contains(&name.as_str()) {
                return parameter;
            }
            let reference = json!({"$ref": format!("{PARAMETERS}{name}")});
            // Another one may have that name.
            match shared.entry(name).or_insert_with(|| parameter.clone()) == &parameter {
                true => reference,
                false => parameter,
            }
        })
        .collect()
}

/// A parameter, with the content of its schema in the parameter itself.
fn parameter(parameter: Value) -> Value {
    let mut told = members(parameter);
    let of = told.remove("schema").unwrap_or_default();
    told.extend(members(of));
    told.into()
}

/// A schema: references lead elsewhere, and what version 2 cannot express is left out.
fn schema(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut told = Map::new();
            for (name, value) in members {
                put(&mut told, name, value);
            }
            told.into()
        }
        Value::Array(items) => items.into_iter().map(self::schema).collect(),
        other => other,
    }
}

fn put(told: &mut Map<String, Value>, name: String, value: Value) {
    match (name.as_str(), value) {
        ("default", _) => {}
        ("$ref", Value::String(target)) => {
            told.insert(name, target.replacen(COMPONENTS, DEFINITIONS, 1).into());
        }
        // Here, other members may stand beside a reference.
        ("allOf", Value::Array(items)) => {
            items
                .into_iter()
                .for_each(|item| told.extend(members(schema(item))));
        }
        // One of several types is a string to those who know but one.
        ("oneOf", _) => {
            told.insert("type".to_owned(), "string".into());
        }
        // Names of fields may be words of schemas.
        ("properties", Value::Object(properties)) => {
            let properties = properties.into_iter().map(|(name, value)| (name, schema(value)));
            told.insert(name, properties.collect::<Map<_, _>>().into());
        }
        ("items" | "additionalProperties", value) => {
            told.insert(name, schema(value));
        }
        (_, value) => {
            told.insert(name, value);
        }
    }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
