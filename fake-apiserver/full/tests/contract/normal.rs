//! Normalizes values that vary between runs: UIDs, resource versions, times, generated names, the id of the run.

use serde_json::{Map, Value};

/// Normalizes a response. `id`: the id of the run, which is part of object names.
pub(crate) fn normalize(value: Value, id: &str) -> Value {
    match value {
        Value::Object(members) => {
            let generate = members
                .get("generateName")
                .and_then(Value::as_str)
                .map(str::to_owned);
            let members = members.into_iter().map(|(name, value)| {
                let value = normalize_member(&name, value, generate.as_deref(), id);
                (normalize_text(&name, id), value)
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(|item| normalize(item, id)).collect(),
        Value::String(content) => normalize_text(&content, id).into(),
        other => other,
    }
}

fn normalize_member(name: &str, value: Value, generate: Option<&str>, id: &str) -> Value {
    match (name, &value, generate) {
        ("resourceVersion", Value::String(text), _) if !["", "0"].contains(&text.as_str()) => {
            "<revision>".into()
        }
        ("continue", Value::String(text), _) if !text.is_empty() => "<continue>".into(),
        ("name", Value::String(text), Some(base))
            if text.len() == base.len() + 5 && text.starts_with(base) =>
        {
            format!("{}<5 characters>", normalize_text(base, id)).into()
        }
        ("managedFields", Value::Array(entries), _) => {
            // The server sorts managedFields entries by time in seconds, so their order may vary.
            let mut entries: Vec<Value> = entries.iter().map(|entry| normalize(entry.clone(), id)).collect();
            let order = |entry: &Value| {
                ["operation", "manager", "subresource", "apiVersion"].map(|field| entry[field].to_string())
            };
            entries.sort_by_key(order);
            entries.into()
        }
        _ => normalize(value, id),
    }
}

/// Replaces the parts of a string that vary between runs, such as UIDs and times.
pub(crate) fn normalize_text(content: &str, id: &str) -> String {
    if content.parse::<jiff::Timestamp>().is_ok() && content.ends_with('Z') {
        return "<time>".to_owned();
    }
    let content = content.replace(id, "${id}");
    let content = without_uids(&content);
    let content = without_token_volume(&content);
    let content = without_document(&content);
    ["current: ", "ResourceVersion: ", "UID: ", "in record ("]
        .iter()
        .fold(content, |content, before| without_number(&content, before))
}

/// Replaces the patched object in error messages of JSON patches and merge patches by a placeholder.
fn without_document(content: &str) -> String {
    const BEFORE: &str = "patch: Invalid value: \"{";
    const CAUSE: &str = "Invalid value: \"{\\\"apiVersion";
    let before = [BEFORE, CAUSE]
        .into_iter()
        .find(|before| content.contains(before));
    let parts = before.and_then(|before| {
        Some((
            before,
            content.split_once(before)?.0,
            content.rsplit_once("}\": ")?.1,
        ))
    });
    parts.map_or_else(
        || content.to_owned(),
        |(before, first, why)| format!("{first}{before}<document>}}\": {why}"),
    )
}

/// Replaces the generated suffix of a token volume name by a placeholder.
fn without_token_volume(content: &str) -> String {
    const NAME: &str = "kube-api-access-";
    match content.split_once(NAME) {
        Some((before, after)) if after.is_char_boundary(5.min(after.len())) && after.len() >= 5 => {
            format!("{before}{NAME}<5 characters>{}", &after[5..])
        }
        _ => content.to_owned(),
    }
}

fn without_uids(content: &str) -> String {
    const LENGTH: usize = 36;
    let mut out = String::new();
    let mut rest = content;
    while let Some(character) = rest.chars().next() {
        match rest.get(..LENGTH).filter(|part| is_uid(part)) {
            Some(part) => {
                out.push_str("<uid>");
                rest = &rest[part.len()..];
            }
            None => {
                out.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    out
}

fn is_uid(part: &str) -> bool {
    let groups: Vec<&str> = part.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Replaces the number that follows `before` by a placeholder.
fn without_number(content: &str, before: &str) -> String {
    let Some(at) = content.find(before).map(|at| at + before.len()) else {
        return content.to_owned();
    };
    let digits = content[at..].bytes().take_while(u8::is_ascii_digit).count();
    if digits < 2 {
        return content.to_owned();
    }
    format!("{}<revision>{}", &content[..at], &content[at + digits..])
}
