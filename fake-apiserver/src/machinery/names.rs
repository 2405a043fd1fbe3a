//! Validation of names, labels and qualified names, with the messages of apimachinery.
//!
//! Each function returns the error messages in order; an empty list means that the value is valid. Does not know the
//! field of the value.

/// Error messages of the validation of one value.
pub type Messages = Vec<String>;

/// A function that validates a name. Returns error messages; none if the name is valid.
pub type NameRule = fn(&str) -> Messages;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
    validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  \
    or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// Validates a lower-case DNS subdomain (RFC 1123), the rule for most object names.
pub fn subdomain(value: &str) -> Messages {
    let mut out = too_long(value, 253, "characters");
    out.extend(not_subdomain(value));
    out
}

fn not_subdomain(value: &str) -> Option<String> {
    (!value.split('.').all(is_dns_label)).then(|| SUBDOMAIN.to_owned())
}

/// Validates a lower-case DNS label (RFC 1123), the rule for namespaces.
pub fn dns_label(value: &str) -> Messages {
    let mut out = too_long(value, 63, "characters");
    if !is_dns_label(value) {
        let is_subdomain = value.split('.').all(is_dns_label);
        let text = if is_subdomain {
            "must not contain dots"
        } else {
            LABEL
        };
        out.push(text.to_owned());
    }
    out
}

/// Validates a lower-case DNS label that begins with a letter (RFC 1035), the rule for names of resources and versions.
pub fn dns_label_1035(value: &str) -> Messages {
    let mut out = too_long(value, 63, "characters");
    let begins = value.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || !is_dns_label(value) {
        out.push(LABEL_1035.to_owned());
    }
    out
}

/// Validates a URL path segment, the rule for the names of some kinds, such as Role and Event, and of embedded objects.
pub fn path_segment(value: &str) -> Messages {
    if value == "." || value == ".." {
        return vec![format!("may not be '{value}'")];
    }
    let illegal = ["/", "%"].into_iter().filter(|part| value.contains(part));
    illegal.map(|part| format!("may not contain '{part}'")).collect()
}

/// Validates a qualified name, such as a label key, finalizer or topology key: a name with an optional DNS subdomain prefix.
pub fn qualified_name(value: &str) -> Messages {
    let mut out = Messages::new();
    let parts: Vec<&str> = value.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            out.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            let messages = too_long(prefix, 253, "bytes")
                .into_iter()
                .chain(not_subdomain(prefix));
            out.extend(messages.map(|text| format!("prefix part {text}")));
            *name
        }
        _ => {
            let tail = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {QUALIFIED} {tail}")];
        }
    };
    if name.is_empty() {
        out.push("name part must be non-empty".to_owned());
    }
    out.extend(
        too_long(name, 63, "bytes")
            .into_iter()
            .map(|text| format!("name part {text}")),
    );
    if !is_name(name) {
        out.push(format!("name part {QUALIFIED}"));
    }
    out
}

/// Validates a label value: at most 63 bytes.
pub fn label_value(value: &str) -> Messages {
    let mut out = too_long(value, 63, "bytes");
    if !value.is_empty() && !is_name(value) {
        out.push(LABEL_VALUE.to_owned());
    }
    out
}

/// Validates a port name (IANA service name).
pub fn port_name(value: &str) -> Messages {
    let mut out = too_long(value, 15, "characters");
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if value.is_empty() || !value.bytes().all(is_known) {
        out.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        out.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        out.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        out.push("must not begin or end with a hyphen".to_owned());
    }
    out
}

/// Port protocols, in the order in which most error messages list them.
pub const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Validates a port number: 1 to 65535.
pub fn port_number(number: i64) -> Messages {
    let outside = !(1..=65_535).contains(&number);
    let text = outside.then(|| "must be between 1 and 65535, inclusive".to_owned());
    text.into_iter().collect()
}

/// Validates a key of a ConfigMap or Secret, which must be a valid file name.
pub fn config_key(value: &str) -> Messages {
    let mut out = too_long(value, 253, "characters");
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if value.is_empty() || !value.chars().all(is_legal) {
        out.push(CONFIG_KEY.to_owned());
    }
    match value {
        "." => out.push("must not be '.'".to_owned()),
        ".." => out.push("must not be '..'".to_owned()),
        value if value.starts_with("..") => out.push("must not start with '..'".to_owned()),
        _ => {}
    }
    out
}

fn too_long(value: &str, most: usize, unit: &str) -> Messages {
    if value.len() > most {
        vec![format!("must be no more than {most} {unit}")]
    } else {
        Messages::new()
    }
}

fn is_dns_label(value: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    edge(value.chars().next())
        && edge(value.chars().last())
        && value
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn is_name(value: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(value.chars().next())
        && edge(value.chars().last())
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
