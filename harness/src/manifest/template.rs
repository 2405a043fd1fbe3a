//! Templates with `{placeholders}`: arguments, environment and files of a program.

use std::collections::BTreeMap;

use crate::renamed;

/// Placeholders that the arguments, environment and files of every program may contain, with their descriptions.
pub const NAMES: [(&str, &str); 14] = [
    ("kubeconfig", "path of a kubeconfig of the program's own"),
    ("api_url", "base URL of the API server, over TLS"),
    (
        "ca_file",
        "path of the CA certificate that signed the API server's certificate",
    ),
    ("token_file", "path of a file with the program's bearer token"),
    ("api_host", "host of the API server, over TLS"),
    ("api_port", "port of the API server, over TLS"),
    (
        "service_account",
        "service account folder of a pod: `token`, `ca.crt` and `namespace`",
    ),
    ("csi_socket", "path of the driver's socket"),
    (
        "node",
        "name of the node on which the instance runs; empty for a central program",
    ),
    ("namespace", "the program's namespace"),
    (
        "pod",
        "name of the program's pod; empty if the case has no `ownerLevel`",
    ),
    ("refresh", "poll interval, such as 100ms"),
    ("scratch", "an empty folder, removed after the program has exited"),
    (
        "state",
        "a folder that keeps its content when a case restarts the program",
    ),
];

fn current_spelling(name: &str) -> String {
    match name.strip_prefix("settings.") {
        Some(setting) => format!("settings.{}", renamed::current_setting(setting)),
        None => name.to_owned(),
    }
}

/// A text of a manifest with placeholders such as `{kubeconfig}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Name(String),
}

impl Template {
    /// Parses the placeholders of a text. Braces around anything other than a word are literal.
    ///
    /// `more`: additional placeholders. `with_value`: whether `{value}` is allowed.
    pub(super) fn parse(text: &str, more: &[String], with_value: bool) -> Result<Self, String> {
        let value = with_value.then_some("value");
        let always = NAMES.iter().map(|(name, _)| *name);
        let known: Vec<&str> = always
            .chain(more.iter().map(String::as_str))
            .chain(value)
            .collect();
        Self::parse_with_known_names(text, &known)
    }

    /// Parses the placeholders of a text. Returns an error for placeholders that are not in `known`.
    pub(super) fn parse_with_known_names(text: &str, known: &[&str]) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let after = &rest[open + 1..];
            let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || "_.-".contains(c)));
            match end {
                Some(end) if end > 0 && after[end..].starts_with('}') => {
                    let name = &current_spelling(&after[..end]);
                    check_placeholder(name, known)?;
                    parts.push(Part::Text(rest[..open].to_owned()));
                    parts.push(Part::Name(name.to_owned()));
                    rest = &after[end + 1..];
                }
                _ => {
                    parts.push(Part::Text(rest[..=open].to_owned()));
                    rest = after;
                }
            }
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Template(parts))
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        let is_match = |part: &Part| matches!(part, Part::Name(own) if own == name);
        self.0.iter().any(is_match)
    }

    pub(super) fn fill(&self, values: &BTreeMap<String, String>) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Name(name) => values.get(name).cloned().unwrap_or_default(),
        };
        self.0.iter().map(part).collect()
    }
}

fn check_placeholder(name: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&name) {
        return Ok(());
    }
    // A placeholder with a dot must name an entry of the role's `files` or `ports`.
    let declared = match name.split_once('.') {
        Some((list @ ("files" | "ports"), entry)) => format!("add `{entry}` to the role's `{list}`, or "),
        _ => String::new(),
    };
    Err(format!(
        "unknown placeholder `{{{name}}}`; {declared}write one of {}",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_and_other_braces_are_literal() {
        let template =
            Template::parse(r#"{"a": {}, n={node} {files.c}}"#, &["files.c".to_owned()], false).unwrap();
        let values =
            [("node", "n1"), ("files.c", "/x")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(template.fill(&values.into()), r#"{"a": {}, n=n1 /x}"#);
    }

    #[test]
    fn unknown_placeholder_is_reported() {
        let error = Template::parse("{nodes}", &[], false).unwrap_err();
        assert!(
            error.starts_with("unknown placeholder `{nodes}`; write one of kubeconfig, "),
            "{error}"
        );
        assert!(Template::parse("{value}", &[], false).is_err());
        assert!(Template::parse("{value}", &[], true).is_ok());
        let error = Template::parse("{ports.web}", &["files.one".to_owned()], false).unwrap_err();
        assert!(
            error.starts_with(
                "unknown placeholder `{ports.web}`; add `web` to the role's `ports`, or write one of "
            ),
            "{error}"
        );
    }
}
