//! The `format` keyword of schemas.
//!
//! Owns the supported formats and their validation. Other formats are preserved in the schema and not enforced.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use fake_apiserver::extension::ip;
use jiff::SignedDuration;
use jiff::civil::Date;
use regex::Regex;
use std::net::Ipv6Addr;
use std::sync::LazyLock;

type Fits = fn(&str) -> bool;

/// String formats with their validation. The format names are without dashes.
const TEXTS: [(&str, Fits); 26] = [
    ("uri", is_uri),
    ("email", is_email),
    ("hostname", is_host),
    ("ipv4", |text| text.contains('.') && ip::parse(text).is_some()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("cidr", ip::is_cidr),
    ("mac", |text| matches(&MAC, text)),
    ("uuid", |text| matches(&UUID, text)),
    ("uuid3", |text| is_uuid(text, "3", "")),
    ("uuid4", |text| is_uuid(text, "4", "89ab")),
    ("uuid5", |text| is_uuid(text, "5", "89ab")),
    ("byte", |text| !text.is_empty() && BASE64.decode(text).is_ok()),
    ("password", |_| true),
    // Known formats, which cause no warning, but whose values are not validated.
    ("bsonobjectid", |_| true),
    ("isbn", |_| true),
    ("isbn10", |_| true),
    ("isbn13", |_| true),
    ("creditcard", |_| true),
    ("ssn", |_| true),
    ("hexcolor", |_| true),
    ("rgbcolor", |_| true),
    ("date", is_date),
    ("duration", is_duration),
    ("datetime", is_date_time),
    ("k8sshortname", |text| {
        text.len() <= 63 && matches(&SHORT_NAME, text)
    }),
    ("k8slongname", |text| {
        text.len() <= 253 && text.split('.').all(|part| matches(&SHORT_NAME, part))
    }),
];

/// Number formats, each with its type.
const NUMBERS: [(&str, &str); 4] = [
    ("integer", "int32"),
    ("integer", "int64"),
    ("number", "float"),
    ("number", "double"),
];

/// Format names that contain dashes.
const SPELLED: [&str; 3] = ["date-time", "k8s-short-name", "k8s-long-name"];

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("the pattern is valid"));
    };
}
pattern!(
    MAC,
    "^([0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5,7}|[0-9a-fA-F]{4}(\\.[0-9a-fA-F]{4}){2,3})$"
);
pattern!(
    UUID,
    "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
);
pattern!(SHORT_NAME, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
pattern!(
    TIME_OF_DAY,
    "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
);
pattern!(
    HOST_LABEL,
    "^[a-zA-Z0-9\\p{S}\\p{L}]([a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?$"
);
pattern!(AMOUNT, "^((\\d+)\\s*(ns|us|µs|ms|s|m|h|d|w|[a-z]+)\\s*)+$");

fn matches(pattern: &LazyLock<Regex>, text: &str) -> bool {
    pattern.is_match(text)
}

/// The canonical name of a format; empty if the format is not supported for the type `of`.
pub(super) fn canonical_format(of: &str, format: &str) -> &'static str {
    let number = NUMBERS.iter().find(|known| **known == (of, format));
    if let Some((_, format)) = number {
        return format;
    }
    if !["", "string"].contains(&of) {
        return "";
    }
    let plain = format.replace('-', "");
    let spelled = SPELLED.iter().find(|known| **known == format);
    let known = TEXTS.iter().find(|(known, _)| *known == plain);
    known.map_or("", |(known, _)| spelled.unwrap_or(known))
}

/// Whether a format is supported for the type `of`.
pub(crate) fn is_known(of: &str, format: &str) -> bool {
    !canonical_format(of, format).is_empty()
}

/// Whether a string matches a format; unsupported formats match any string.
pub(crate) fn fits(format: &str, text: &str) -> bool {
    let plain = format.replace('-', "");
    let known = TEXTS.iter().find(|(known, _)| *known == plain);
    known.is_none_or(|(_, fits)| fits(text))
}

/// Whether the text is a URI with scheme, or an absolute path.
fn is_uri(text: &str) -> bool {
    let is_clean = !text.is_empty() && !text.contains(|c: char| c.is_ascii_control() || c == ' ');
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    is_clean && (text.starts_with('/') || scheme.is_some_and(is_scheme))
}

/// Whether the text is an email address, optionally with a display name.
fn is_email(text: &str) -> bool {
    let address = match (text.rfind('<'), text.strip_suffix('>')) {
        (Some(at), Some(whole)) => &whole[at + 1..],
        _ => text.trim(),
    };
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with('.')
            && !word.ends_with('.')
            && !word.contains("..")
            && !word.contains(|c: char| c.is_whitespace() || "()<>[]:;@\\,\"".contains(c))
    };
    address
        .rsplit_once('@')
        .is_some_and(|(local, domain)| is_word(local) && is_word(domain))
}

fn is_host(text: &str) -> bool {
    text.len() <= 255 && !text.is_empty() && text.split('.').all(|label| matches(&HOST_LABEL, label))
}

fn is_uuid(text: &str, version: &str, variants: &str) -> bool {
    let plain = text.replace('-', "").to_ascii_lowercase();
    let at = |index: usize| plain.get(index..=index).unwrap_or_default();
    let is_variant = variants.is_empty() || (!at(16).is_empty() && variants.contains(at(16)));
    matches(&UUID, text) && at(12) == version && is_variant
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let Some((date, time)) = text.split_once('t') else {
        return false;
    };
    let Some(found) = TIME_OF_DAY.captures(time) else {
        return false;
    };
    let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
    is_date(date) && part(1) <= "23" && part(2) <= "59" && part(3) <= "59"
}

fn is_duration(text: &str) -> bool {
    text.parse::<SignedDuration>().is_ok() || text == "0" || matches(&AMOUNT, &text.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn ipv6_is_parsed_strictly_but_ipv4_and_cidr_are_not() {
        for (format, text, expected) in [
            ("ipv4", "10.9.8.7", true),
            ("ipv4", "010.9.8.7", true),
            ("ipv4", "::ffff:10.9.8.7", true),
            ("ipv4", "2001:db8::1", false),
            ("ipv6", "2001:db8::1", true),
            ("ipv6", "2001:00db8::1", false),
            ("ipv6", "10.9.8.7", false),
            ("cidr", "2001:00db8::/032", true),
            ("cidr", "10.9.8.7/32", true),
            ("cidr", "10.9.8.7/33", false),
            ("cidr", "10.9.8.7", false),
        ] {
            assert_eq!(fits(format, text), expected, "{text} as {format}");
        }
    }
}
