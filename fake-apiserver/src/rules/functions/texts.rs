//! Functions on texts.

use super::formatted::format;
use super::found::Found;
use crate::machinery::{json, pattern};
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use regex::Regex;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match args {
        [Val::Text(text)] => alone(name, text).map(Ok),
        [Val::Text(text), Val::Text(other)] => pair(name, text, other),
        [Val::Text(text), Val::Int(at)] => at_place(name, text, *at),
        [Val::Text(text), Val::Int(from), Val::Int(to)] if name == "substring" => {
            Some(between(text, *from, *to))
        }
        [Val::Text(text), Val::Text(old), Val::Text(new)] if name == "replace" => {
            Some(Ok(Val::text(text.replace(&**old, new))))
        }
        [Val::Text(text), Val::Text(old), Val::Text(new), Val::Int(most)] if name == "replace" => {
            let most = usize::try_from(*most).unwrap_or(usize::MAX);
            Some(Ok(Val::text(text.replacen(&**old, new, most))))
        }
        [Val::Text(text), Val::Text(by), Val::Int(most)] => limited(name, text, by, *most),
        [Val::Text(text), list] if name == "format" => Some(format(text, &list.items()?)),
        _ => None,
    }
}

/// Functions that begin with `strings.` or `jsonpatch.`.
pub(super) fn of_space<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match (name, args) {
        ("quote", [Val::Text(text)]) => Some(Ok(Val::text(quoted(text)))),
        ("escapeKey", [Val::Text(key)]) => Some(Ok(Val::text(json::pointer_part(key)))),
        _ => None,
    }
}

/// A text as an expression could have it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\\' | '"' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out + "\""
}

fn alone<'a>(name: &str, text: &str) -> Option<Val<'a>> {
    Some(match name {
        "size" => Val::Int(count(text)),
        "lowerAscii" => Val::text(text.to_ascii_lowercase()),
        "upperAscii" => Val::text(text.to_ascii_uppercase()),
        "trim" => Val::text(text.trim()),
        _ => return None,
    })
}

fn pair<'a>(name: &str, text: &str, other: &str) -> Found<'a> {
    Some(Ok(match name {
        "contains" => Val::Bool(text.contains(other)),
        "startsWith" => Val::Bool(text.starts_with(other)),
        "endsWith" => Val::Bool(text.ends_with(other)),
        "matches" => return Some(pattern(other).map(|pattern| Val::Bool(pattern.is_match(text)))),
        "find" => {
            let found = |pattern: Regex| pattern.find(text).map_or("", |found| found.as_str()).to_owned();
            return Some(pattern(other).map(|pattern| Val::text(found(pattern))));
        }
        "findAll" => return Some(pattern(other).map(|pattern| all(&pattern, text, usize::MAX))),
        "indexOf" => Val::Int(place(text, other, 0)),
        "lastIndexOf" => Val::Int(last_place(text, other, count(text))),
        "split" => split(text, other, usize::MAX),
        _ => return None,
    }))
}

/// Where a text is first found from a character on; -1 if it is not.
fn place(text: &str, part: &str, from: i64) -> i64 {
    let skipped = usize::try_from(from).unwrap_or(usize::MAX);
    let begin = text.char_indices().nth(skipped).map(|(at, _)| at);
    match begin {
        _ if part.is_empty() => from,
        None => -1,
        Some(begin) => text[begin..]
            .find(part)
            .map_or(-1, |at| count(&text[..begin + at])),
    }
}

/// Where a text is last found that begins no later than at a character; -1 if it is not.
fn last_place(text: &str, part: &str, until: i64) -> i64 {
    if part.is_empty() {
        return until;
    }
    let found = text
        .char_indices()
        .zip(0..)
        .take_while(|(_, number)| *number <= until);
    let found = found.filter(|((at, _), _)| text[*at..].starts_with(part)).last();
    found.map_or(-1, |(_, number)| number)
}

fn limited<'a>(name: &str, text: &str, by: &str, number: i64) -> Found<'a> {
    let most = usize::try_from(number).unwrap_or(usize::MAX);
    let length = count(text);
    match name {
        "split" => Some(Ok(split(text, by, most))),
        "findAll" => Some(pattern(by).map(|pattern| all(&pattern, text, most))),
        "indexOf" | "lastIndexOf" if number < 0 && !by.is_empty() => Some(outside(number)),
        "indexOf" => Some(Ok(Val::Int(place(text, by, number)))),
        "lastIndexOf" if number >= length && !by.is_empty() => Some(Ok(Val::Int(-1))),
        "lastIndexOf" => Some(Ok(Val::Int(last_place(text, by, number)))),
        _ => None,
    }
}

fn count(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

/// A regular expression.
pub(in crate::rules) fn pattern(text: &str) -> Result<Regex, Failure> {
    pattern::read(text).map_err(Failure::new)
}

fn all<'a>(pattern: &Regex, text: &str, most: usize) -> Val<'a> {
    let found = pattern.find_iter(text).take(most);
    Val::list(found.map(|found| Val::text(found.as_str())).collect())
}

fn split<'a>(text: &str, by: &str, most: usize) -> Val<'a> {
    let parts: Vec<String> = match (by, most) {
        (_, 0) => Vec::new(),
        ("", _) => text.chars().map(String::from).collect(),
        _ => text.splitn(most, by).map(str::to_owned).collect(),
    };
    Val::list(parts.into_iter().map(Val::text).collect())
}

fn outside<'a>(at: i64) -> Result<Val<'a>, Failure> {
    Err(Failure::new(format!("index out of range: {at}")))
}

/// Functions that take a place in the text.
fn at_place<'a>(name: &str, text: &str, at: i64) -> Found<'a> {
    let length = count(text);
    Some(match name {
        "charAt" | "substring" if at < 0 || at > length => outside(at),
        "charAt" => between(text, at, (at + 1).min(length)),
        "substring" => between(text, at, length),
        _ => return None,
    })
}

fn between<'a>(text: &str, from: i64, to: i64) -> Result<Val<'a>, Failure> {
    let length = count(text);
    match () {
        () if from > to => Err(Failure::new(format!(
            "invalid substring range. start: {from}, end: {to}"
        ))),
        () if from < 0 || from > length => outside(from),
        () if to > length => outside(to),
        () => {
            let (skip, take) = (from as usize, (to - from) as usize);
            let part: String = text.chars().skip(skip).take(take).collect();
            Ok(Val::text(part))
        }
    }
}
