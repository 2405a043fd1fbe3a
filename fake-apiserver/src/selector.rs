//! Label and field selectors: parsing as the real server does it, and matching.
//!
//! Owns the grammar. Which fields can be selected is a matter of the kind table.

use crate::kinds::Kind;
use crate::meta;
use crate::names;
use crate::status::Status;
use serde_json::Value;

/// A label selector; all requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

/// A field selector; all terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    pointers: &'static [&'static str],
    equal: bool,
    value: String,
}

impl LabelSelector {
    /// Parses the text of a `labelSelector` parameter.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let mut tokens = Tokens::new(text);
        let mut requirements = Vec::new();
        if tokens.peek().is_empty() {
            return Ok(Self::default());
        }
        loop {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next() {
                "" => return Ok(Self(requirements)),
                "," if !tokens.peek().is_empty() => {}
                "," => return Err(unparsable("found '', expected: identifier after ','")),
                other => {
                    return Err(unparsable(&format!(
                        "found '{other}', expected: ',' or 'end of string'"
                    )));
                }
            }
        }
    }

    /// Reads a `LabelSelector` object of meta/v1; `None` where an operator is unknown.
    pub(crate) fn from_object(selector: &Value) -> Option<Self> {
        let mut requirements: Vec<Requirement> = meta::pairs(&selector["matchLabels"])
            .map(|(key, value)| Requirement {
                key: key.to_owned(),
                test: Test::In(vec![value.to_owned()]),
            })
            .collect();
        for term in selector["matchExpressions"].as_array().into_iter().flatten() {
            let values = || {
                meta::texts(&term["values"])
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            };
            let test = match term["operator"].as_str()? {
                "In" => Test::In(values()),
                "NotIn" => Test::NotIn(values()),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                _ => return None,
            };
            let key = term["key"].as_str()?.to_owned();
            requirements.push(Requirement { key, test });
        }
        Some(Self(requirements))
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let labels = &object["metadata"]["labels"];
        self.0
            .iter()
            .all(|r| r.test.holds(labels.get(&r.key).and_then(Value::as_str)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::In(values) => value.is_some_and(|v| values.iter().any(|x| x == v)),
            Self::NotIn(values) => value.is_none_or(|v| values.iter().all(|x| x != v)),
            Self::Greater(bound) => number().is_some_and(|n| n > *bound),
            Self::Less(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

fn unparsable(why: &str) -> Status {
    Status::bad_request(format!("unable to parse requirement: {why}"))
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, Status> {
    let absent = tokens.peek() == "!";
    if absent {
        tokens.next();
    }
    let key = tokens.next();
    if !is_word(key) {
        return Err(unparsable(&format!("found '{key}', expected: identifier")));
    }
    if let Some(complaint) = names::qualified(key).first() {
        return Err(unparsable(&format!("key: Invalid value: {key:?}: {complaint}")));
    }
    let key = key.to_owned();
    if absent {
        return Ok(Requirement {
            key,
            test: Test::Absent,
        });
    }
    let test = match tokens.peek() {
        "" | "," => Test::Exists,
        operator => {
            let operator = operator.to_owned();
            tokens.next();
            operation(&operator, tokens)?
        }
    };
    Ok(Requirement { key, test })
}

fn operation(operator: &str, tokens: &mut Tokens<'_>) -> Result<Test, Status> {
    match operator {
        "=" | "==" => Ok(Test::In(vec![label_value(tokens.value())?])),
        "!=" => Ok(Test::NotIn(vec![label_value(tokens.value())?])),
        "in" => Ok(Test::In(set(tokens)?)),
        "notin" => Ok(Test::NotIn(set(tokens)?)),
        "gt" | ">" => Ok(Test::Greater(integer(tokens.value())?)),
        "lt" | "<" => Ok(Test::Less(integer(tokens.value())?)),
        other => Err(unparsable(&format!(
            "found '{other}', expected: in, notin, =, ==, !=, gt, lt"
        ))),
    }
}

fn set(tokens: &mut Tokens<'_>) -> Result<Vec<String>, Status> {
    let open = tokens.next();
    if open != "(" {
        return Err(unparsable(&format!("found '{open}' expected: '('")));
    }
    let mut values = Vec::new();
    loop {
        // An empty place between commas is the empty value.
        values.push(label_value(tokens.value())?);
        match tokens.next() {
            "," => {}
            ")" => return Ok(values),
            other => return Err(unparsable(&format!("found '{other}', expected: ',' or ')'"))),
        }
    }
}

fn label_value(text: &str) -> Result<String, Status> {
    match names::label_value(text).first() {
        None => Ok(text.to_owned()),
        Some(complaint) => Err(unparsable(&format!(
            "values[0]: Invalid value: {text:?}: {complaint}"
        ))),
    }
}

fn integer(text: &str) -> Result<i64, Status> {
    text.parse().map_err(|_| {
        let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
        unparsable(&format!("values[0]: Invalid value: {text:?}: {rule}"))
    })
}

/// Words and operators of a label selector.
struct Tokens<'a> {
    rest: &'a str,
}

const OPERATORS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.trim() }
    }

    /// The next token without taking it; empty at the end.
    fn peek(&self) -> &'a str {
        if let Some(operator) = OPERATORS.iter().find(|o| self.rest.starts_with(**o)) {
            return &self.rest[..operator.len()];
        }
        let end = self
            .rest
            .find(|c: char| c.is_whitespace() || "=!(),<>".contains(c))
            .unwrap_or(self.rest.len());
        &self.rest[..end]
    }

    fn next(&mut self) -> &'a str {
        let token = self.peek();
        self.rest = self.rest[token.len()..].trim_start();
        token
    }

    /// A value: a word, or nothing where an operator or the end follows.
    fn value(&mut self) -> &'a str {
        if is_word(self.peek()) { self.next() } else { "" }
    }
}

fn is_word(token: &str) -> bool {
    !token.is_empty() && !OPERATORS.contains(&token)
}

impl FieldSelector {
    /// Parses the text of a `fieldSelector` parameter for one kind.
    pub(crate) fn parse(text: &str, kind: &Kind) -> Result<Self, Status> {
        let mut terms = Vec::new();
        for part in split_terms(text).into_iter().filter(|part| !part.is_empty()) {
            let (label, equal, value) = split_term(&part).ok_or_else(|| {
                Status::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'"))
            })?;
            let pointers =
                pointers(kind, label).ok_or_else(|| Status::bad_request((kind.unknown_label)(label)))?;
            terms.push(Term {
                pointers,
                equal,
                value: unescape(value)?,
            });
        }
        Ok(Self(terms))
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0
            .iter()
            .all(|term| (read(object, term.pointers) == term.value) == term.equal)
    }

    /// The value that a field must have, where there is only one that it may have.
    pub(crate) fn only(&self, pointer: &str) -> Option<&str> {
        let mut terms = self.0.iter();
        let exact = terms.find(|term| term.equal && *term.pointers == [pointer])?;
        Some(&exact.value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn pointers(kind: &Kind, label: &str) -> Option<&'static [&'static str]> {
    match label {
        "metadata.name" => Some(&["/metadata/name"]),
        "metadata.namespace" => Some(&["/metadata/namespace"]),
        label => kind
            .selectable
            .iter()
            .find(|s| s.label == label)
            .map(|s| s.pointers),
    }
}

/// The text of a field; booleans that are absent are `false` only where the real server says so, which none of
/// ours do: an absent field reads as the empty text, except the two booleans below.
fn read(object: &Value, pointers: &[&str]) -> String {
    for pointer in pointers {
        match object.pointer(pointer) {
            Some(Value::String(text)) if text.is_empty() => {}
            Some(Value::String(text)) => return text.clone(),
            Some(Value::Null) | None => {}
            Some(other) => return other.to_string(),
        }
    }
    let boolean = pointers
        .iter()
        .any(|p| ["/spec/unschedulable", "/spec/hostNetwork"].contains(p));
    if boolean {
        "false".to_owned()
    } else {
        String::new()
    }
}

/// Splits at commas that are not escaped.
fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && !escaped {
            terms.push(String::new());
        } else if let Some(last) = terms.last_mut() {
            last.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find(['=', '!'])?;
    let (label, rest) = term.split_at(at);
    let operators = [("!=", false), ("==", true), ("=", true)];
    operators
        .iter()
        .find_map(|(operator, equal)| Some((label, *equal, rest.strip_prefix(operator)?)))
}

fn unescape(value: &str) -> Result<String, Status> {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => {
                    let found = other.map(String::from).unwrap_or_default();
                    return Err(Status::bad_request(format!(
                        "invalid field selector: invalid escape sequence: \\{found}"
                    )));
                }
            },
            '=' => {
                let text = format!("invalid field selector: unescaped character in value: {value:?}");
                return Err(Status::bad_request(text));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    //! Laws of selectors; what single texts mean is tested on the wire.

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
        prop::collection::btree_map("[a-c]", "[x-z]{0,1}", 0..4)
    }

    fn matches(selector: &str, labels: &BTreeMap<String, String>) -> bool {
        LabelSelector::parse(selector)
            .unwrap()
            .matches(&json!({"metadata": {"labels": labels}}))
    }

    proptest! {
        #[test]
        fn a_requirement_and_its_opposite_split_all_objects(labels in labels(), key in "[a-c]", value in "[x-z]{0,1}") {
            for (yes, no) in [
                (format!("{key}={value}"), format!("{key}!={value}")),
                (format!("{key} in ({value},y)"), format!("{key} notin ({value},y)")),
                (key.clone(), format!("!{key}")),
            ] {
                prop_assert_ne!(matches(&yes, &labels), matches(&no, &labels), "{} {}", yes, no);
            }
        }

        #[test]
        fn equality_means_the_label_has_the_value(labels in labels(), key in "[a-c]", value in "[x-z]{0,1}") {
            prop_assert_eq!(matches(&format!("{key}=={value}"), &labels), labels.get(&key) == Some(&value));
        }

        #[test]
        fn requirements_add_up(labels in labels(), one in "!?[a-c](=[x-z])?", two in "[a-c]( in \\([x-z],[x-z]\\))?") {
            prop_assume!(!(one.starts_with('!') && one.contains('=')));
            let both = matches(&format!("{one},{two}"), &labels);
            prop_assert_eq!(both, matches(&one, &labels) && matches(&two, &labels));
        }

        #[test]
        fn escaped_values_of_fields_come_through(name in "[a-z,=\\\\]{1,8}") {
            let escaped = name.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            let kind = crate::kinds::NAMESPACE;
            let selector = FieldSelector::parse(&format!("metadata.name={escaped}"), kind).unwrap();
            let object = json!({"metadata": {"name": name}});
            prop_assert!(selector.matches(&object));
        }

        #[test]
        fn nothing_makes_the_parsers_panic(text in "\\PC{0,30}") {
            let _ = (LabelSelector::parse(&text).is_ok(), FieldSelector::parse(&text, crate::kinds::NAMESPACE).is_ok());
        }
    }
}
