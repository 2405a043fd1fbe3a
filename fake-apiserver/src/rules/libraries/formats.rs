//! Formats of texts, by their names.

use super::urls::Url;
use crate::machinery::names;
use crate::structural::fits_format;

/// A format of texts.
#[derive(Debug)]
pub(in crate::rules) struct Format {
    name: &'static str,
    /// Characters that its pattern is taken to have.
    pub(in crate::rules) pattern_size: u64,
    /// What is wrong with a text.
    pub(in crate::rules) complaints: fn(&str) -> Vec<String>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

macro_rules! format {
    ($name:literal, $size:literal, $complaints:expr) => {
        Format {
            name: $name,
            pattern_size: $size,
            complaints: $complaints,
        }
    };
}

static FORMATS: [Format; 13] = [
    format!("dns1123Label", 30, names::label),
    format!("dns1123Subdomain", 60, names::subdomain),
    format!("dns1035Label", 30, names::label_1035),
    format!("qualifiedName", 60, names::qualified),
    format!("dns1123LabelPrefix", 30, |text| names::label(&as_prefix(text))),
    format!("dns1123SubdomainPrefix", 60, |text| names::subdomain(&as_prefix(
        text
    ))),
    format!("dns1035LabelPrefix", 30, |text| names::label_1035(&as_prefix(
        text
    ))),
    format!("labelValue", 40, names::label_value),
    format!("uri", 1103, |text| Url::read(text).err().into_iter().collect()),
    format!("uuid", 70, |text| unless(
        fits_format("uuid", text),
        "does not match the UUID format"
    )),
    format!("byte", 84, |text| unless(
        fits_format("byte", text),
        "invalid base64"
    )),
    format!("date", 71, |text| unless(
        fits_format("date", text),
        "invalid date"
    )),
    format!("datetime", 71, |text| unless(
        fits_format("datetime", text),
        "invalid datetime"
    )),
];

fn unless(is_fit: bool, complaint: &str) -> Vec<String> {
    match is_fit {
        true => Vec::new(),
        false => vec![complaint.to_owned()],
    }
}

/// A prefix may end with a dash, since something follows.
fn as_prefix(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut rest = rest.to_owned();
            rest.pop();
            rest + "a"
        }
        _ => text.to_owned(),
    }
}

/// The format of a name.
pub(in crate::rules) fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
