//! Semantic versions.

use super::found::Found;
use super::quantities::compared;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use semver::Version;
use std::rc::Rc;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let (text, is_loose) = match args {
        [Val::Text(text)] => (text, false),
        [Val::Text(text), Val::Bool(is_loose)] => (text, *is_loose),
        _ => return None,
    };
    let read = || match is_loose {
        true => full(text).and_then(|text| read(&text)),
        false => read(text),
    };
    match name {
        "isSemver" => Some(Ok(Val::Bool(read().is_ok()))),
        "semver" => Some(
            read()
                .map(|version| Val::Version(Rc::new(version)))
                .map_err(Failure::new),
        ),
        _ => None,
    }
}

pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let number = |number| Val::Int(i64::try_from(number).unwrap_or(i64::MAX));
    Some(Ok(match args {
        [Val::Version(one), Val::Version(other)] => compared(name, one.cmp_precedence(other))?,
        [Val::Version(version)] => match name {
            "major" => number(version.major),
            "minor" => number(version.minor),
            "patch" => number(version.patch),
            _ => return None,
        },
        _ => return None,
    }))
}

fn read(text: &str) -> Result<Version, String> {
    Version::parse(text).map_err(|why| fault(text).unwrap_or_else(|| why.to_string()))
}

/// What Go's library says of a text that is no version.
fn fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let &[major, minor, rest] = parts.as_slice() else {
        return Some("No Major.Minor.Patch elements found".to_owned());
    };
    let (rest, build) = rest
        .split_once('+')
        .map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, before) = rest
        .split_once('-')
        .map_or((rest, None), |(rest, before)| (rest, Some(before)));
    let numbers = [("Major", major), ("Minor", minor), ("Patch", patch)];
    let fault = numbers.into_iter().find_map(|(name, number)| match number {
        number if !number.bytes().all(|byte| byte.is_ascii_digit()) => {
            let name = name.to_lowercase();
            Some(format!("Invalid character(s) found in {name} number {number:?}"))
        }
        number if is_zero_led(number) => Some(format!(
            "{name} number must not contain leading zeroes {number:?}"
        )),
        _ => None,
    });
    let named = || {
        before?
            .split('.')
            .find_map(|part| fault_of_part(part, "Prerelease", "prerelease"))
    };
    let built = || {
        build?
            .split('.')
            .find_map(|part| fault_of_part(part, "Build meta data", "build meta data"))
    };
    fault.or_else(named).or_else(built)
}

fn fault_of_part(part: &str, name: &str, inner: &str) -> Option<String> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match part {
        "" => Some(format!("{name} is empty")),
        part if !part.bytes().all(is_fit) => Some(format!("Invalid character(s) found in {inner} {part:?}")),
        part if name == "Prerelease"
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && is_zero_led(part) =>
        {
            Some(format!(
                "Numeric PreRelease version must not contain leading zeroes {part:?}"
            ))
        }
        _ => None,
    }
}

fn is_zero_led(number: &str) -> bool {
    number.len() > 1 && number.starts_with('0')
}

/// A version with all its numbers, from one that begins with `v`, has zeros before its numbers, or lacks some.
fn full(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

fn without_zeros(part: &str) -> String {
    let rest = part.trim_start_matches('0');
    match rest.starts_with(|c: char| c.is_ascii_digit()) {
        true => rest.to_owned(),
        false if part.len() > 1 => format!("0{rest}"),
        false => part.to_owned(),
    }
}
