//! Functions on texts.

use super::convert::shown;
use super::found::Found;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use regex::Regex;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match args {
        [Val::Text(text)] => alone(name, text).map(Ok),
        [Val::Text(text), Val::Text(other)] => pair(name, text, other),
        [Val::Text(text), Val::Int(at)] => at_place(name, text, &[*at]),
        [Val::Text(text), Val::Int(from), Val::Int(to)] => at_place(name, text, &[*from, *to]),
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

fn alone<'a>(name: &str, text: &str) -> Option<Val<'a>> {
    Some(match name {
        "size" => Val::Int(count(text)),
        "lowerAscii" => Val::text(text.to_ascii_lowercase()),
        "upperAscii" => Val::text(text.to_ascii_uppercase()),
        "trim" => Val::text(text.trim()),
        "reverse" => Val::text(text.chars().rev().collect::<String>()),
        _ => return None,
    })
}

fn pair<'a>(name: &str, text: &str, other: &str) -> Found<'a> {
    let at = |byte: Option<usize>| Val::Int(byte.map_or(-1, |byte| count(&text[..byte])));
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
        "indexOf" => at(text.find(other)),
        "lastIndexOf" => at(text.rfind(other)),
        "split" => split(text, other, usize::MAX),
        _ => return None,
    }))
}

fn limited<'a>(name: &str, text: &str, by: &str, most: i64) -> Found<'a> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    match name {
        "split" => Some(Ok(split(text, by, most))),
        "findAll" => Some(pattern(by).map(|pattern| all(&pattern, text, most))),
        _ => None,
    }
}

fn count(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn pattern(text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|why| Failure::new(format!("error parsing regexp: {why}")))
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

/// Functions that take places in the text.
fn at_place<'a>(name: &str, text: &str, places: &[i64]) -> Found<'a> {
    let length = count(text);
    let outside = |at: i64| Err(Failure::new(format!("index out of range: {at}")));
    let (from, to) = match (name, places) {
        ("charAt", [at]) => (*at, (*at + 1).min(length)),
        ("substring", [from]) => (*from, length),
        ("substring", [from, to]) => (*from, *to),
        _ => return None,
    };
    if from < 0 || from > length {
        return Some(outside(from));
    }
    if to < from || to > length {
        return Some(outside(to));
    }
    let (skip, take) = (from as usize, (to - from) as usize);
    let part: String = text.chars().skip(skip).take(take).collect();
    Some(Ok(Val::text(part)))
}

/// A text with values in the places of `%s`, `%d` and their like.
fn format<'a>(text: &str, values: &[Val<'a>]) -> Result<Val<'a>, Failure> {
    let mut values = values.iter();
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let digits: String =
            std::iter::from_fn(|| rest.next_if(|c| c.is_ascii_digit() || *c == '.')).collect();
        let clause = rest
            .next()
            .ok_or_else(|| Failure::new("unexpected end of string"))?;
        if clause == '%' {
            out.push('%');
            continue;
        }
        let missing = || Failure::new("index out of range");
        let value = values.next().ok_or_else(missing)?;
        let digits = digits.trim_start_matches('.').parse().unwrap_or(6);
        out.push_str(&placed(clause, digits, value)?);
    }
    Ok(Val::text(out))
}

fn placed(clause: char, digits: usize, value: &Val<'_>) -> Result<String, Failure> {
    let text = match (clause, value) {
        ('s', value) => listed(value),
        ('d', Val::Int(_) | Val::Uint(_)) => shown(value),
        ('f', Val::Double(value)) => Some(format!("{value:.digits$}")),
        ('e', Val::Double(value)) => Some(format!("{value:.digits$e}")),
        ('b', Val::Int(value)) => Some(format!("{value:b}")),
        ('o', Val::Int(value)) => Some(format!("{value:o}")),
        ('x', Val::Int(value)) => Some(format!("{value:x}")),
        ('X', Val::Int(value)) => Some(format!("{value:X}")),
        _ => None,
    };
    let unfit = || Failure::new(format!("could not format a {} by %{clause}", value.type_name()));
    text.ok_or_else(unfit)
}

fn listed(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Null => Some("null".to_owned()),
        Val::List(_) | Val::Items(..) => {
            let items = value.items()?;
            let items: Option<Vec<String>> = items.iter().map(listed).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        other => shown(other),
    }
}
