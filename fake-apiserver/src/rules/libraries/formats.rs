//! Formats of texts, by their names.

use crate::machinery::names;
use crate::machinery::url::Url;
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

impl Format {
    const fn new(name: &'static str, pattern_size: u64, complaints: fn(&str) -> Vec<String>) -> Self {
        Self {
            name,
            pattern_size,
            complaints,
        }
    }
}

static FORMATS: [Format; 13] = [
    Format::new("dns1123Label", 30, names::label),
    Format::new("dns1123Subdomain", 60, names::subdomain),
    Format::new("dns1035Label", 30, names::label_1035),
    Format::new("qualifiedName", 60, names::qualified),
    Format::new("dns1123LabelPrefix", 30, |text| names::label(&as_prefix(text))),
    Format::new("dns1123SubdomainPrefix", 60, |text| {
        names::subdomain(&as_prefix(text))
    }),
    Format::new("dns1035LabelPrefix", 30, |text| {
        names::label_1035(&as_prefix(text))
    }),
    Format::new("labelValue", 40, names::label_value),
    Format::new("uri", 1103, |text| Url::read(text).err().into_iter().collect()),
    Format::new("uuid", 70, |text| {
        fits(text, "uuid", "does not match the UUID format")
    }),
    Format::new("byte", 84, |text| fits(text, "byte", "invalid base64")),
    Format::new("date", 71, |text| fits(text, "date", "invalid date")),
    Format::new("datetime", 71, |text| fits(text, "datetime", "invalid datetime")),
];

/// The complaint about a text that does not have a format of schemas.
fn fits(text: &str, format: &str, complaint: &str) -> Vec<String> {
    match fits_format(format, text) {
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
