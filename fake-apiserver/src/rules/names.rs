//! Names of fields as rules write them: what is no identifier, or means something else in CEL, is escaped.

use std::borrow::Cow;

/// Words of CEL that no field can be called by.
pub(crate) const RESERVED: [&str; 20] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
];
const ESCAPES: [(&str, &str); 4] = [
    ("__underscores__", "__"),
    ("__dot__", "."),
    ("__dash__", "-"),
    ("__slash__", "/"),
];

/// The name of the field that a rule means.
pub(super) fn field(name: &str) -> Cow<'_, str> {
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| RESERVED.contains(word)) {
        return Cow::Owned(word.to_owned());
    }
    if !name.contains("__") {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        match ESCAPES.iter().find(|(escape, _)| rest.starts_with(escape)) {
            Some((escape, meant)) => {
                out.push_str(meant);
                rest = &rest[escape.len()..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn what_is_escaped_is_meant() {
        for (name, meant) in [
            ("a", "a"),
            ("__if__", "if"),
            ("a__dash__b__dot__c", "a-b.c"),
            ("a__underscores__b", "a__b"),
            ("_a_", "_a_"),
        ] {
            assert_eq!(field(name), meant);
        }
    }
}
